"""Characteristics of data sets: the paper's table, and the sizes that coloring depends on."""

from dataclasses import dataclass

import torch

from clipgnn.datasets.isomorphism import refined_classes
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.numbering import number_rows


@dataclass(frozen=True)
class Characteristics:
    """Characteristics of a data set.

    Attributes:
        name: name of the data set.
        num_graphs: number of graphs.
        num_classes: number of classes; None for regression.
        mean_nodes: mean number of nodes of a graph.
        mean_degree: mean number of neighbors over all nodes.
        max_nodes: number of nodes of the largest graph.
        num_labels: number of node labels, or of channels of the node attributes.
        largest_group: largest number of nodes of one graph with identical attributes, which is the
            number of colors CLIP needs.
        num_distinguishable: number of graphs that color refinement (1-WL) distinguishes by node
            attributes and edges. Message passing, and thus 0-CLIP, distinguishes at most these.
    """

    name: str
    num_graphs: int
    num_classes: int | None
    mean_nodes: float
    mean_degree: float
    max_nodes: int
    num_labels: int
    largest_group: int
    num_distinguishable: int


def characteristics(graphs: PackedGraphs) -> Characteristics:
    """Compute the characteristics of a data set."""
    nodes = graphs.node_pointers.diff()
    num_nodes, num_edges = graphs.x.shape[0], graphs.edge_index.shape[1]
    labels = number_rows(graphs.x)
    groups = torch.unique(graphs.graph_of_node * num_nodes + labels, return_counts=True)[1]
    return Characteristics(
        name=graphs.name,
        num_graphs=len(graphs),
        num_classes=None if graphs.targets.is_floating_point() else graphs.num_classes,
        mean_nodes=num_nodes / len(graphs),
        mean_degree=num_edges / num_nodes,
        max_nodes=int(nodes.max()),
        num_labels=graphs.in_channels,
        largest_group=int(groups.max()),
        num_distinguishable=int(refined_classes(graphs)[0].max()) + 1,
    )
