"""The number of colorings that a data set needs, by how many nodes message passing identifies."""

import torch

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.numbering import number_rows
from clipgnn.ops.refinement import refine_colors

MAX_GRAPHS = 1000
"""Number of graphs whose nodes are compared in a larger data set."""

IDENTIFIED = 0.7
"""Share of identified nodes from which one coloring is enough. Measured in docs/colorings.md."""

MANY = 16
"""Number of colorings where fewer nodes are identified."""


def identified_nodes(graphs: PackedGraphs) -> float:
    """Share of nodes that message passing can identify in their graph.

    It is the number of colors of color refinement (1-WL) in each graph, relative to its number of
    nodes. Edge weights and attributes are not considered.

    Example:
        >>> import networkx
        >>> round(identified_nodes(PackedGraphs.from_networkx([networkx.cycle_graph(10)])), 3)
        0.1
    """
    colors = refine_colors(number_rows(graphs.x), graphs.global_edge_index)
    distinct = torch.unique(torch.stack([graphs.graph_of_node, colors]), dim=1)
    return distinct.shape[1] / colors.numel()


def suggested_colorings(graphs: PackedGraphs) -> int:
    """Number of colorings that is sensible for a data set.

    One if message passing identifies 70 % of the nodes (`identified_nodes`), and 16 if it
    identifies fewer.

    Example:
        >>> import networkx
        >>> suggested_colorings(PackedGraphs.from_networkx([networkx.cycle_graph(10)]))
        16
    """
    if len(graphs) > MAX_GRAPHS:
        graphs = graphs[torch.linspace(0, len(graphs) - 1, MAX_GRAPHS).long()]
    return 1 if identified_nodes(graphs) >= IDENTIFIED else MANY
