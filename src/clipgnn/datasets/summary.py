"""What a set of graphs contains: sizes, attributes, color groups, what 1-WL distinguishes."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from clipgnn.coloring.groups import Partition, color_groups
from clipgnn.coloring.suggestion import identified_nodes, suggested_colorings
from clipgnn.datasets.isomorphism import isomorphism_classes, refined_classes
from clipgnn.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class Range:
    """Smallest, mean and largest of some numbers."""

    smallest: float
    mean: float
    largest: float

    @classmethod
    def of(cls, numbers: Tensor) -> "Range":
        """Summarize numbers; zeros if there are none."""
        if numbers.numel() == 0:
            return cls(0.0, 0.0, 0.0)
        values = numbers.double()
        return cls(float(values.min()), float(values.mean()), float(values.max()))


@dataclass(frozen=True)
class Summary:
    """Summary of a data set.

    Attributes:
        num_graphs: number of graphs.
        nodes, degrees: numbers of nodes of the graphs, and of neighbors of the nodes.
        edges: numbers of edges of the graphs; an undirected edge counts once.
        directed: whether there are edges whose two directions differ.
        weighted: whether edges have weights.
        node_channels, edge_channels, graph_channels: channels of the attributes.
        groups: sizes of the largest group of nodes with identical attributes of each graph.
        colorings: decimal logarithms of the numbers of colorings of the graphs, Eq. (6).
        one_coloring: number of graphs with one coloring, which need no colors.
        identified: share of nodes that message passing identifies in their graphs.
        confused: number of graphs that color refinement (1-WL) cannot distinguish from another one.
        confused_others: those of them that are not isomorphic to all graphs like them; None if
            isomorphism was not tested.
        suggested: suggested number k of colorings.
    """

    num_graphs: int
    nodes: Range
    edges: Range
    degrees: Range
    directed: bool
    weighted: bool
    node_channels: int
    edge_channels: int
    graph_channels: int
    groups: Range
    colorings: Range
    one_coloring: int
    identified: float
    confused: int
    confused_others: int | None
    suggested: int


def summarize(graphs: PackedGraphs, *, isomorphism: bool = False) -> Summary:
    """Summarize a data set.

    Args:
        graphs: the data set.
        isomorphism: whether to test which graphs that 1-WL cannot distinguish are isomorphic,
            which can take long for regular graphs.
    """
    partition = Partition.of(
        color_groups(graphs.x, graphs.graph_of_node), graphs.graph_of_node, len(graphs)
    )
    largest = torch.zeros(len(graphs), dtype=torch.int64).scatter_reduce_(
        0, partition.graph_of_group, partition.sizes, "amax"
    )
    classes, _ = refined_classes(graphs)
    edges = graphs.edge_pointers.diff()
    degrees = graphs.global_edge_index[1].bincount(minlength=graphs.x.shape[0])
    return Summary(
        num_graphs=len(graphs),
        nodes=Range.of(graphs.node_pointers.diff()),
        edges=Range.of(edges if graphs.directed else edges / 2),
        degrees=Range.of(degrees),
        directed=graphs.directed,
        weighted=graphs.edge_weight is not None,
        node_channels=graphs.in_channels,
        edge_channels=0 if graphs.edge_attr is None else graphs.edge_attr.shape[1],
        graph_channels=0 if graphs.graph_attr is None else graphs.graph_attr.shape[1],
        groups=Range.of(largest),
        colorings=Range.of(partition.log_counts / math.log(10)),
        one_coloring=int((largest <= 1).sum()),
        identified=identified_nodes(graphs),
        confused=int((classes.bincount()[classes] > 1).sum()),
        confused_others=_different(classes, isomorphism_classes(graphs)) if isomorphism else None,
        suggested=suggested_colorings(graphs),
    )


def _different(refined: Tensor, isomorphic: Tensor) -> int:
    """Number of graphs whose class of color refinement has graphs that are not isomorphic."""
    pairs = torch.unique(torch.stack([refined, isomorphic]), dim=1)[0]
    return int((pairs.bincount(minlength=int(refined.max()) + 1)[refined] > 1).sum())
