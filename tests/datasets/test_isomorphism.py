"""Isomorphism classes against networkx, and where color refinement is not enough."""

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

from clipgnn.datasets.isomorphism import isomorphism_classes, refined_classes
from clipgnn.datasets.properties import circular_skip_links
from clipgnn.graphs.packed import PackedGraphs


def packed(graphs: "list[nx.Graph[int]]", labels: list[list[int]] | None = None) -> PackedGraphs:
    data = []
    for number, graph in enumerate(graphs):
        both_ways = [*graph.edges, *((b, a) for a, b in graph.edges)]
        edges = torch.tensor(both_ways, dtype=torch.int64).view(-1, 2)
        own = [0] * len(graph) if labels is None else labels[number]
        data.append(
            Data(x=torch.tensor(own, dtype=torch.int64), edge_index=edges.t(), num_nodes=len(graph))
        )
    return PackedGraphs.from_data_list(data, "graphs")


def test_all_graphs_of_up_to_five_nodes_and_their_relabelings() -> None:
    atlas = [graph for graph in nx.graph_atlas_g() if 1 <= len(graph) <= 5]
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for graph in atlas:
        for _ in range(3):
            order = torch.randperm(len(graph), generator=generator).tolist()
            copy: nx.Graph[int] = nx.empty_graph(len(graph))
            copy.add_edges_from((order[a], order[b]) for a, b in graph.edges)
            graphs.append(copy)
    expected = torch.arange(len(atlas)).repeat_interleave(3)
    assert isomorphism_classes(packed(graphs)).tolist() == expected.tolist()


def test_graphs_that_color_refinement_cannot_distinguish() -> None:
    graphs = packed([nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)])
    assert refined_classes(graphs)[0].tolist() == [0, 0]
    assert isomorphism_classes(graphs).tolist() == [0, 1]
    skip_links = circular_skip_links(num_nodes=11, skip_lengths=(2, 3), copies=3)
    assert refined_classes(skip_links)[0].unique().numel() == 1
    assert isomorphism_classes(skip_links).tolist() == [0, 0, 0, 1, 1, 1]


def test_labels_count() -> None:
    path = nx.path_graph(3)
    labels = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert isomorphism_classes(packed([path] * 4, labels)).tolist() == [0, 0, 1, 0]


def test_directions_count() -> None:
    x = torch.zeros(3, dtype=torch.int64)
    edges = [[[0, 1], [1, 2]], [[2, 1], [1, 0]], [[1, 1], [0, 2]], [[0, 2], [1, 1]]]
    data = [Data(x=x, edge_index=torch.tensor(own), num_nodes=3) for own in edges]
    graphs = PackedGraphs.from_data_list(data, "directed")
    assert graphs.directed
    assert isomorphism_classes(graphs).tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("sizes", [[1], [0, 2, 0]])
def test_empty_graphs(sizes: list[int]) -> None:
    graphs = packed([nx.empty_graph(size) for size in sizes])
    assert isomorphism_classes(graphs).tolist() == [sizes.index(size) for size in sizes]
