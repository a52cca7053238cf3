"""Triton kernels for sums over the nodes of each graph, forward and backward.

Rows and tiles are those of `rows.py`. The order of summation is fixed.
"""

import triton.language as tl

from clipgnn.ops.kernels.kernel import kernel
from clipgnn.ops.kernels.norm import (
    MEAN,
    NUM_COEFFICIENTS,
    SCALE,
    SHIFT,
    load_coefficient,
    store_gradient_sums,
)


@kernel
def sum_graphs(
    x,
    coefficients,
    begin,
    count,
    total,
    graphs,
    colorings,
    channels,
    NODES: tl.constexpr,
    COLORINGS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Normalize, activate and sum the rows of each graph, by coloring."""
    graph = tl.program_id(0).to(tl.int64)
    member = graph // graphs
    channel = tl.arange(0, WIDTH)
    coloring = tl.program_id(1) * COLORINGS + tl.arange(0, COLORINGS)
    used = (channel < channels)[None, :] & (coloring < colorings)[:, None]
    coefficients += member * NUM_COEFFICIENTS * channels
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    x += tl.load(begin + graph) * colorings * channels
    size = tl.load(count + graph).to(tl.int32)
    sums = tl.zeros((NODES, COLORINGS, WIDTH), tl.float32)
    for first in range(0, size, NODES):
        node = first + tl.arange(0, NODES)
        row = node[:, None] * colorings + coloring[None, :]
        offsets = row[:, :, None] * channels + channel[None, None, :]
        mask = (node < size)[:, None, None] & used[None, :, :]
        values = tl.load(x + offsets, mask=mask, other=0.0)
        values = values * scale[None, None, :] + shift[None, None, :]
        values = tl.maximum(values, 0.0, propagate_nan=tl.PropagateNan.ALL)
        sums += tl.where(mask, values, 0.0)
    result = tl.sum(sums, 0)
    total += graph * colorings * channels
    offsets = coloring[:, None] * channels + channel[None, :]
    tl.store(total + offsets, result, mask=used)


@kernel
def sum_graphs_backward(
    x,
    coefficients,
    graph_of_node,
    grad_total,
    grad_x,
    partials,
    graphs,
    num_nodes,
    nodes,
    colorings,
    channels,
    tiles,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Gradient of `sum_graphs`, after the normalization of the rows."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    x += start
    grad_x += start
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    inside = row < rows
    mask = inside[:, None] & (channel < channels)[None, :]
    node = member * nodes + row // colorings
    graph = tl.load(graph_of_node + node, mask=inside, other=0) - member * graphs
    grad_total += member * graphs * colorings * channels
    coefficients += member * NUM_COEFFICIENTS * channels
    mean = load_coefficient(coefficients, MEAN, channel, channels)
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    offsets = row[:, None] * channels + channel[None, :]
    before = tl.load(x + offsets, mask=mask, other=0.0)
    place = graph.to(tl.int32) * colorings + row % colorings
    place = place[:, None] * channels + channel[None, :]
    grad = tl.load(grad_total + place, mask=mask, other=0.0)
    positive = before * scale[None, :] + shift[None, :] > 0.0
    grad = tl.where(mask & positive, grad, 0.0)
    tl.store(grad_x + offsets, grad, mask=mask)
    partials += (member * tiles + tile) * 2 * channels
    store_gradient_sums(partials, grad, before - mean[None, :], channel, channels)
