"""Inputs of conversions, and what reading all of their graphs at once gives."""

import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch

from clipgnn import PackedGraphs
from clipgnn.commands.sources import select
from clipgnn.datasets.conversion.options import ConvertOptions, Rejected
from clipgnn.datasets.sources import open_source
from clipgnn.datasets.targets import read_targets
from clipgnn.estimators.reading import read_training
from clipgnn.graphs.packed_checks import targets_of
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.parameters.targets import Task

SMILES = ["CCO", "c1ccccc1", "C1CC", "[Na+].[Cl-]", "C[C@H](N)C(=O)O", "C(C)(C)(C)(C)C", "N#N"]
SMILES += ["[13CH4]", "F/C=C/F", "OS(=O)(=O)O", "[2H]C", "C[N+](C)(C)C", "", "c1cc[nH]c1", "*C"]


def molecules(path: Path, number: int = 23, target: Sequence[str] = ("1.5", "2", "", "-3")) -> Path:
    """A CSV file of molecules, some of them invalid, with targets, some of them missing."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "smiles", "target"])
        for row in range(number):
            text = f'a "name",\nnumber {row}'  # with a line break
            writer.writerow([text, SMILES[row % len(SMILES)], target[row % len(target)]])
    return path


def random_lines(path: Path, seed: int, number: int = 12, chance: float = 0.3) -> Path:
    """JSON lines of random graphs, whose attributes can be of several types, or missing."""
    choose = random.Random(seed)
    kinds: list[Any] = [
        lambda: choose.choice("abc"),
        lambda: choose.randrange(5),
        lambda: choose.randrange(1000),
        lambda: choose.choice([True, False]),
        lambda: round(choose.gauss(0, 1), 3),
        lambda: [choose.random(), 1],
    ]
    of_name = {name: choose.choice(kinds) for name in "pqr"}
    lines = []
    for row in range(number):
        graph = nx.gnp_random_graph(choose.randrange(1, 5), 0.5, seed=row + seed)
        if choose.random() < chance:
            of_name[choose.choice("pqr")] = choose.choice(kinds)
        for name, value in of_name.items():
            if choose.random() < 0.8:
                for node in graph:
                    graph.nodes[node][name] = value()
        for edge in graph.edges:
            graph.edges[edge]["weight"] = choose.choice([1, 0.5])
            graph.edges[edge]["kind"] = choose.choice("xy")
        line = nx.node_link_data(graph, edges="edges") | {"y": choose.choice([0, 1, 7])}
        lines.append("{" if choose.random() < 0.05 else json.dumps(line))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read_at_once(
    data: str, options: ConvertOptions
) -> tuple[PackedGraphs, list[int], list[Rejected], list[int | str] | None]:
    """Graphs with targets, their rows, rejected graphs, and classes."""
    source = open_source(
        data,
        format=options.format,
        labels=options.labels,
        smiles_column=options.smiles_column,
        root=options.root,
    )
    targets, problems = None, {}
    if options.targets is None or options.targets:
        targets = read_targets(source, options.targets, options.task)
        problems = dict(targets.problems)
    names = {"nodes": "node_attributes", "edges": "edge_attributes", "graphs": "graph_attributes"}
    chosen: Any = {names[part]: own for part, own in options.chosen.items()} | {"kinds": None}

    def read(given: Any) -> PackedGraphs:
        encoded = read_training(given, chosen)
        assert isinstance(encoded, PackedGraphs)
        return encoded

    found = select(source, read, problems, strict=False)
    graphs, classes = found.graphs, None
    if targets is not None:
        y = targets.of(found.numbers)
        if targets.task is Task.classification:
            known, y = np.unique(y, return_inverse=True)
            classes = known.tolist()
        graphs = PackedGraphs(**{**vars(graphs), "y": targets_of(y)})
    rejected = [
        Rejected(row, source.entries[row].place, own) for row, own in found.problems.items()
    ]
    return graphs, list(found.numbers), rejected, classes


def rows_of(stored: StoredGraphs) -> list[int]:
    """Positions of the graphs in the input."""
    rows = stored.rows(torch.arange(len(stored)))
    assert rows is not None
    return rows.tolist()
