"""Launches of the sums over the nodes of each graph."""

import torch
import triton
from torch import Tensor

from clipgnn.ops.kernels import graphs as kernels
from clipgnn.ops.kernels.launch.layout import ROWS, Layout

GRAPH_ROWS = 256
"""Rows of a graph that are summed at once."""


def sum_graphs(
    layout: Layout, own: Tensor, coefficients: Tensor, begin: Tensor, count: Tensor
) -> Tensor:
    """Normalize, activate and sum the rows of each graph."""
    graphs = begin.numel() // layout.members
    total = layout.new(graphs, layout.colorings, layout.channels)
    block = min(GRAPH_ROWS, triton.next_power_of_2(layout.colorings))
    grid = (layout.members * graphs, triton.cdiv(layout.colorings, block))
    kernels.sum_graphs[grid](
        own,
        coefficients,
        begin,
        count,
        total,
        graphs,
        layout.colorings,
        layout.channels,
        NODES=GRAPH_ROWS // block,
        COLORINGS=block,
        WIDTH=layout.width,
        num_warps=8,
    )
    return total


def sum_graphs_backward(
    layout: Layout,
    own: Tensor,
    coefficients: Tensor,
    graph_of_node: Tensor,
    grad_total: Tensor,
    sums: Tensor,
) -> Tensor:
    """Gradient of the rows after their normalization."""
    grad_own = torch.empty_like(own)
    kernels.sum_graphs_backward[layout.grid](
        own,
        coefficients,
        graph_of_node,
        grad_total,
        grad_own,
        sums,
        grad_total.shape[1],
        *layout.sizes,
        layout.tiles,
        ROWS=ROWS,
        WIDTH=layout.width,
    )
    return grad_own
