"""Random data sets with every kind of attribute, which tests of several folders share."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from clipgnn.coloring import color_groups
from clipgnn.graphs.assembly import Assembler
from clipgnn.graphs.packed import PackedGraphs

SIZES = [4, 3, 6, 1, 5, 7, 2, 3]


def data_list(
    sizes: list[int] | None = None,
    *,
    directed: bool = False,
    weights: bool = False,
    edge_channels: int = 0,
    graph_channels: int = 0,
    labels: bool = True,
    seed: int = 0,
) -> list[Data]:
    """Random graphs in float64 with two classes; the second one has no edges.

    Weights and edge attributes differ between the two directions of an edge.
    """
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    graphs = []
    for number, size in enumerate(SIZES if sizes is None else sizes):
        adjacency = uniform(size, size) < (0.0 if number == 1 else 0.4)
        edge_index = (adjacency if directed else adjacency | adjacency.t()).nonzero().t()
        edges = edge_index.shape[1]
        x = torch.randint(2, (size,), generator=generator) if labels else uniform(size, 2)
        graph = Data(x=x, edge_index=edge_index, y=torch.tensor([number % 2]))
        if weights:
            graph.edge_weight = uniform(edges) + 0.5
        if edge_channels:
            graph.edge_attr = uniform(edges, edge_channels)
        if graph_channels:
            graph.graph_attr = uniform(1, graph_channels)
        graphs.append(graph)
    return graphs


def packed(sizes: list[int] | None = None, **options: Any) -> PackedGraphs:
    """The graphs of `data_list` as a data set."""
    return PackedGraphs.from_data_list(data_list(sizes, **options), "random graphs")


def assembler_of(graphs: PackedGraphs) -> Assembler:
    """An assembler whose groups are those of identical attributes."""
    return Assembler(graphs, color_groups(graphs.x, graphs.graph_of_node))
