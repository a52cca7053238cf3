"""A large run of all fuzz tests: `python -m tests.faults.fuzz --examples 100000 --output FILE`.

One process of pytest for each file of this folder, one at a time for each core. Counts
go to FILE, as Markdown or, if its name ends in `.json`, as JSON with the defects that were found.
The seed is printed, and the same seed gives the same inputs. Status 0 means that no defect was
found, that every test finished with at least the requested number of inputs, and that
every entry point accepted at least one input, whose result was checked.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.faults.fuzz.oracle import SHARES

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
NAMES = (
    *("colorings", "experiments", "stores", "forward", "tu_files", "model_files", "graph_lists"),
    *("splits", "oracle"),
)
"""The files of tests, the longest first, so that the last ones fill the gaps."""


def run_file(name: str, examples: int, seed: int, folder: Path) -> dict[str, Any]:
    """The counts and defects of one file of tests, and whether it came to its end."""
    output = folder / f"{name}.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=0"]
    command += [f"--hypothesis-seed={seed}", str(FOLDER / f"test_{name}.py")]
    environment = {
        **os.environ,
        "CLIPGNN_FUZZ_EXAMPLES": str(examples),
        "CLIPGNN_FUZZ_OUTPUT": str(output),
        "OMP_NUM_THREADS": "1",
    }
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    report: dict[str, Any] = {"inputs": {}, "defects": {}}
    if output.exists():
        report = json.loads(output.read_text())
    if done.returncode and not report["defects"]:
        report["defects"][f"{name}: ended with status {done.returncode}"] = done.stdout[-2000:]
    report["seconds"] = time.monotonic() - began
    print(f"test_{name}: {report['seconds']:.0f} s, {len(report['defects'])} defects", flush=True)
    return report


def merged(reports: Sequence[dict[str, Any]], seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "total": sum(sum(own.values()) for part in reports for own in part["inputs"].values()),
        "inputs": {entry: own for part in reports for entry, own in part["inputs"].items()},
        "defects": {kind: text for part in reports for kind, text in part["defects"].items()},
    }


def shortfalls(report: dict[str, Any], examples: int) -> list[str]:
    """What the run did not test: inputs that are missing, entry points that accepted nothing."""
    entries = sorted(SHARES.keys() | report["inputs"].keys())
    found = [
        f"{entry}: no input was accepted and checked"
        for entry in entries
        if not report["inputs"].get(entry, {}).get("accepted")
    ]
    if report["total"] < examples:
        found.append(f"{report['total']:,} inputs, fewer than the {examples:,} asked for")
    return found


def as_markdown(report: dict[str, Any]) -> str:
    lines = [
        f"{report['total']:,} inputs, seed {report['seed']}, {len(report['defects'])} defects.",
        "",
        "| entry point | inputs | refused | accepted and checked | defects |",
        "| :--- | ---: | ---: | ---: | ---: |",
    ]
    for entry, own in report["inputs"].items():
        numbers = [own.get(outcome, 0) for outcome in ("refused", "accepted", "defect")]
        cells = " | ".join(f"{number:,}" for number in (sum(own.values()), *numbers))
        lines.append(f"| {entry} | {cells} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=100_000, help="inputs in all")
    parser.add_argument("--output", type=Path, help="file for the counts, .md or .json")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        reports = pool.map(
            lambda name: run_file(name, options.examples, options.seed, Path(folder)), NAMES
        )
        report = merged(list(reports), options.seed)
    text = as_markdown(report)
    print(text)
    for kind, example in report["defects"].items():
        print(f"{kind}\n    {example}\n")
    if options.output is not None:
        is_json = options.output.suffix == ".json"
        options.output.write_text(json.dumps(report, indent=2) + "\n" if is_json else text)
    missing = shortfalls(report, options.examples)
    for text in missing:
        print(f"Shortfall: {text}.")
    return 1 if report["defects"] or missing else 0


if __name__ == "__main__":
    sys.exit(main())
