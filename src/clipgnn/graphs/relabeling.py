"""Graphs with their nodes renumbered at random."""

from dataclasses import replace

import torch

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.pointers import inverse_order


def relabeled(graphs: PackedGraphs, generator: torch.Generator) -> PackedGraphs:
    """Renumber the nodes of each graph by a random permutation of its own.

    Args:
        graphs: the graphs, on the CPU, without colorings.
        generator: source of randomness.
    """
    nodes = graphs.x.shape[0]
    shuffled = torch.randperm(nodes, generator=generator)
    order = shuffled[torch.argsort(graphs.graph_of_node[shuffled], stable=True)]
    number = inverse_order(order)[graphs.global_edge_index]
    first = graphs.node_pointers[graphs.graph_of_edge]
    return replace(graphs, x=graphs.x[order], edge_index=number - first)
