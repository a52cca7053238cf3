"""Triton kernels for sums over neighbors, forward and backward.

Rows and tiles are those of `rows.py`. The order of summation is fixed.
"""

import triton.language as tl

from clipgnn.ops.kernels.kernel import kernel
from clipgnn.ops.kernels.norm import (
    MEAN,
    NUM_COEFFICIENTS,
    SCALE,
    SHIFT,
    activate,
    load_coefficient,
    store_gradient_sums,
    store_moments,
)
from clipgnn.ops.kernels.rows import load_gradient


@kernel
def sum_neighbors(
    message,
    coefficients,
    begin,
    count,
    first,
    col,
    edge_weight,
    own,
    merged,
    total,
    partials,
    num_nodes,
    nodes,
    colorings,
    channels,
    tiles,
    WEIGHTED: tl.constexpr,
    KEEP: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Normalize, activate and sum messages, and add their product with a weight to `own`."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    message += start
    own += start
    total += start
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    inside = row < rows
    node = member * nodes + row // colorings
    coloring = row % colorings
    coefficients += member * NUM_COEFFICIENTS * channels
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    entry = tl.load(begin + node, mask=inside, other=0)
    degree = tl.load(count + node, mask=inside, other=0).to(tl.int32)
    # First node of the graph, within the member.
    offset = (tl.load(first + node, mask=inside, other=0) - member * nodes).to(tl.int32)
    received = tl.zeros((ROWS, WIDTH), tl.float32)
    for index in range(0, tl.max(degree, 0)):
        present = index < degree
        neighbor = offset + tl.load(col + entry + index, mask=present, other=0).to(tl.int32)
        offsets = (neighbor * colorings + coloring)[:, None] * channels + channel[None, :]
        mask = present[:, None] & used[None, :]
        values = tl.load(message + offsets, mask=mask, other=0.0)
        values = activate(values, scale, shift)
        if WEIGHTED:
            factor = tl.load(edge_weight + entry + index, mask=present, other=0.0)
            values = values * factor[:, None]
        received += tl.where(mask, values, 0.0)
    mask = inside[:, None] & used[None, :]
    offsets = row[:, None] * channels + channel[None, :]
    if KEEP:
        tl.store(total + offsets, received, mask=mask)
    square = used[:, None] & used[None, :]
    weight = merged + member * (3 * channels * channels + 2 * channels) + 2 * channels * channels
    entries = channel[:, None] * channels + channel[None, :]
    matrix = tl.load(weight + entries, mask=square, other=0.0)
    result = tl.load(own + offsets, mask=mask, other=0.0)
    result = tl.dot(received, matrix, result, input_precision=PRECISION)
    tl.store(own + offsets, result, mask=mask)
    size = tl.minimum(rows - tile * ROWS, ROWS).to(tl.float32)
    partials += (member * tiles + tile) * 2 * channels
    store_moments(partials, result, inside[:, None], size, channel, channels)


@kernel
def sum_neighbors_backward(
    own,
    grad_own,
    coefficients,
    gradient,
    merged,
    grad_total,
    num_nodes,
    nodes,
    colorings,
    channels,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradient of the product in `sum_neighbors` for the sums.

    `grad_own` is the gradient after the normalization, and is replaced by the one before it.
    """
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    own += start
    grad_own += start
    grad_total += start
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    mask = (row < rows)[:, None] & used[None, :]
    offsets = row[:, None] * channels + channel[None, :]
    coefficients += member * NUM_COEFFICIENTS * channels
    gradient += member * 2 * channels
    grad = load_gradient(grad_own, own, offsets, mask, coefficients, gradient, channel, channels)
    tl.store(grad_own + offsets, grad, mask=mask)
    weight = merged + member * (3 * channels * channels + 2 * channels) + 2 * channels * channels
    square = used[:, None] & used[None, :]
    transposed = tl.load(
        weight + channel[None, :] * channels + channel[:, None], mask=square, other=0.0
    )
    grad = tl.dot(grad, transposed, input_precision=PRECISION)
    tl.store(grad_total + offsets, grad, mask=mask)


@kernel
def send_to_neighbors(
    message,
    coefficients,
    begin,
    count,
    first,
    col,
    edge_weight,
    grad_total,
    grad_message,
    partials,
    num_nodes,
    nodes,
    colorings,
    channels,
    tiles,
    WEIGHTED: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Gradient of the sum in `sum_neighbors`, after the normalization of the messages."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    message += start
    grad_total += start
    grad_message += start
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    inside = row < rows
    node = member * nodes + row // colorings
    coloring = row % colorings
    coefficients += member * NUM_COEFFICIENTS * channels
    mean = load_coefficient(coefficients, MEAN, channel, channels)
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    entry = tl.load(begin + node, mask=inside, other=0)
    degree = tl.load(count + node, mask=inside, other=0).to(tl.int32)
    # First node of the graph, within the member.
    offset = (tl.load(first + node, mask=inside, other=0) - member * nodes).to(tl.int32)
    grad = tl.zeros((ROWS, WIDTH), tl.float32)
    for index in range(0, tl.max(degree, 0)):
        present = index < degree
        neighbor = offset + tl.load(col + entry + index, mask=present, other=0).to(tl.int32)
        offsets = (neighbor * colorings + coloring)[:, None] * channels + channel[None, :]
        mask = present[:, None] & used[None, :]
        values = tl.load(grad_total + offsets, mask=mask, other=0.0)
        if WEIGHTED:
            factor = tl.load(edge_weight + entry + index, mask=present, other=0.0)
            values = values * factor[:, None]
        grad += values
    mask = inside[:, None] & used[None, :]
    offsets = row[:, None] * channels + channel[None, :]
    before = tl.load(message + offsets, mask=mask, other=0.0)
    positive = before * scale[None, :] + shift[None, :] > 0.0
    grad = tl.where(mask & positive, grad, 0.0)
    tl.store(grad_message + offsets, grad, mask=mask)
    partials += (member * tiles + tile) * 2 * channels
    store_gradient_sums(partials, grad, before - mean[None, :], channel, channels)
