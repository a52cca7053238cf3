"""Triton kernels for products of rows, forward and backward.

A row is a node with one of its colorings. Programs compute tiles of the rows of a member; rows of
padding, at the end of each member, are neither read nor written.
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


@kernel
def multiply_rows(
    x,
    coefficients,
    merged,
    message,
    own,
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
    """Normalize, activate and multiply rows, for φ (`message`) and for ψ (`own`)."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    x += start
    message += start
    own += start
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    inside = (row < rows)[:, None]
    mask = inside & used[None, :]
    offsets = row[:, None] * channels + channel[None, :]
    coefficients += member * NUM_COEFFICIENTS * channels
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    activations = tl.load(x + offsets, mask=mask, other=0.0)
    activations = activate(activations, scale, shift)
    weight = merged + member * (3 * channels * channels + 2 * channels)
    entries = channel[:, None] * 2 * channels + channel[None, :]
    square = used[:, None] & used[None, :]
    bias = weight + 3 * channels * channels
    product = tl.dot(
        activations, tl.load(weight + entries, mask=square, other=0.0), input_precision=PRECISION
    )
    product += tl.load(bias + channel, mask=used, other=0.0)[None, :]
    tl.store(message + offsets, product, mask=mask)
    count = tl.minimum(rows - tile * ROWS, ROWS).to(tl.float32)
    partials += (member * tiles + tile) * 2 * channels
    store_moments(partials, product, inside, count, channel, channels)
    product = tl.dot(
        activations,
        tl.load(weight + channels + entries, mask=square, other=0.0),
        input_precision=PRECISION,
    )
    product += tl.load(bias + channels + channel, mask=used, other=0.0)[None, :]
    tl.store(own + offsets, product, mask=mask)


@helper
def load_gradient(dy, x, offsets, mask, coefficients, gradient, channel, channels):
    """Gradient of rows before a normalization, from the gradient after it (`dy`)."""
    mean = load_coefficient(coefficients, MEAN, channel, channels)
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    used = channel < channels
    constant = tl.load(gradient + channel, mask=used, other=0.0)
    linear = tl.load(gradient + channels + channel, mask=used, other=0.0)
    after = tl.load(dy + offsets, mask=mask, other=0.0)
    centered = tl.load(x + offsets, mask=mask, other=0.0) - mean[None, :]
    before = scale[None, :] * after + constant[None, :] + linear[None, :] * centered
    return tl.where(mask, before, 0.0)


@kernel
def multiply_rows_backward(
    x,
    coefficients,
    merged,
    message,
    grad_message,
    message_coefficients,
    message_gradient,
    grad_own,
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
    """Gradient of `multiply_rows` for x, after its normalization; it replaces `grad_own`."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    x += start
    message += start
    grad_message += start
    grad_own += start
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    mask = (row < rows)[:, None] & used[None, :]
    offsets = row[:, None] * channels + channel[None, :]
    weight = merged + member * (3 * channels * channels + 2 * channels)
    transposed = channel[None, :] * 2 * channels + channel[:, None]
    square = used[:, None] & used[None, :]
    own = tl.load(grad_own + offsets, mask=mask, other=0.0)
    to_own = tl.load(weight + channels + transposed, mask=square, other=0.0)
    grad = tl.dot(own, to_own, input_precision=PRECISION)
    sent = load_gradient(
        grad_message,
        message,
        offsets,
        mask,
        message_coefficients + member * NUM_COEFFICIENTS * channels,
        message_gradient + member * 2 * channels,
        channel,
        channels,
    )
    to_message = tl.load(weight + transposed, mask=square, other=0.0)
    grad = tl.dot(sent, to_message, grad, input_precision=PRECISION)
    coefficients += member * NUM_COEFFICIENTS * channels
    mean = load_coefficient(coefficients, MEAN, channel, channels)
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    before = tl.load(x + offsets, mask=mask, other=0.0)
    positive = before * scale[None, :] + shift[None, :] > 0.0
    grad = tl.where(mask & positive, grad, 0.0)
    tl.store(grad_own + offsets, grad, mask=mask)
    partials += (member * tiles + tile) * 2 * channels
    store_gradient_sums(partials, grad, before - mean[None, :], channel, channels)


@kernel
def sum_products(
    x,
    coefficients,
    total,
    message,
    grad_message,
    message_coefficients,
    message_gradient,
    grad_own,
    parts,
    num_nodes,
    nodes,
    colorings,
    channels,
    FIRST: tl.constexpr,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradients of the merged weights of a layer, summed over every PARTS-th tile.

    Programs compute the gradient of the map of the sums, of φ, or of ψ; in the first layer only of
    the map of the sums.
    """
    part, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    kind = tl.program_id(2)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    start = member * nodes * colorings * channels
    x += start
    total += start
    message += start
    grad_message += start
    grad_own += start
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    square = used[:, None] & used[None, :]
    parts += (member * PARTS + part) * 3 * channels * channels
    products = tl.zeros((WIDTH, WIDTH), tl.float32)
    if FIRST or kind == 0:
        for tile in range(part, tl.cdiv(rows, ROWS), PARTS):
            row = tile * ROWS + tl.arange(0, ROWS)
            mask = (row < rows)[:, None] & used[None, :]
            offsets = row[:, None] * channels + channel[None, :]
            received = tl.load(total + offsets, mask=mask, other=0.0)
            grad = tl.load(grad_own + offsets, mask=mask, other=0.0)
            products = tl.dot(tl.trans(received), grad, products, input_precision=PRECISION)
        entries = channel[:, None] * channels + channel[None, :]
        tl.store(parts + 2 * channels * channels + entries, products, mask=square)
    else:
        coefficients += member * NUM_COEFFICIENTS * channels
        message_coefficients += member * NUM_COEFFICIENTS * channels
        message_gradient += member * 2 * channels
        scale = load_coefficient(coefficients, SCALE, channel, channels)
        shift = load_coefficient(coefficients, SHIFT, channel, channels)
        for tile in range(part, tl.cdiv(rows, ROWS), PARTS):
            row = tile * ROWS + tl.arange(0, ROWS)
            mask = (row < rows)[:, None] & used[None, :]
            offsets = row[:, None] * channels + channel[None, :]
            if kind == 1:
                grad = load_gradient(
                    grad_message,
                    message,
                    offsets,
                    mask,
                    message_coefficients,
                    message_gradient,
                    channel,
                    channels,
                )
            else:
                grad = tl.load(grad_own + offsets, mask=mask, other=0.0)
            before = tl.load(x + offsets, mask=mask, other=0.0)
            activations = tl.where(mask, activate(before, scale, shift), 0.0)
            products = tl.dot(tl.trans(activations), grad, products, input_precision=PRECISION)
        side = (kind - 1) * channels
        entries = channel[:, None] * 2 * channels + channel[None, :]
        tl.store(parts + side + entries, products, mask=square)
