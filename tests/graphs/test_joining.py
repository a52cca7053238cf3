"""Joining of data sets."""

from dataclasses import replace
from typing import Any

import networkx as nx
import pytest
import torch
from tests.graphs.examples import packed

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.joining import join
from clipgnn.graphs.packed import PackedGraphs


def with_colorings(graphs: PackedGraphs) -> PackedGraphs:
    colors = torch.arange(graphs.x.shape[0]) - graphs.node_pointers[graphs.graph_of_node]
    return replace(graphs, colorings=torch.stack([colors, colors]))


def test_joined_graphs_are_those_of_both_sets() -> None:
    graphs = with_colorings(
        packed([3, 1, 4, 2, 5], weights=True, edge_channels=2, graph_channels=3, directed=True)
    )
    joined = join(graphs.subset(torch.tensor([0, 1])), graphs.subset(torch.tensor([2, 3, 4])))
    assert joined.fingerprint == graphs.fingerprint
    assert joined.name == graphs.name


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda own: replace(own, y=None), "y"),
        (lambda own: replace(own, y=own.y.float()), "y"),
        (lambda own: with_colorings(own), "colorings"),
        (lambda own: replace(own, edge_weight=torch.ones(own.edge_index.shape[1])), "edge_weight"),
        (lambda own: replace(own, graph_attr=torch.ones(len(own), 1)), "graph_attr"),
    ],
)
def test_sets_of_different_kinds(change, name: str) -> None:
    graphs = packed([3, 4])
    other = change(graphs)
    assert getattr(other, name) is not getattr(graphs, name)
    with pytest.raises(InvalidGraphError, match=f"same kind of {name}"):
        join(graphs, other)


def test_sets_with_different_numbers_of_labels() -> None:
    graphs = packed([3, 4])
    with pytest.raises(InvalidGraphError, match="same kind of in_channels"):
        join(graphs, replace(graphs, x=torch.zeros(7, 9), in_channels=9))


def test_data_sets_with_the_same_encoding_are_joined() -> None:
    graph: nx.Graph[Any] = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "C", 1: "C", 2: "O"}, "element")
    first = PackedGraphs.from_networkx([graph])
    second = PackedGraphs.from_networkx([graph, graph], encoding=first.encoding)
    joined = join(first, second)
    assert joined.encoding is first.encoding
    assert joined.x.tolist() == [0, 0, 1] * 3
    nx.set_node_attributes(graph, {2: "N"}, "element")
    with pytest.raises(InvalidGraphError, match="same kind of encoding"):
        join(first, PackedGraphs.from_networkx([graph]))
