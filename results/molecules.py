"""Compare CLIPRegressor with chemprop on ESOL: error and time, both with their defaults.

    python results/molecules.py ESOL.csv --chemprop VENV/bin/chemprop --output molecules.json

chemprop is a program in an environment of its own (pip install 'chemprop>=2'), not a dependency.
Both train on the same 80 % of the molecules and are tested on the same 10 %, in random and in
scaffold splits. chemprop chooses its epoch on the remaining 10 %, which CLIPRegressor does not use.
Each run is a process of its own, in turn. Finished runs of the output file are not repeated.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.writing import check_writable, write_file

SHARES = (0.8, 0.1)
"""Shares of training and validation molecules; the others are test molecules."""

LARGE = 0.05
"""Share of the molecules above which those of one scaffold are training molecules if they fit."""

PACKAGES = ("clipgnn", "clipgnn-source", "python", "torch", "rdkit", "numpy")

Parts = dict[str, list[int]]


def read_molecules(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    """SMILES, and the target: the columns `smiles` and `log_solubility` of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row["smiles"] for row in rows], np.array([float(row["log_solubility"]) for row in rows])


def random_split(smiles: Sequence[str], seed: int) -> Parts:
    """Split molecules at random."""
    order = np.random.default_rng(seed).permutation(len(smiles)).tolist()
    first = int(SHARES[0] * len(smiles))
    second = first + int(SHARES[1] * len(smiles))
    return {"train": order[:first], "val": order[first:second], "test": order[second:]}


def scaffold_split(smiles: Sequence[str], seed: int) -> Parts:
    """Split molecules so that those of one Murcko scaffold are in one part.

    Scaffolds are added in random order, large ones first, to the first part that has room.
    """
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    members = defaultdict(list)
    for number, own in enumerate(smiles):
        members[MurckoScaffoldSmiles(own)].append(number)  # type: ignore[no-untyped-call]
    order = np.random.default_rng(seed).permutation(len(members)).tolist()
    groups = [list(members.values())[place] for place in order]
    groups.sort(key=lambda group: len(group) <= LARGE * len(smiles))
    parts: Parts = {"train": [], "val": [], "test": []}
    room = {"train": SHARES[0] * len(smiles), "val": SHARES[1] * len(smiles), "test": len(smiles)}
    for group in groups:
        name = next(part for part in parts if len(parts[part]) + len(group) <= room[part])
        parts[name] += group
    return parts


SPLITS = {"random": random_split, "scaffold": scaffold_split}


def run_clip(path: Path, parts: Parts, seed: int) -> dict[str, Any]:
    """Train CLIPRegressor with its defaults in this process."""
    begun = time.perf_counter()
    from clipgnn import CLIPRegressor

    imported = time.perf_counter()
    smiles, targets = read_molecules(path)
    train, test = parts["train"], parts["test"]
    model = CLIPRegressor(random_state=seed)
    model.fit([smiles[own] for own in train], targets[train])
    predicted = model.predict([smiles[own] for own in test])
    seconds = time.perf_counter() - imported
    return {
        "rmse": float(np.sqrt(np.mean((predicted - targets[test]) ** 2))),
        "seconds": seconds,
        "import_seconds": imported - begun,
        "num_colorings": model.models_[0].config.num_colorings,  # type: ignore[attr-defined]
        "train_loss": model.history_[0].train_loss,
    }


def run_chemprop(program: Path, path: Path, parts: Parts, seed: int) -> dict[str, Any]:
    """Train chemprop with its defaults."""
    smiles, targets = read_molecules(path)
    with tempfile.TemporaryDirectory() as folder:
        splits = Path(folder) / "splits.json"
        splits.write_text(json.dumps([parts]), encoding="utf-8")
        options = ["-i", path, "-s", "smiles", "--target-columns", "log_solubility"]
        options += ["--splits-file", splits, "-o", Path(folder) / "out", "--accelerator", "cpu"]
        command = [program, "train", *options, "--pytorch-seed", seed]
        begun = time.perf_counter()
        done = subprocess.run(
            [str(own) for own in command], capture_output=True, text=True, check=True
        )
        whole = time.perf_counter() - begun
        predictions = Path(folder) / "out" / "model_0" / "test_predictions.csv"
        with predictions.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    assert [row["smiles"] for row in rows] == [smiles[own] for own in parts["test"]]
    errors = np.array([float(row["log_solubility"]) for row in rows]) - targets[parts["test"]]
    seconds = _logged_seconds(done.stderr + done.stdout)
    return {
        "rmse": float(np.sqrt(np.mean(errors**2))),
        "seconds": seconds,
        "import_seconds": whole - seconds,
    }


def _logged_seconds(output: str) -> float:
    """Seconds between the first and the last message of chemprop's log."""
    marks = [line.partition(" - ")[0] for line in output.splitlines() if " - INFO:chemprop" in line]
    first, last = (datetime.fromisoformat(mark) for mark in (marks[0], marks[-1]))
    return (last - first).total_seconds()


def measure(arguments: argparse.Namespace) -> None:
    """Run what the output file does not have yet, and write it after every run."""
    known: dict[str, Any] = {"runs": []}
    if arguments.output.exists():
        known = json.loads(arguments.output.read_text(encoding="utf-8"))
    check_writable(str(arguments.output))
    known["command"] = " ".join(["python results/molecules.py", *map(_plain, sys.argv[1:])])
    known["machine"] = dict(this_machine("cpu"))
    known["versions"] = {
        **{name: version for name, version in installed_versions().items() if name in PACKAGES},
        "chemprop": _version(arguments.chemprop),
    }
    done = {(run["split"], run["seed"], run["system"]) for run in known["runs"]}
    for split in arguments.splits:
        for seed in arguments.seeds:
            for system in ("clip", "chemprop"):
                if (split, seed, system) in done:
                    continue
                run = {
                    "split": split,
                    "seed": seed,
                    "system": system,
                    **one(arguments, split, seed, system),
                }
                known["runs"].append(run)
                write_file(str(arguments.output), (json.dumps(known, indent=1) + "\n").encode())
                print(
                    f"{split} {seed} {system}: {run['rmse']:.3f}, {run['seconds']:.1f} s",
                    flush=True,
                )
    print(summary(known["runs"]))


def one(arguments: argparse.Namespace, split: str, seed: int, system: str) -> dict[str, Any]:
    """One run, that of CLIP in a new process."""
    if system == "chemprop":
        smiles, _ = read_molecules(arguments.data)
        return run_chemprop(arguments.chemprop, arguments.data, SPLITS[split](smiles, seed), seed)
    command = [sys.executable, __file__, str(arguments.data), "--one", split, str(seed)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: dict[str, Any] = json.loads(output)
    return result


def summary(runs: Sequence[Mapping[str, Any]]) -> str:
    """Means and standard deviations over the seeds, and ratios, as a table of Markdown."""
    lines = ["| split | RMSE, CLIP | RMSE, chemprop | ratio | s, CLIP | s, chemprop | ratio |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for split in SPLITS:
        values = {
            (system, key): np.array(
                [run[key] for run in runs if (run["split"], run["system"]) == (split, system)]
            )
            for system in ("clip", "chemprop")
            for key in ("rmse", "seconds")
        }
        if any(own.size == 0 for own in values.values()):
            continue
        ours, theirs = values["clip", "rmse"], values["chemprop", "rmse"]
        fast, slow = values["clip", "seconds"], values["chemprop", "seconds"]
        lines.append(
            f"| {split} | {ours.mean():.3f} ± {ours.std(ddof=1):.3f} | {theirs.mean():.3f} ± "
            f"{theirs.std(ddof=1):.3f} | {ours.mean() / theirs.mean():.2f} | {fast.mean():.1f} | "
            f"{slow.mean():.1f} | {slow.mean() / fast.mean():.1f} |"
        )
    return "\n".join(lines)


def _version(program: Path) -> str:
    output = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True)
    return output.stdout.split()[-1] if output.stdout.split() else output.stderr.split()[-1]


def _plain(argument: str) -> str:
    """An argument without the folders of this machine."""
    return Path(argument).name if os.sep in argument else argument


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "data", type=Path, help="CSV file with the columns smiles and log_solubility"
    )
    parser.add_argument("--chemprop", type=Path, help="the program chemprop of its environment")
    parser.add_argument("--output", type=Path, default=Path("molecules.json"))
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        split, seed = arguments.one[0], int(arguments.one[1])
        smiles, _ = read_molecules(arguments.data)
        print(json.dumps(run_clip(arguments.data, SPLITS[split](smiles, seed), seed)))
    elif arguments.chemprop is None:
        parser.error("name the program chemprop with --chemprop")
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
