"""Triton kernels for the maximum over colorings and the readout, forward and backward."""

import triton.language as tl

from clipgnn.ops.kernels.hashing import hashed, mix
from clipgnn.ops.kernels.kernel import helper, kernel
from clipgnn.ops.kernels.norm import (
    FACTOR,
    MEAN,
    NUM_COEFFICIENTS,
    SCALE,
    SHIFT,
    SLOPE,
    activate,
    load_coefficient,
    store_coefficients,
    track,
)


@helper
def _square(matrix, rows_used, columns_used, row, column, stride):
    return tl.load(
        matrix + row[:, None] * stride + column[None, :],
        mask=rows_used[:, None] & columns_used[None, :],
        other=0.0,
    )


@kernel
def max_over_colorings(
    total,
    sizes,
    weight,
    bias,
    pooled,
    winners,
    graphs,
    colorings,
    channels,
    GRAPHS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Apply an affine map to the sums of each graph and coloring, and take the maximum."""
    member = tl.program_id(1).to(tl.int64)
    graph = tl.program_id(0) * GRAPHS + tl.arange(0, GRAPHS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    mask = (graph < graphs)[:, None] & used[None, :]
    matrix = _square(weight + member * channels * channels, used, used, channel, channel, channels)
    constant = tl.load(bias + member * channels + channel, mask=used, other=0.0)
    size = tl.load(sizes + member * graphs + graph, mask=graph < graphs, other=0).to(tl.float32)
    added = size[:, None] * constant[None, :]
    best = tl.full((GRAPHS, WIDTH), float("-inf"), tl.float32)
    winner = tl.zeros((GRAPHS, WIDTH), tl.int32)
    for coloring in range(0, colorings):
        row = (member * graphs + graph) * colorings + coloring
        own = tl.load(total + row[:, None] * channels + channel[None, :], mask=mask, other=0.0)
        mapped = tl.dot(own, matrix, input_precision=PRECISION) + added
        better = (mapped > best) | (mapped != mapped)  # NaN stays NaN
        best = tl.where(better, mapped, best)
        winner = tl.where(better, coloring, winner)
    offsets = (member * graphs + graph)[:, None] * channels + channel[None, :]
    tl.store(pooled + offsets, best, mask=mask)
    tl.store(winners + offsets, winner, mask=mask)


@kernel
def max_over_colorings_backward(
    total,
    sizes,
    weight,
    winners,
    grad_pooled,
    grad_total,
    parts,
    graphs,
    colorings,
    channels,
    GRAPHS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradients of `max_over_colorings`, with partial sums for weight and bias."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    graph = tile * GRAPHS + tl.arange(0, GRAPHS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    square = used[:, None] & used[None, :]
    mask = (graph < graphs)[:, None] & used[None, :]
    weight += member * channels * channels
    transposed = tl.load(
        weight + channel[None, :] * channels + channel[:, None], mask=square, other=0.0
    )
    offsets = (member * graphs + graph)[:, None] * channels + channel[None, :]
    grad = tl.load(grad_pooled + offsets, mask=mask, other=0.0)
    winner = tl.load(winners + offsets, mask=mask, other=-1)
    size = tl.load(sizes + member * graphs + graph, mask=graph < graphs, other=0).to(tl.float32)
    products = tl.zeros((WIDTH, WIDTH), tl.float32)
    for coloring in range(0, colorings):
        own = tl.where(winner == coloring, grad, 0.0)
        row = (member * graphs + graph) * colorings + coloring
        places = row[:, None] * channels + channel[None, :]
        values = tl.load(total + places, mask=mask, other=0.0)
        products = tl.dot(tl.trans(values), own, products, input_precision=PRECISION)
        of_total = tl.dot(own, transposed, input_precision=PRECISION)
        tl.store(grad_total + places, of_total, mask=mask)
    parts += (member * tl.num_programs(0) + tile) * (channels * channels + channels)
    entries = channel[:, None] * channels + channel[None, :]
    tl.store(parts + entries, products, mask=square)
    of_bias = tl.sum(grad * size[:, None], 0)
    tl.store(parts + channels * channels + channel, of_bias, mask=used)


@helper
def _kept(seeds, counter, member, graph, channel, channels, threshold):
    """Which entries dropout keeps, as in `nn.dropout`."""
    start = mix(tl.load(seeds + member) + mix(tl.load(counter) + 1))
    column = graph[:, None].to(tl.int64) * channels + channel[None, :]
    return (hashed(start, 0, column) & 0xFFFFFFFF) >= threshold


@kernel
def readout(
    pooled,
    is_graph,
    first_weight,
    first_bias,
    norm_weight,
    norm_bias,
    running_mean,
    running_var,
    running_weight,
    second_weight,
    second_bias,
    hidden,
    coefficients,
    outputs,
    seeds,
    counter,
    threshold,
    keep_scale,
    graphs,
    channels,
    out_channels,
    epsilon,
    unit,
    ramp,
    momentum,
    TRAINING: tl.constexpr,
    DROPOUT: tl.constexpr,
    GRAPHS: tl.constexpr,
    WIDTH: tl.constexpr,
    OUT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Affine map, batch normalization over the graphs of a member, activation, affine map.

    In training, one program computes all graphs of a member.
    """
    member = tl.program_id(0).to(tl.int64)
    graph = tl.program_id(1) * GRAPHS + tl.arange(0, GRAPHS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    real = tl.load(is_graph + member * graphs + graph, mask=graph < graphs, other=0) != 0
    mask = (graph < graphs)[:, None] & used[None, :]
    offsets = (member * graphs + graph)[:, None] * channels + channel[None, :]
    own = member * channels + channel
    x = tl.load(pooled + offsets, mask=mask, other=0.0)
    matrix = _square(
        first_weight + member * channels * channels, used, used, channel, channel, channels
    )
    before = tl.dot(x, matrix, input_precision=PRECISION)
    before += tl.load(first_bias + own, mask=used, other=0.0)[None, :]
    inside = real[:, None] & used[None, :]
    before = tl.where(inside, before, 0.0)
    coefficients += member * NUM_COEFFICIENTS * channels
    if TRAINING:
        tl.store(hidden + offsets, before, mask=mask)
        rows = tl.sum(real.to(tl.float32), 0)
        count = tl.maximum(rows, 1.0)
        mean = tl.sum(before, 0) / count
        deviation = tl.where(inside, before - mean[None, :], 0.0)
        squares = tl.sum(deviation * deviation, 0)
        variance = squares / count
        share = tl.where(rows > 1.0, momentum, 0.0)
        track(running_mean + own, mean, share, used)
        track(running_var + own, squares / tl.maximum(count - 1.0, 1.0), share, used)
        average = tl.load(running_weight + member)
        tl.store(running_weight + member, average + share * (1.0 - average))
    else:
        weight = tl.load(running_weight + member)
        seen = weight > 0.0
        weight = tl.where(seen, weight, 1.0)
        mean = tl.load(running_mean + own, mask=used, other=0.0) / weight
        variance = tl.load(running_var + own, mask=used, other=0.0) / weight
        variance = tl.where(seen, variance, 1.0)
    scale, shift = store_coefficients(
        coefficients,
        mean,
        variance,
        tl.load(norm_weight + own, mask=used, other=0.0),
        tl.load(norm_bias + own, mask=used, other=0.0),
        channel,
        channels,
        epsilon,
        unit,
        ramp,
    )
    activations = tl.where(inside, activate(before, scale, shift), 0.0)
    if DROPOUT:
        kept = _kept(seeds, counter, member, graph, channel, channels, threshold)
        activations = tl.where(kept, activations * keep_scale, 0.0)
    output = tl.arange(0, OUT)
    wanted = output < out_channels
    second = _square(
        second_weight + member * channels * out_channels,
        used,
        wanted,
        channel,
        output,
        out_channels,
    )
    result = tl.dot(activations, second, input_precision=PRECISION)
    result += tl.load(second_bias + member * out_channels + output, mask=wanted, other=0.0)[None, :]
    places = (member * graphs + graph)[:, None] * out_channels + output[None, :]
    tl.store(outputs + places, result, mask=(graph < graphs)[:, None] & wanted[None, :])


@kernel
def readout_backward(
    pooled,
    is_graph,
    first_weight,
    second_weight,
    hidden,
    coefficients,
    grad_outputs,
    grad_pooled,
    grad_first_weight,
    grad_norm_weight,
    grad_norm_bias,
    grad_second_weight,
    grad_second_bias,
    seeds,
    counter,
    threshold,
    keep_scale,
    graphs,
    channels,
    out_channels,
    DROPOUT: tl.constexpr,
    GRAPHS: tl.constexpr,
    WIDTH: tl.constexpr,
    OUT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradients of `readout` in training."""
    member = tl.program_id(0).to(tl.int64)
    graph = tl.arange(0, GRAPHS)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    real = tl.load(is_graph + member * graphs + graph, mask=graph < graphs, other=0) != 0
    mask = (graph < graphs)[:, None] & used[None, :]
    inside = real[:, None] & used[None, :]
    offsets = (member * graphs + graph)[:, None] * channels + channel[None, :]
    own = member * channels + channel
    coefficients += member * NUM_COEFFICIENTS * channels
    mean = load_coefficient(coefficients, MEAN, channel, channels)
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    shift = load_coefficient(coefficients, SHIFT, channel, channels)
    slope = load_coefficient(coefficients, SLOPE, channel, channels)
    factor = load_coefficient(coefficients, FACTOR, channel, channels)
    before = tl.load(hidden + offsets, mask=mask, other=0.0)
    normalized = before * scale[None, :] + shift[None, :]
    activations = tl.where(inside, tl.maximum(normalized, 0.0), 0.0)
    output = tl.arange(0, OUT)
    wanted = output < out_channels
    places = (member * graphs + graph)[:, None] * out_channels + output[None, :]
    grad = tl.load(
        grad_outputs + places, mask=(graph < graphs)[:, None] & wanted[None, :], other=0.0
    )
    factors = tl.where(inside, 1.0, 0.0)
    if DROPOUT:
        kept = _kept(seeds, counter, member, graph, channel, channels, threshold)
        factors = tl.where(kept, factors * keep_scale, 0.0)
    of_second = tl.dot(tl.trans(activations * factors), grad, input_precision=PRECISION)
    entries = channel[:, None] * out_channels + output[None, :]
    tl.store(
        grad_second_weight + member * channels * out_channels + entries,
        of_second,
        mask=used[:, None] & wanted[None, :],
    )
    tl.store(grad_second_bias + member * out_channels + output, tl.sum(grad, 0), mask=wanted)
    transposed = tl.load(
        second_weight
        + member * channels * out_channels
        + channel[None, :] * out_channels
        + output[:, None],
        mask=wanted[:, None] & used[None, :],
        other=0.0,
    )
    dy = tl.dot(grad, transposed, input_precision=PRECISION) * factors
    dy = tl.where(normalized > 0.0, dy, 0.0)
    centered = tl.where(inside, before - mean[None, :], 0.0)
    total = tl.sum(dy, 0)
    products = tl.sum(dy * centered, 0)
    tl.store(grad_norm_weight + own, factor * products, mask=used)
    tl.store(grad_norm_bias + own, total, mask=used)
    count = tl.maximum(tl.sum(real.to(tl.float32), 0), 1.0)
    constant = -scale * total / count
    linear = 2.0 * slope * products / count
    dx = scale[None, :] * dy + constant[None, :] + linear[None, :] * centered
    dx = tl.where(inside, dx, 0.0)
    x = tl.load(pooled + offsets, mask=mask, other=0.0)
    of_first = tl.dot(tl.trans(x), dx, input_precision=PRECISION)
    square = used[:, None] & used[None, :]
    entries = member * channels * channels + channel[:, None] * channels + channel[None, :]
    tl.store(grad_first_weight + entries, of_first, mask=square)
    transposed = tl.load(
        first_weight
        + member * channels * channels
        + channel[None, :] * channels
        + channel[:, None],
        mask=square,
        other=0.0,
    )
    tl.store(grad_pooled + offsets, tl.dot(dx, transposed, input_precision=PRECISION), mask=mask)
