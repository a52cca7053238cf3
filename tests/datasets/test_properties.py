"""Circular skip links against networkx."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from clipgnn.datasets.properties import SKIP_LENGTHS, circular_skip_links
from clipgnn.errors import ClipGNNError, InvalidParameterError

COPIES = 15


@pytest.fixture(scope="module")
def graphs() -> list[Data]:
    return circular_skip_links(seed=0).to_data_list()


def to_networkx(data: Data) -> "nx.DiGraph[int]":
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(data.num_nodes))
    graph.add_edges_from(data.edge_index.t().tolist())
    return graph


def test_ten_classes_of_fifteen(graphs: list[Data]) -> None:
    assert [int(data.y) for data in graphs] == [label for label in range(10) for _ in range(COPIES)]
    for data in graphs:
        assert torch.equal(data.x, torch.ones(41, 1))
        assert data.y.shape == (1,)


def test_each_is_a_connected_4_regular_graph_without_self_loops(graphs: list[Data]) -> None:
    for data in graphs:
        graph = to_networkx(data)
        assert data.edge_index.shape == (2, 41 * 4)
        assert graph.number_of_edges() == 41 * 4, "an edge stands there twice"
        assert nx.number_of_selfloops(graph) == 0
        assert nx.is_strongly_connected(graph)
        assert set(dict(graph.in_degree()).values()) == {4}
        assert all(graph.has_edge(target, source) for source, target in graph.edges)


def test_copies_of_a_class_are_the_circulant_graph_of_its_skip_length(graphs: list[Data]) -> None:
    for data in graphs:
        circulant = nx.circulant_graph(41, [1, SKIP_LENGTHS[int(data.y)]])
        assert nx.is_isomorphic(to_networkx(data).to_undirected(), circulant)


def test_no_two_classes_are_isomorphic(graphs: list[Data]) -> None:
    """Isomorphic graphs have equal spectra; to search for an isomorphism takes long."""
    spectra = [
        np.linalg.eigvalsh(nx.to_numpy_array(to_networkx(data).to_undirected()))
        for data in graphs[:: COPIES // 3]
    ]
    for (i, first), (j, second) in combinations(enumerate(spectra), 2):
        assert np.allclose(first, second, atol=1e-6) is (i // 3 == j // 3)


def test_copies_have_their_nodes_in_different_orders(graphs: list[Data]) -> None:
    for label in range(10):
        copies = graphs[label * COPIES : (label + 1) * COPIES]
        assert len({frozenset(to_networkx(data).edges) for data in copies}) == COPIES


def test_same_seed_same_graphs(graphs: list[Data]) -> None:
    def equal(first: list[Data], second: list[Data]) -> bool:
        return all(
            torch.equal(a.edge_index, b.edge_index) for a, b in zip(first, second, strict=True)
        )

    state = torch.get_rng_state()
    assert equal(graphs, circular_skip_links(seed=0).to_data_list())
    assert not equal(graphs, circular_skip_links(seed=1).to_data_list())
    assert torch.equal(torch.get_rng_state(), state), "the global generator was used"


def test_other_sizes() -> None:
    graphs = circular_skip_links(num_nodes=9, skip_lengths=[2, 3, 4], copies=2).to_data_list()
    assert [int(data.y) for data in graphs] == [0, 0, 1, 1, 2, 2]
    for data in graphs:
        assert set(dict(to_networkx(data).in_degree()).values()) == {4}


@pytest.mark.parametrize("skip", [-3, 0, 1, 6, 7, 12, 13])
def test_skip_lengths_that_are_not_4_regular_are_refused(skip: int) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        circular_skip_links(num_nodes=12, skip_lengths=[2, skip]).to_data_list()
    assert isinstance(caught.value, ClipGNNError)
    assert isinstance(caught.value, ValueError)
    assert "2 to under half of the 12 nodes" in str(caught.value)
    assert f"Got {skip}." in str(caught.value)
