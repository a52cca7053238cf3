"""Triton kernels of GIN: products of rows, and sums over a node and its neighbors.

Rows and tiles are those of `rows.py`. The order of summation is fixed.
"""

import triton.language as tl

from clipgnn.ops.kernels.kernel import helper, kernel
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
def multiply(
    x,
    coefficients,
    weight,
    product,
    partials,
    num_nodes,
    nodes,
    colorings,
    channels,
    tiles,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Normalize, activate and multiply rows."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    inside = (row < rows)[:, None]
    mask = inside & used[None, :]
    offsets = row[:, None] * channels + channel[None, :]
    coefficients += member * NUM_COEFFICIENTS * channels
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    activations = activate(tl.load(x + start + offsets, mask=mask, other=0.0), scale, shift)
    weight += member * channels * channels
    entries = channel[:, None] * channels + channel[None, :]
    matrix = tl.load(weight + entries, mask=used[:, None] & used[None, :], other=0.0)
    result = tl.dot(activations, matrix, input_precision=PRECISION)
    tl.store(product + start + offsets, result, mask=mask)
    count = tl.minimum(rows - tile * ROWS, ROWS).to(tl.float32)
    partials += (member * tiles + tile) * 2 * channels
    store_moments(partials, result, inside, count, channel, channels)


@kernel
def multiply_backward(
    x,
    coefficients,
    weight,
    product,
    grad_product,
    product_coefficients,
    product_gradient,
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
    NORMALIZED: tl.constexpr,
    SUMMED: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradient of `multiply` for x, after its normalization.

    With NORMALIZED, `grad_product` is the gradient after the normalization of the product, and is
    replaced by the one before it. With SUMMED, x was also summed over the nodes of each graph, and
    the gradient of these sums is added.
    """
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    inside = row < rows
    mask = inside[:, None] & used[None, :]
    offsets = row[:, None] * channels + channel[None, :]
    grad_product += start
    if NORMALIZED:
        grad = load_gradient(
            grad_product,
            product + start,
            offsets,
            mask,
            product_coefficients + member * NUM_COEFFICIENTS * channels,
            product_gradient + member * 2 * channels,
            channel,
            channels,
        )
        tl.store(grad_product + offsets, grad, mask=mask)
    else:
        grad = tl.load(grad_product + offsets, mask=mask, other=0.0)
    weight += member * channels * channels
    transposed = channel[None, :] * channels + channel[:, None]
    matrix = tl.load(weight + transposed, mask=used[:, None] & used[None, :], other=0.0)
    grad = tl.dot(grad, matrix, input_precision=PRECISION)
    if SUMMED:
        node = member * nodes + row // colorings
        graph = tl.load(graph_of_node + node, mask=inside, other=0) - member * graphs
        place = graph.to(tl.int32) * colorings + row % colorings
        place = place[:, None] * channels + channel[None, :]
        grad_total += member * graphs * colorings * channels
        grad += tl.load(grad_total + place, mask=mask, other=0.0)
    coefficients += member * NUM_COEFFICIENTS * channels
    mean = load_coefficient(coefficients, MEAN, channel, channels)
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    before = tl.load(x + start + offsets, mask=mask, other=0.0)
    positive = before * scale[None, :] + shift[None, :] > 0.0
    grad = tl.where(mask & positive, grad, 0.0)
    tl.store(grad_x + start + offsets, grad, mask=mask)
    partials += (member * tiles + tile) * 2 * channels
    store_gradient_sums(partials, grad, before - mean[None, :], channel, channels)


@kernel
def sum_products(
    x,
    coefficients,
    grad_product,
    parts,
    num_nodes,
    nodes,
    colorings,
    channels,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradient of `multiply` for the weight, summed over every PARTS-th tile."""
    part, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    start = member * nodes * colorings * channels
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    coefficients += member * NUM_COEFFICIENTS * channels
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    products = tl.zeros((WIDTH, WIDTH), tl.float32)
    for tile in range(part, tl.cdiv(rows, ROWS), PARTS):
        row = tile * ROWS + tl.arange(0, ROWS)
        mask = (row < rows)[:, None] & used[None, :]
        offsets = row[:, None] * channels + channel[None, :]
        grad = tl.load(grad_product + start + offsets, mask=mask, other=0.0)
        before = tl.load(x + start + offsets, mask=mask, other=0.0)
        activations = tl.where(mask, activate(before, scale, shift), 0.0)
        products = tl.dot(tl.trans(activations), grad, products, input_precision=PRECISION)
    parts += (member * PARTS + part) * channels * channels
    entries = channel[:, None] * channels + channel[None, :]
    tl.store(parts + entries, products, mask=used[:, None] & used[None, :])


@helper
def _load_rows(
    x,
    total,
    offsets,
    mask,
    coefficients,
    gradient,
    channel,
    channels,
    BACKWARD: tl.constexpr,
):
    """Rows, or gradients of sums before their normalization."""
    if BACKWARD:
        values = load_gradient(x, total, offsets, mask, coefficients, gradient, channel, channels)
    else:
        values = tl.load(x + offsets, mask=mask, other=0.0)
    return values


@kernel
def sum_neighborhoods(
    x,
    total,
    coefficients,
    gradient,
    begin,
    count,
    first,
    col,
    edge_weight,
    result,
    partials,
    num_nodes,
    nodes,
    colorings,
    channels,
    tiles,
    BACKWARD: tl.constexpr,
    WEIGHTED: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Sum the rows of each node and of its neighbors.

    With BACKWARD, x is the gradient of the sums `total` after their normalization, and the gradient
    before it is summed. Otherwise the moments of the sums are stored.
    """
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    x += start
    total += start
    coefficients += member * NUM_COEFFICIENTS * channels
    gradient += member * 2 * channels
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    inside = row < rows
    own_offsets = row[:, None] * channels + channel[None, :]
    own_mask = inside[:, None] & used[None, :]
    node = member * nodes + row // colorings
    coloring = row % colorings
    entry = tl.load(begin + node, mask=inside, other=0)
    degree = tl.load(count + node, mask=inside, other=0).to(tl.int32)
    # First node of the graph, within the member.
    offset = (tl.load(first + node, mask=inside, other=0) - member * nodes).to(tl.int32)
    sums = _load_rows(
        x, total, own_offsets, own_mask, coefficients, gradient, channel, channels, BACKWARD
    )
    for index in range(0, tl.max(degree, 0)):
        present = index < degree
        neighbor = offset + tl.load(col + entry + index, mask=present, other=0).to(tl.int32)
        offsets = (neighbor * colorings + coloring)[:, None] * channels + channel[None, :]
        mask = present[:, None] & used[None, :]
        values = _load_rows(
            x, total, offsets, mask, coefficients, gradient, channel, channels, BACKWARD
        )
        if WEIGHTED:
            factor = tl.load(edge_weight + entry + index, mask=present, other=0.0)
            values = values * factor[:, None]
        sums += values
    tl.store(result + start + own_offsets, sums, mask=own_mask)
    if not BACKWARD:
        size = tl.minimum(rows - tile * ROWS, ROWS).to(tl.float32)
        partials += (member * tiles + tile) * 2 * channels
        store_moments(partials, sums, inside[:, None], size, channel, channels)
