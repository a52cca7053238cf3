"""Measure coloring schemes: how many colorings they leave, and how long they take.

    python results/schemes.py --esol ESOL.csv --output results/schemes.json

Needs the TU data sets (CLIPGNN_DATA), igraph and RDKit. Times are CPU seconds of one thread,
without the cache of labelings, and the best of three runs. Networks are trained on nine tenths of
the graphs and evaluated on the others, one scheme after the other in each run.
"""

import argparse
import csv
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from clipgnn.coloring import labeling
from clipgnn.coloring.schemes import scheme_named
from clipgnn.datasets.registry import load_dataset
from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import Recipe
from clipgnn.training import ModelSpec, Split, train
from clipgnn.writing import check_writable, write_file

DATASETS = (
    "csl",
    "connectivity",
    "triangle-freeness",
    "MUTAG",
    "PTC_MR",
    "PROTEINS",
    "IMDB-BINARY",
)
TRAINED = ("connectivity", "bipartiteness", "triangle-freeness", "csl", "MUTAG", "PTC_MR")
TIMED = ("random", "refined", "individualized", "canonical")
K, RUNS, EPOCHS = 16, 3, 6

NETWORKS: dict[str, dict[str, Any]] = {
    "no colors": {"num_colorings": 0},
    "random, k = 1": {"num_colorings": 1},
    "random, k = 4": {"num_colorings": 4},
    "refined, k = 1": {"num_colorings": 1, "coloring": "refined"},
    "refined, k = 4": {"num_colorings": 4, "coloring": "refined"},
    "individualized, k = 4": {"num_colorings": 4, "coloring": "individualized"},
    "canonical": {"num_colorings": 1, "coloring": "canonical"},
}
SIZES = {"csl": {"num_layers": 5, "hidden_channels": 16}}
USUAL_SIZE = {"num_layers": 3, "hidden_channels": 32}


def seconds(call: Callable[[], object]) -> float:
    """Return the CPU seconds of a call with an empty cache."""
    labeling._caches.clear()
    began = time.process_time()
    call()
    return time.process_time() - began


def measure(graphs: PackedGraphs) -> dict[str, Any]:
    """Return numbers of colorings, and the time for the colorings of a graph."""
    batch = graphs.to_batch()
    logs = {
        name: scheme_named(name).partition(batch).log_counts / math.log(10)
        for name in ("random", "refined")
    }
    generator = torch.Generator().manual_seed(0)

    def colorings(name: str) -> object:
        scheme = scheme_named(name)
        return scheme.stream(batch, scheme.partition(batch), K, generator).all()

    return {
        "graphs": len(graphs),
        "median_log10_colorings": {name: float(own.median()) for name, own in logs.items()},
        "largest_log10_colorings": {name: float(own.max()) for name, own in logs.items()},
        "one_coloring": {name: float((own < 1e-9).double().mean()) for name, own in logs.items()},
        "microseconds_of_a_graph": {
            name: 1e6
            * min(seconds(lambda name=name: colorings(name)) for _ in range(RUNS))
            / len(graphs)
            for name in TIMED
        },
    }


def training_times(graphs: PackedGraphs) -> dict[str, dict[str, float]]:
    """Return the seconds of an epoch with its evaluation, and of all that comes before it."""
    last = torch.arange(len(graphs)) % 10 == 9
    splits = [Split(train=~last, test=last)]
    size = SIZES.get(graphs.name, USUAL_SIZE)
    loss = "squared-error" if graphs.targets.is_floating_point() else "cross-entropy"

    def duration(own: dict[str, Any], epochs: int) -> float:
        spec = ModelSpec("clip", {**size, **own})
        recipe = Recipe(epochs=epochs, batch_size=32, loss=loss)
        return seconds(lambda: train(graphs, spec, recipe, splits, [0]))

    duration({}, 1)  # warms up
    short: dict[str, list[float]] = {name: [] for name in NETWORKS}
    long: dict[str, list[float]] = {name: [] for name in NETWORKS}
    for _ in range(RUNS):
        for name, own in NETWORKS.items():
            short[name].append(duration(own, 1))
            long[name].append(duration(own, 1 + EPOCHS))
    found = {}
    for name in NETWORKS:
        epoch = (min(long[name]) - min(short[name])) / EPOCHS
        found[name] = {"epoch_seconds": epoch, "start_seconds": min(short[name]) - epoch}
    return found


def solubilities(path: Path) -> PackedGraphs:
    """Read the molecules of ESOL, with their solubilities as targets."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    y = [float(row["log_solubility"]) for row in rows]
    return PackedGraphs.from_smiles([row["smiles"] for row in rows], y=y, name="ESOL")


def main() -> None:
    """Measure all data sets, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--esol", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    check_writable(arguments.output)
    torch.set_num_threads(1)
    molecules = solubilities(arguments.esol)
    found = {name: measure(load_dataset(name)) for name in DATASETS}
    training = {name: training_times(load_dataset(name)) for name in TRAINED}
    record = {
        "k": K,
        "datasets": {**found, "ESOL": measure(molecules)},
        "training": {**training, "ESOL": training_times(molecules)},
        "versions": dict(installed_versions()),
        "machine": dict(this_machine("cpu")),
    }
    write_file(arguments.output, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
