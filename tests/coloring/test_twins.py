"""Labelings of graphs whose twins are merged: complete, and independent of the order of nodes."""

import random
from collections.abc import Iterator

import networkx as nx
import numpy as np
import pytest
from tests.coloring.invariant_examples import (
    atlas,
    batch_of,
    canonical_graphs,
    colored_graphs,
    random_graph,
)

from clipgnn import PackedGraphs
from clipgnn.coloring import bliss, labeling
from clipgnn.coloring.labeling import canonical_colors
from clipgnn.coloring.structures import Structure
from clipgnn.coloring.twins import WithoutTwins


@pytest.fixture(autouse=True)
def all_graphs_without_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(bliss, "TWINS_FROM", 1)
    labeling._caches.clear()
    yield
    labeling._caches.clear()
    labeling._late.clear()


def structure_of(graph: "nx.Graph[int]", colors: list[int]) -> Structure:
    edges = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
    return Structure(len(graph), np.array(colors), edges)


def test_the_twins_of_a_graph() -> None:
    """A triangle, of which a node has three leaves, one of another color, and an isolated node."""
    graph = nx.Graph([(0, 1), (0, 2), (1, 2), (0, 3), (0, 4), (0, 5)])
    graph.add_node(6)
    merged = WithoutTwins.of(structure_of(graph, [0, 0, 0, 0, 1, 0, 0]))
    classes = np.split(merged.members, merged.first[1:-1])
    assert [own.tolist() for own in classes] == [[0], [1, 2], [3, 5], [4], [6]]
    assert merged.structure.num_nodes == 5
    assert merged.structure.edges.tolist() == [[0, 1], [0, 2], [0, 3]]
    # Two adjacent twins, and two that are not, are different.
    assert len(set(merged.structure.colors.tolist())) == 4
    assert merged.structure.colors[0] == merged.structure.colors[4]
    assert merged.expanded(np.array([2, 0, 1, 4, 3])).tolist() == [3, 5, 0, 1, 2, 6, 4]


@pytest.mark.needs("igraph")
def test_the_atlas() -> None:
    assert len(set(canonical_graphs(atlas(6).to_batch()))) == 208


@pytest.mark.needs("igraph")
@pytest.mark.parametrize(("weighted", "attributes"), [(False, False), (True, True)])
def test_directed_multigraphs(
    *, weighted: bool, attributes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many of them are different as without merging."""
    generator = random.Random(3)
    graphs = [random_graph(generator, 4) for _ in range(300)]
    batch = batch_of(graphs, weighted=weighted, attributes=attributes)
    expected = canonical_graphs(batch)
    with monkeypatch.context() as context:
        context.setattr(bliss, "TWINS_FROM", 10**9)
        labeling._caches.clear()
        plain = colored_graphs(batch, canonical_colors(batch))
    assert 100 < len(set(expected)) == len(set(plain)) < 300


@pytest.mark.needs("igraph")
def test_many_twins_are_labeled_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these graphs alone would take seconds."""
    monkeypatch.undo()
    graphs = [nx.star_graph(2000), nx.complete_graph(600), nx.empty_graph(8000)]
    batch = PackedGraphs.from_networkx(graphs).to_batch()
    found = labeling.canonical_labeling(batch)
    assert found.late == []
    for number, graph in enumerate(graphs):
        own = found.colors[batch.graph_of_node == number]
        assert sorted(own.tolist()) == list(range(len(graph)))
