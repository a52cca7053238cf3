"""Graphs with their nodes renumbered at random."""

from dataclasses import replace

from jaxtyping import Int
from torch import Tensor

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.numbering import ranks_in_groups
from clipgnn.ops.pointers import inverse_order


def relabeled(graphs: PackedGraphs, random: Int[Tensor, "nodes"]) -> PackedGraphs:
    """Renumber the nodes of each graph in the order of random numbers.

    Args:
        graphs: the graphs, without colorings.
        random: 64 random bits of each node.
    """
    batch = graphs.graph_of_node
    first = graphs.node_pointers[batch]
    number = ranks_in_groups(random[None], batch, first)[0] + first
    edges = number[graphs.global_edge_index] - graphs.node_pointers[graphs.graph_of_edge]
    return replace(graphs, x=graphs.x[inverse_order(number)], edge_index=edges)
