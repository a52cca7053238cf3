"""Graphs by name."""

import networkx as nx
import pytest

from clipgnn.datasets.named_graphs import NAMED_GRAPHS, named_graph
from clipgnn.errors import InvalidParameterError


@pytest.mark.parametrize("name", NAMED_GRAPHS)
def test_every_graph_has_a_partner_of_its_size(name: str) -> None:
    graph, other = named_graph(name), named_graph(NAMED_GRAPHS[name].partner)
    assert graph is not None
    assert other is not None
    assert list(graph) == list(range(len(graph)))
    assert (len(graph), graph.size()) == (len(other), other.size())
    assert not nx.is_isomorphic(graph, other)


def test_strongly_regular() -> None:
    for name in ("rook-4x4", "shrikhande"):
        graph = named_graph(name)
        assert graph is not None
        assert nx.is_strongly_regular(graph)
        assert nx.intersection_array(graph) == ([6, 3], [1, 2])


@pytest.mark.parametrize("name", ["csl-11", "csl-11-2-3", "cycle-5-2", "cycle-", "csl--1-2", "x"])
def test_unknown_names(name: str) -> None:
    assert named_graph(name) is None


@pytest.mark.parametrize("name", ["csl-11-1", "csl-8-4", "cycle-2", "cycle-999999999"])
def test_numbers_out_of_range(name: str) -> None:
    with pytest.raises(InvalidParameterError):
        named_graph(name)
