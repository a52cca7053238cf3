"""Measure `clipgnn convert` on a CSV file of molecules, beside RDKit's parsing alone.

    python results/convert.py ESOL.csv --molecules 300000 --output results/convert.json

The molecules are those of the file, with their atoms in random orders, so that all SMILES differ.
The time is that of the whole command, from its start to its end. RDKit parses some of the same
molecules, before and after it, in one process and in as many as there are workers, and the means
are stated: two cores can be two threads of one. Where other programs use the processor too, compare
times of the processor, which are stated for RDKit and for one worker.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.writing import write_file

PACKAGES = ("clipgnn", "clipgnn-source", "numpy", "python", "rdkit", "safetensors", "torch")
SAMPLE = 20_000
"""Molecules that RDKit parses alone."""


def write_molecules(source: Path, path: Path, number: int) -> list[str]:
    """Write a CSV file of a number of molecules; return the SMILES of the first ones."""
    from rdkit import Chem

    with source.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    copies = -(-number // len(rows))
    written = [
        Chem.MolToRandomSmilesVect(Chem.MolFromSmiles(row["smiles"]), copies, randomSeed=seed)
        for seed, row in enumerate(rows, start=1)
    ]
    pairs = [
        (written[own][copy], rows[own]["log_solubility"])
        for copy in range(copies)
        for own in range(len(rows))
    ][:number]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("smiles", "log_solubility"), *pairs])
    return [smiles for smiles, _ in pairs[:SAMPLE]]


def rdkit_alone(smiles: list[str]) -> tuple[float, float]:
    """Molecules a second, and a second of the processor, that RDKit parses on one core."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        begun = time.perf_counter(), time.process_time()
        for own in smiles:
            Chem.MolFromSmiles(own)
        ended = time.perf_counter(), time.process_time()
    seconds, processor = ended[0] - begun[0], ended[1] - begun[1]
    return len(smiles) / seconds, len(smiles) / processor


def rdkit_together(smiles: list[str], workers: int) -> float:
    """Molecules a second that RDKit parses in several processes at the same time."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        list(pool.map(rdkit_alone, [smiles[:1000]] * workers))  # processes have started
        return sum(rate for rate, _ in pool.map(rdkit_alone, [smiles] * workers))


def measure(source: Path, number: int, workers: int) -> dict[str, Any]:
    """Convert molecules in a new process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        smiles = write_molecules(source, folder / "molecules.csv", number)
        alone, together = [rdkit_alone(smiles)], [rdkit_together(smiles, workers)]
        options = ["--workers", str(workers), "--quiet"]
        command = ["convert", str(folder / "molecules.csv"), str(folder / "set"), *options]
        before = os.times()
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "clipgnn.cli", *command], check=True)
        seconds = time.perf_counter() - begun
        after = os.times()
        alone.append(rdkit_alone(smiles))
        together.append(rdkit_together(smiles, workers))
        files = [own.stat().st_size for own in (folder / "set").glob("*.safetensors")]
        processors = after.children_user + after.children_system
        processors -= before.children_user + before.children_system
        return {
            "molecules": number,
            "workers": workers,
            "seconds": seconds,
            "molecules_a_second": number / seconds,
            "rdkit_alone_a_second": (alone[0][0] + alone[1][0]) / 2,
            "rdkit_in_as_many_processes_a_second": sum(together) / 2,
            "molecules_a_processor_second": number / processors if workers == 1 else None,
            "rdkit_alone_a_processor_second": (alone[0][1] + alone[1][1]) / 2,
            "bytes_a_molecule": sum(files) / number,
            "bytes_a_molecule_csv": (folder / "molecules.csv").stat().st_size / number,
            "load_average": os.getloadavg()[0],
        }


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="CSV file of smiles and log_solubility")
    parser.add_argument("--molecules", type=int, nargs="+", default=[300_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--output", type=Path, default=Path("convert.json"))
    arguments = parser.parse_args()
    runs = []
    for number in arguments.molecules:
        for workers in arguments.workers:
            runs.append(measure(arguments.data, number, workers))
            print(json.dumps(runs[-1]), flush=True)
    versions = installed_versions()
    content = {
        "runs": runs,
        "machine": dict(this_machine("cpu")),
        "versions": {name: versions[name] for name in PACKAGES if name in versions},
    }
    write_file(arguments.output, (json.dumps(content, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
