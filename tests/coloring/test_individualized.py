"""Colorings from random roots, in calls and in trainings."""

import itertools
from dataclasses import replace
from typing import Any

import networkx as nx
import pytest
import torch
from tests.coloring.invariant_examples import atlas, colored_graphs, relabeled
from torch import Tensor

from clipgnn import PackedGraphs
from clipgnn.coloring import individualized, with_colorings
from clipgnn.coloring.individualized import Individualized, PoolSampler
from clipgnn.graphs.assembly import Assembler
from clipgnn.training import ModelSpec, Recipe, Split, train


def test_roots_are_distinct_and_give_all_colorings() -> None:
    """A cycle has, from each root, pairs of nodes at equal distances, which have two orders."""
    batch = PackedGraphs.from_networkx([nx.cycle_graph(5)]).to_batch()
    partition = Individualized().partition(batch)
    generator = torch.Generator().manual_seed(0)
    drawn = Individualized().stream(batch, partition, 5, generator).all()
    # Nodes at equal distances from the root have consecutive colors.
    assert {int(own.argmax()) for own in drawn} == set(range(5))
    many = Individualized().stream(batch, partition, 400, generator).all()
    assert len({tuple(own) for own in many.tolist()}) == 5 * 2 * 2


def test_colorings_from_roots_do_not_depend_on_the_order_of_nodes() -> None:
    """All colored graphs that occur for a graph occur for its relabeled copy."""
    graph = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])
    batch = PackedGraphs.from_networkx([graph]).to_batch()
    generator = torch.Generator().manual_seed(0)
    found = []
    for own in (batch, relabeled(batch, 3)[0]):
        stream = Individualized().stream(own, Individualized().partition(own), 300, generator)
        found.append({colored_graphs(own, colors)[0] for colors in stream.all()})
    assert found[0] == found[1]


def test_many_roots_in_parts_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = atlas(4).to_batch()

    def draw() -> Tensor:
        generator = torch.Generator().manual_seed(1)
        partition = Individualized().partition(batch)
        return Individualized().stream(batch, partition, 7, generator).all()

    expected = draw()
    monkeypatch.setattr(individualized, "_copies_at_once", lambda graphs: 2)
    assert torch.equal(draw(), expected)


def test_a_training_chooses_among_many_colorings_from_roots() -> None:
    """Differently in each step, and for each graph of a batch and each network by itself."""
    graphs = PackedGraphs.from_networkx([nx.cycle_graph(7)] * 3)
    partition = Individualized().partition(graphs.to_batch())
    sampler = Individualized().sampler(graphs, partition)
    assembler = Assembler(graphs, partition.local_groups)
    chosen = torch.zeros(2, 2, dtype=torch.int64)
    batch = assembler.batch(chosen, assembler.capacity_for(chosen))
    seeds = torch.tensor([3, 4])
    # [steps, members, slots, nodes]
    drawn = torch.stack(
        [sampler.sample(batch, 1, seeds, torch.tensor(step)).view(2, -1) for step in range(60)]
    )[:, :, :14].view(60, 2, 2, 7)
    steps = [drawn[:, member, slot] for member in range(2) for slot in range(2)]
    for own in steps:
        assert len({tuple(colors) for colors in own.tolist()}) > 15
        repeated = (own[1:] == own[:-1]).all(1)
        assert int(repeated.sum()) < 20
    for first, second in itertools.combinations(steps, 2):
        assert int((first == second).all(1).sum()) < 20


def test_the_steps_of_a_training_have_different_colorings(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = replace(PackedGraphs.from_networkx([nx.cycle_graph(7)] * 4), y=torch.arange(4) % 2)
    drawn: list[Tensor] = []
    sample = PoolSampler.sample

    def recorded(*arguments: Any) -> Tensor:
        drawn.append(sample(*arguments))
        return drawn[-1]

    monkeypatch.setattr(PoolSampler, "sample", recorded)
    spec = ModelSpec(
        "clip", {"coloring": "individualized", "num_colorings": 2, "hidden_channels": 2}
    )
    train(graphs, spec, Recipe(epochs=8), [Split([0, 1], [2, 3])], [0])
    assert len(drawn) >= 8
    assert len({tuple(own.flatten().tolist()) for own in drawn}) == len(drawn)


def test_the_colorings_of_a_training_depend_on_the_graph_only() -> None:
    """Not on the other graphs, such as those of one window, nor on the state of torch."""
    graphs = PackedGraphs.from_networkx([nx.cycle_graph(7), nx.path_graph(4), nx.star_graph(3)])
    pools = []
    for order in ([0, 1, 2], [2, 0], [1, 0]):
        torch.rand(1)
        own = graphs.subset(torch.tensor(order))
        sampler = Individualized().sampler(own, Individualized().partition_of(own))
        start = own.node_pointers[order.index(0)]
        pools.append(sampler.pool[:, start : start + 7])
    assert torch.equal(pools[0], pools[1])
    assert torch.equal(pools[0], pools[2])
    assert len({tuple(colors) for colors in pools[0].tolist()}) > 20


def test_nodes_of_several_labels_keep_their_groups() -> None:
    """The root is one of its label; nodes of other labels are never confused with it."""
    graph = nx.cycle_graph(6)
    nx.set_node_attributes(graph, {node: node % 3 for node in graph}, "label")
    batch = PackedGraphs.from_networkx([graph], kinds={"label": "category"}).to_batch()
    generator = torch.Generator().manual_seed(0)
    stream = Individualized().stream(batch, Individualized().partition(batch), 30, generator)
    for colors in stream.all():
        assert [sorted(colors[label::3].tolist()) for label in range(3)] == [[0, 1]] * 3
    # A root of one label decides the colors of all nodes: opposite nodes are at other distances.
    assert len({tuple(colors.tolist()) for colors in stream.all()}) == 6


def test_orders_of_equal_nodes_do_not_depend_on_the_root() -> None:
    """The two neighbors of a root have both orders, for each root and in each position."""
    batch = PackedGraphs.from_networkx([nx.cycle_graph(5)] * 60).to_batch()
    keys = torch.arange(60) * 7919
    partition = Individualized().partition(batch, keys)
    drawn = Individualized().stream(batch, partition, 5, None).all().view(5, 60, 5)
    orders: dict[int, set[bool]] = {}
    for colors in drawn.reshape(-1, 5):
        root = int(colors.argmax())
        orders.setdefault(root, set()).add(bool(colors[(root + 1) % 5] < colors[(root - 1) % 5]))
    assert orders == {root: {True, False} for root in range(5)}


def test_predictions_have_other_colorings_than_trainings() -> None:
    graphs = PackedGraphs.from_networkx([nx.cycle_graph(9)])
    pool = Individualized().sampler(graphs, Individualized().partition_of(graphs)).pool
    stored = with_colorings(graphs, "individualized", 4).colorings
    assert stored is not None
    assert not torch.equal(pool[:4, :9], stored)
