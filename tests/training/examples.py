"""Small data sets, splits and models to train."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
import torch
from tests.optional import marks_of
from torch_geometric.data import Data

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs, append_graphs, open_graphs
from clipgnn.parameters import MODELS
from clipgnn.training import History, ModelSpec, Recipe, Split, TrainedModels
from clipgnn.training.engine import Engine
from clipgnn.training.engines import engine_for as engine_of
from clipgnn.training.models import new_members

CLIP4 = ModelSpec("clip", {"num_colorings": 4, "hidden_channels": 8, "num_layers": 2})
BLIND = ModelSpec("clip", {**CLIP4.parameters, "num_colorings": 0})
SPECS = [
    CLIP4 if name == "clip" else ModelSpec(name) for name, model in MODELS.items() if model.trained
]
"""A small model of every network."""

every_network = pytest.mark.parametrize(
    "spec", [pytest.param(spec, marks=marks_of(spec.name), id=spec.name) for spec in SPECS]
)


def some_graphs(number: int = 8, seed: int = 0) -> PackedGraphs:
    """Random graphs of 3 to 9 nodes with two labels; an isolated node and a graph without edges."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for place in range(number):
        nodes = int(torch.randint(3, 10, (1,), generator=generator))
        chance = 0.0 if place == 1 else 0.4
        adjacency = torch.rand(nodes, nodes, generator=generator).triu(1) > 1 - chance
        adjacency = adjacency.triu(1)
        labels = torch.randint(0, 2, (nodes,), generator=generator)
        edges = (adjacency | adjacency.t()).nonzero().t()
        graphs.append(Data(x=labels, edge_index=edges, y=torch.tensor([place % 2])))
    return PackedGraphs.from_data_list(graphs, "some graphs")


def rings(number: int = 60) -> PackedGraphs:
    """One ring of six nodes or two of three, which only colors distinguish."""
    graphs = []
    for place in range(number):
        ring = nx.cycle_graph(6)
        if place % 2:
            ring = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
        edges = torch.tensor(list(ring.edges)).t()
        edges = torch.cat([edges, edges.flip(0)], dim=1)
        graphs.append(Data(edge_index=edges, y=torch.tensor([place % 2]), num_nodes=6))
    return PackedGraphs.from_data_list(graphs, "rings")


def regressed(graphs: PackedGraphs, num_targets: int | None = None) -> PackedGraphs:
    """The same graphs with standardized numbers as targets: the size, and further ones of it."""
    sizes = graphs.node_pointers.diff().to(torch.get_default_dtype())
    y = (sizes - sizes.mean()) / sizes.std()
    if num_targets is not None:
        y = torch.stack([y.roll(target) for target in range(num_targets)], dim=1)
    return replace(graphs, y=y)


def multitask(graphs: PackedGraphs, num_targets: int = 3) -> PackedGraphs:
    """The same graphs with binary targets, every fourth of which is missing."""
    place = torch.arange(len(graphs))[:, None] + torch.arange(num_targets)
    y = (place // 2 % 2).to(torch.get_default_dtype())
    return replace(graphs, y=y.masked_fill(place % 4 == 3, torch.nan))


def folds(number: int, graphs: int) -> list[Split]:
    """Splits with a fold for testing, and with three folds or more one for validation."""
    fold = torch.arange(graphs) % number
    return [
        Split(
            train=(fold != test) & ((fold != (test + 1) % number) | (number == 2)),
            test=fold == test,
            validation=(fold == (test + 1) % number) & (number > 2),
        )
        for test in range(number)
    ]


def engine_for(
    graphs: PackedGraphs,
    spec: ModelSpec,
    recipe: Recipe,
    splits: Sequence[Split],
    seeds: Sequence[int],
    device: str = "cpu",
) -> Engine:
    """An engine with new members."""
    network = new_members(spec, graphs, recipe, seeds)
    return engine_of(graphs, network, recipe, splits, seeds, torch.device(device))


def curves(history: History) -> tuple[list[float], list[float], list[float]]:
    """All curves of a history."""
    return history.train_loss, history.test_score, history.validation_score


def on_disk(graphs: PackedGraphs, folder: Path, shard_graphs: int = 7) -> StoredGraphs:
    """The same graphs on disk, in shards of a number of graphs."""
    for own in torch.arange(len(graphs)).split(shard_graphs):
        append_graphs(folder, graphs.subset(own))
    return open_graphs(folder)


def assert_same(one: TrainedModels, other: TrainedModels) -> None:
    """Check that two trainings are equal bit for bit: weights, curves, outputs and best epoch."""
    for first, second in zip(one, other, strict=True):
        assert curves(first.history) == curves(second.history)
        assert first.history.best_epoch == second.history.best_epoch
        weights = second.model.state_dict()
        for name, own in first.model.state_dict().items():
            assert torch.equal(own, weights[name]), name
        assert torch.equal(first.test_outputs, second.test_outputs)
