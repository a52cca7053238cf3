"""Triton kernels of batch normalization: coefficients from sums that other kernels have stored.

A kernel that computes rows before a normalization stores, for each tile of rows, their mean and the
sum of their squared deviations. `train_coefficients` combines the tiles, in a fixed order. Kernels
that read the rows normalize them with the coefficients: `x * scale + shift`.
"""

import triton.language as tl

from clipgnn.ops.kernels.kernel import helper, kernel

MEAN, SCALE, SHIFT, SLOPE, FACTOR = (tl.constexpr(index) for index in range(5))
NUM_COEFFICIENTS = tl.constexpr(5)
"""Rows of the coefficients: mean, scale, shift, derivative of the scale by the variance, and scale
divided by the weight."""


@helper
def store_moments(partials, y, inside, count, channel, channels):
    """Store mean and sum of squared deviations of the rows of a tile."""
    mean = tl.sum(tl.where(inside, y, 0.0), 0) / count
    deviation = tl.where(inside, y - mean[None, :], 0.0)
    used = channel < channels
    tl.store(partials + channel, mean, mask=used)
    tl.store(partials + channels + channel, tl.sum(deviation * deviation, 0), mask=used)


@helper
def store_gradient_sums(partials, dy, centered, channel, channels):
    """Store the sums of the gradients of a tile, and of their products with centered rows."""
    used = channel < channels
    tl.store(partials + channel, tl.sum(dy, 0), mask=used)
    tl.store(partials + channels + channel, tl.sum(dy * centered, 0), mask=used)


@helper
def activate(x, scale, shift):
    """Normalize and activate rows. NaN stays NaN, so that a member that diverged is found."""
    normalized = x * scale[None, :] + shift[None, :]
    return tl.maximum(normalized, 0.0, propagate_nan=tl.PropagateNan.ALL)


@helper
def load_coefficient(coefficients, index: tl.constexpr, channel, channels):
    """Load one row of the coefficients of a member; 0 for unused channels."""
    return tl.load(coefficients + index * channels + channel, mask=channel < channels, other=0.0)


@helper
def store_coefficients(
    coefficients, mean, variance, weight, bias, channel, channels, epsilon, unit, ramp
):
    """Store the coefficients of a member; return scale and shift."""
    used = channel < channels
    rounding = unit * tl.maximum(tl.abs(mean), 1.0)
    squared = rounding * rounding
    raw = (variance / squared - 1.0) / (ramp - 1.0)
    varying = tl.minimum(tl.maximum(raw, 0.0), 1.0)
    inverse = 1.0 / tl.sqrt(variance + epsilon)
    factor = inverse * varying
    scale = weight * factor
    on_ramp = (raw > 0.0) & (raw < 1.0)
    slope = -0.5 * inverse * inverse * factor
    slope += tl.where(on_ramp, inverse / ((ramp - 1.0) * squared), 0.0)
    tl.store(coefficients + MEAN * channels + channel, mean, mask=used)
    tl.store(coefficients + SCALE * channels + channel, scale, mask=used)
    tl.store(coefficients + SHIFT * channels + channel, bias - mean * scale, mask=used)
    tl.store(coefficients + SLOPE * channels + channel, weight * slope, mask=used)
    tl.store(coefficients + FACTOR * channels + channel, factor, mask=used)
    return scale, bias - mean * scale


@kernel
def train_coefficients(
    partials,
    coefficients,
    weight,
    bias,
    running_mean,
    running_var,
    running_weight,
    num_nodes,
    colorings,
    channels,
    tiles,
    epsilon,
    unit,
    ramp,
    momentum,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Combine the moments of the tiles of a member, and update its running averages."""
    member = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    used = channel < channels
    rows = tl.load(num_nodes + member) * colorings
    own_tiles = tl.cdiv(rows, ROWS)
    count = tl.maximum(rows, 1).to(tl.float32)
    partials += member * tiles * 2 * channels
    # Means are summed relative to the mean of the first tile, so that squares do not cancel.
    exists = used & (tl.zeros_like(channel) < rows)
    origin = tl.load(partials + channel, mask=exists, other=0.0)
    distances = tl.zeros((TILES, WIDTH), tl.float32)
    squares = tl.zeros((TILES, WIDTH), tl.float32)
    for first in range(0, own_tiles, TILES):
        tile = first + tl.arange(0, TILES)
        size = tl.minimum(rows - tile * ROWS, ROWS).to(tl.float32)
        offsets = tile[:, None] * 2 * channels + channel[None, :]
        mask = (tile < own_tiles)[:, None] & used[None, :]
        distance = tl.load(partials + offsets, mask=mask, other=0.0) - origin[None, :]
        distance = tl.where(mask, distance, 0.0)
        weighted = distance * size[:, None]
        distances += weighted
        squares += tl.load(partials + channels + offsets, mask=mask, other=0.0)
        squares += weighted * distance
    shift = tl.sum(distances, 0) / count
    mean = origin + shift
    variance = tl.sum(squares, 0) / count - shift * shift
    variance = tl.maximum(variance, 0.0, propagate_nan=tl.PropagateNan.ALL)
    own = member * channels + channel
    store_coefficients(
        coefficients + member * NUM_COEFFICIENTS * channels,
        mean,
        variance,
        tl.load(weight + own, mask=used, other=0.0),
        tl.load(bias + own, mask=used, other=0.0),
        channel,
        channels,
        epsilon,
        unit,
        ramp,
    )
    share = tl.where(rows > 1, momentum, 0.0)
    track(running_mean + own, mean, share, used)
    track(running_var + own, variance * (count / tl.maximum(count - 1.0, 1.0)), share, used)
    if tl.program_id(1) == 0:
        average = tl.load(running_weight + member)
        tl.store(running_weight + member, average + share * (1.0 - average))


@helper
def track(average, value, share, used):
    """Update a running average, with a weight `share` for the new value."""
    before = tl.load(average, mask=used, other=0.0)
    tl.store(average, before + share * (value - before), mask=used)


@kernel
def evaluation_coefficients(
    coefficients,
    weight,
    bias,
    running_mean,
    running_var,
    running_weight,
    channels,
    epsilon,
    unit,
    ramp,
    WIDTH: tl.constexpr,
):
    """Compute the coefficients of a member from its running averages."""
    member = tl.program_id(0).to(tl.int64)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    own = member * channels + channel
    total = tl.load(running_weight + member)
    seen = total > 0.0
    total = tl.where(seen, total, 1.0)
    mean = tl.load(running_mean + own, mask=used, other=0.0) / total
    variance = tl.load(running_var + own, mask=used, other=0.0) / total
    store_coefficients(
        coefficients + member * NUM_COEFFICIENTS * channels,
        mean,
        tl.where(seen, variance, 1.0),
        tl.load(weight + own, mask=used, other=0.0),
        tl.load(bias + own, mask=used, other=0.0),
        channel,
        channels,
        epsilon,
        unit,
        ramp,
    )


@kernel
def gradient_coefficients(
    partials,
    coefficients,
    gradient,
    grad_weight,
    grad_bias,
    num_nodes,
    colorings,
    channels,
    tiles,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Combine the gradient sums of the tiles of a member.

    The gradient of a row is `scale * dy + gradient[0] + gradient[1] * (x - mean)`.
    """
    member = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    used = channel < channels
    rows = tl.load(num_nodes + member) * colorings
    own_tiles = tl.cdiv(rows, ROWS)
    count = tl.maximum(rows, 1).to(tl.float32)
    partials += member * tiles * 2 * channels
    totals = tl.zeros((TILES, WIDTH), tl.float32)
    all_products = tl.zeros((TILES, WIDTH), tl.float32)
    for first in range(0, own_tiles, TILES):
        tile = first + tl.arange(0, TILES)
        offsets = tile[:, None] * 2 * channels + channel[None, :]
        mask = (tile < own_tiles)[:, None] & used[None, :]
        totals += tl.load(partials + offsets, mask=mask, other=0.0)
        all_products += tl.load(partials + channels + offsets, mask=mask, other=0.0)
    total = tl.sum(totals, 0)
    products = tl.sum(all_products, 0)
    coefficients += member * NUM_COEFFICIENTS * channels
    scale = load_coefficient(coefficients, SCALE, channel, channels)
    slope = load_coefficient(coefficients, SLOPE, channel, channels)
    factor = load_coefficient(coefficients, FACTOR, channel, channels)
    own = gradient + member * 2 * channels + channel
    tl.store(own, -scale * total / count, mask=used)
    tl.store(own + channels, 2.0 * slope * products / count, mask=used)
    tl.store(grad_weight + member * channels + channel, factor * products, mask=used)
    tl.store(grad_bias + member * channels + channel, total, mask=used)
