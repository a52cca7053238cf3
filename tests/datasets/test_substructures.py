"""Numbers of subgraphs, compared with an enumeration of all choices of nodes."""

from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clipgnn.datasets import substructures
from clipgnn.datasets.substructures import SUBSTRUCTURES, count_substructures
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
else:
    Graph = nx.Graph

PATTERNS: dict[str, list[tuple[int, int]]] = {
    "triangles": [(0, 1), (1, 2), (2, 0)],
    "4-cycles": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "5-cycles": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
    "6-cycles": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)],
    "chordal-cycles": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)],
    "tailed-triangles": [(0, 1), (1, 2), (2, 0), (2, 3)],
    "stars": [(0, 1), (0, 2), (0, 3)],
}


@cache
def orders(num_nodes: int, chosen: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(list(permutations(range(num_nodes), chosen)), np.int64).reshape(-1, chosen)


def enumerated(adjacency: np.ndarray[Any, np.dtype[np.int64]], name: str) -> int:
    """Count the sets of edges that are images of a pattern."""
    pattern = np.array(PATTERNS[name])
    images = orders(adjacency.shape[0], int(pattern.max()) + 1)[:, pattern]
    found = images[adjacency[images[..., 0], images[..., 1]].all(1)]
    return len({frozenset(map(frozenset, edges)) for edges in found.tolist()})


def check(graph: Graph) -> None:
    matrix = nx.to_numpy_array(graph).astype(np.int64)
    counts = count_substructures(matrix[None])
    assert list(counts) == list(PATTERNS) == list(SUBSTRUCTURES)
    for name, count in counts.items():
        assert count.tolist() == [enumerated(matrix, name)], name


def atlas(largest: int) -> list[Graph]:
    return [graph for graph in nx.graph_atlas_g() if 1 <= len(graph) <= largest]


def test_all_graphs_of_up_to_six_nodes() -> None:
    for graph in atlas(6):
        check(graph)


@pytest.mark.slow
def test_all_graphs_of_seven_nodes() -> None:
    for graph in atlas(7):
        check(graph)


@settings(max_examples=10)
@given(st.integers(7, 8), st.integers(0, 2**28 - 1))
def test_random_graphs(num_nodes: int, bits: int) -> None:
    pairs = [(one, other) for other in range(num_nodes) for one in range(other)]
    graph: Graph = nx.empty_graph(num_nodes)
    graph.add_edges_from(pair for number, pair in enumerate(pairs) if bits >> number & 1)
    check(graph)


def test_a_batch_has_the_counts_of_its_graphs() -> None:
    random = np.random.default_rng(0)
    above = np.triu(random.random((20, 12, 12)) < 0.5, 1)
    graphs = above | above.transpose(0, 2, 1)
    together = count_substructures(graphs)
    padded = count_substructures(np.pad(graphs, ((0, 0), (0, 3), (0, 3))))
    for number, graph in enumerate(graphs):
        for name, count in count_substructures(graph[None]).items():
            assert count[0] == together[name][number] == padded[name][number]


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 3), np.int64),
        np.zeros((1, 2, 3), np.int64),
        np.array([[[0, 1], [0, 0]]]),
        np.array([[[0, 2], [2, 0]]]),
        np.array([[[1, 0], [0, 0]]]),
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_matrices_that_are_not_simple_graphs(matrix: np.ndarray[Any, Any]) -> None:
    with pytest.raises(InvalidParameterError, match="without self-loops: symmetric matrices"):
        count_substructures(matrix)


def test_a_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of several sizes, in parts, with values of edges that do not matter."""
    graphs = [nx.complete_graph(4), nx.cycle_graph(6), nx.empty_graph(0), nx.star_graph(3)]
    graphs += [nx.gnp_random_graph(6, 0.6, seed=seed) for seed in range(5)]
    monkeypatch.setattr(substructures, "ENTRIES_AT_ONCE", 80)
    packed = PackedGraphs.from_networkx(graphs)
    packed = replace(packed, edge_weight=torch.rand(packed.edge_index.shape[1]))
    counts = count_substructures(packed)
    for number, graph in enumerate(graphs):
        if len(graph):
            matrix = nx.to_numpy_array(graph).astype(np.int64)
            for name, own in count_substructures(matrix[None]).items():
                assert counts[name][number] == own[0]
    assert [own[2] for own in counts.values()] == [0] * 7
    assert counts["triangles"][0] == 4


@pytest.mark.usefixtures("without_shape_checks")
def test_what_is_not_counted() -> None:
    directed = PackedGraphs.from_networkx([nx.DiGraph([(0, 1)])])
    looped = PackedGraphs.from_networkx([nx.Graph([(0, 0), (0, 1)])])
    for graphs in (directed, looped):
        with pytest.raises(InvalidParameterError, match="undirected and without self-loops"):
            count_substructures(graphs)
    others: Any = [nx.complete_graph(3)]
    with pytest.raises(InvalidParameterError, match=r"Got list\. Use PackedGraphs.from_networkx"):
        count_substructures(others)
