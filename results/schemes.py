"""Measure coloring schemes: how many colorings they leave, and how long they take.

    python results/schemes.py --output results/schemes.json

Needs the TU data sets (CLIPGNN_DATA) and igraph. Times are of one process, without the cache of
labelings, and the best of three runs.
"""

import argparse
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

DATASETS = (
    "csl",
    "connectivity",
    "triangle-freeness",
    "MUTAG",
    "PTC_MR",
    "PROTEINS",
    "IMDB-BINARY",
)
TIMED = ("random", "refined", "individualized", "canonical")
K = 16


def seconds(call: Callable[[], object]) -> float:
    """Return the shortest of three durations, each with an empty cache."""
    durations = []
    for _ in range(3):
        labeling._caches.clear()
        began = time.perf_counter()
        call()
        durations.append(time.perf_counter() - began)
    return min(durations)


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
            name: 1e6 * seconds(lambda name=name: colorings(name)) / len(graphs) for name in TIMED
        },
    }


def main() -> None:
    """Measure all data sets, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = {name: measure(load_dataset(name)) for name in DATASETS}
    record = {
        "k": K,
        "datasets": found,
        "versions": dict(installed_versions()),
        "machine": dict(this_machine("cpu")),
    }
    arguments.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
