"""Triton kernels for the first affine maps of a network, on attributes and colors of nodes.

Maps of φ and of ψ are computed together. Their weights have a row for each attribute channel or
label, followed by a row for each color.
"""

import triton.language as tl

from clipgnn.ops.kernels.kernel import helper, kernel
from clipgnn.ops.kernels.norm import NUM_COEFFICIENTS, store_moments
from clipgnn.ops.kernels.rows import load_gradient


@helper
def _attributes(x, node, inside, first, in_channels, LABELS: tl.constexpr, IN: tl.constexpr):
    """Attributes `[nodes, IN]` of a tile, from channel `first`; one-hot rows for labels."""
    channel = first + tl.arange(0, IN)
    if LABELS:
        label = tl.load(x + node, mask=inside, other=-1)
        result = (label[:, None] == channel[None, :]).to(tl.float32)
    else:
        mask = inside[:, None] & (channel < in_channels)[None, :]
        places = node[:, None] * in_channels + channel[None, :]
        result = tl.load(x + places, mask=mask, other=0.0)
    return result


@kernel
def map_attributes(
    x,
    phi_weight,
    phi_bias,
    psi_weight,
    psi_bias,
    of_nodes,
    num_nodes,
    nodes,
    in_channels,
    phi_rows,
    psi_rows,
    channels,
    LABELS: tl.constexpr,
    ROWS: tl.constexpr,
    IN: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Apply the maps to the attributes of each node, or look up its label."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    used_nodes = tl.load(num_nodes + member)
    if tile * ROWS >= used_nodes:
        return
    slot = tile * ROWS + tl.arange(0, ROWS)
    inside = slot < used_nodes
    node = member * nodes + slot
    channel = tl.arange(0, WIDTH)
    used = (channel < channels)[None, :]
    own = member * channels + channel
    to_phi = tl.zeros((ROWS, WIDTH), tl.float32)
    to_psi = tl.zeros((ROWS, WIDTH), tl.float32)
    if LABELS:
        label = tl.load(x + node, mask=inside, other=0)
        mask = inside[:, None] & used
        offsets = label[:, None] * channels + channel[None, :]
        to_phi += tl.load(phi_weight + member * phi_rows * channels + offsets, mask=mask, other=0.0)
        to_psi += tl.load(psi_weight + member * psi_rows * channels + offsets, mask=mask, other=0.0)
    else:
        for first in range(0, in_channels, IN):
            attributes = _attributes(x, node, inside, first, in_channels, LABELS, IN)
            row = first + tl.arange(0, IN)
            mask = (row < in_channels)[:, None] & used
            offsets = row[:, None] * channels + channel[None, :]
            weight = tl.load(
                phi_weight + member * phi_rows * channels + offsets, mask=mask, other=0.0
            )
            to_phi = tl.dot(attributes, weight, to_phi, input_precision=PRECISION)
            weight = tl.load(
                psi_weight + member * psi_rows * channels + offsets, mask=mask, other=0.0
            )
            to_psi = tl.dot(attributes, weight, to_psi, input_precision=PRECISION)
    to_phi += tl.load(phi_bias + own, mask=channel < channels, other=0.0)[None, :]
    to_psi += tl.load(psi_bias + own, mask=channel < channels, other=0.0)[None, :]
    offsets = node[:, None] * 2 * channels + channel[None, :]
    mask = inside[:, None] & used
    tl.store(of_nodes + offsets, to_phi, mask=mask)
    tl.store(of_nodes + channels + offsets, to_psi, mask=mask)


@kernel
def look_up_rows(
    of_nodes,
    phi_weight,
    psi_weight,
    colors,
    message,
    own,
    partials,
    num_nodes,
    nodes,
    all_nodes,
    colorings,
    in_channels,
    phi_rows,
    psi_rows,
    channels,
    tiles,
    COLORED: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Add the rows of a node and of its color, for φ (`message`) and for ψ (`own`)."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    if tile * ROWS >= rows:
        return
    start = member * nodes * colorings * channels
    message += start
    own += start
    row = tile * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    inside = row < rows
    mask = inside[:, None] & (channel < channels)[None, :]
    node = row // colorings
    of_nodes += member * nodes * 2 * channels
    offsets = node[:, None] * 2 * channels + channel[None, :]
    to_message = tl.load(of_nodes + offsets, mask=mask, other=0.0)
    to_own = tl.load(of_nodes + channels + offsets, mask=mask, other=0.0)
    if COLORED:
        place = (row % colorings).to(tl.int64) * all_nodes + member * nodes + node
        color = in_channels + tl.load(colors + place, mask=inside, other=0).to(tl.int32)
        offsets = color[:, None] * channels + channel[None, :]
        phi_weight += member * phi_rows * channels
        to_message += tl.load(phi_weight + offsets, mask=mask, other=0.0)
        psi_weight += member * psi_rows * channels
        to_own += tl.load(psi_weight + offsets, mask=mask, other=0.0)
    offsets = row[:, None] * channels + channel[None, :]
    tl.store(message + offsets, to_message, mask=mask)
    tl.store(own + offsets, to_own, mask=mask)
    count = tl.minimum(rows - tile * ROWS, ROWS).to(tl.float32)
    partials += (member * tiles + tile) * 2 * channels
    store_moments(partials, to_message, inside[:, None], count, channel, channels)


@helper
def _select(chosen, values, total, PRECISION: tl.constexpr):
    """Product with a matrix of zeros and ones, which TF32 represents exactly."""
    if PRECISION == "tf32x3":
        high = (values.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
        total = tl.dot(chosen, high, total, input_precision="tf32")
        total = tl.dot(chosen, values - high, total, input_precision="tf32")
    else:
        total = tl.dot(chosen, values, total, input_precision=PRECISION)
    return total


@kernel
def map_attributes_backward(
    x,
    message,
    grad_message,
    coefficients,
    gradient,
    grad_own,
    parts,
    num_nodes,
    nodes,
    colorings,
    in_channels,
    channels,
    LABELS: tl.constexpr,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
    IN: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradients of `map_attributes` for IN rows of the weights.

    Gradients of a node are summed over its colorings, and products over every PARTS-th tile.
    """
    part, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    block = tl.program_id(2)
    used_nodes = tl.load(num_nodes + member).to(tl.int32)
    start = member * nodes * colorings * channels
    message += start
    grad_message += start
    grad_own += start
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    coefficients += member * NUM_COEFFICIENTS * channels
    gradient += member * 2 * channels
    of_phi = tl.zeros((IN, WIDTH), tl.float32)
    of_psi = tl.zeros((IN, WIDTH), tl.float32)
    for tile in range(part, tl.cdiv(used_nodes, ROWS), PARTS):
        slot = tile * ROWS + tl.arange(0, ROWS)
        inside = slot < used_nodes
        node = member * nodes + slot
        mask = inside[:, None] & used[None, :]
        sent = tl.zeros((ROWS, WIDTH), tl.float32)
        own = tl.zeros((ROWS, WIDTH), tl.float32)
        for coloring in range(0, colorings):
            offsets = (slot * colorings + coloring)[:, None] * channels + channel[None, :]
            sent += load_gradient(
                grad_message, message, offsets, mask, coefficients, gradient, channel, channels
            )
            own += tl.load(grad_own + offsets, mask=mask, other=0.0)
        attributes = tl.trans(_attributes(x, node, inside, block * IN, in_channels, LABELS, IN))
        if LABELS:
            of_phi = _select(attributes, sent, of_phi, PRECISION)
            of_psi = _select(attributes, own, of_psi, PRECISION)
        else:
            of_phi = tl.dot(attributes, sent, of_phi, input_precision=PRECISION)
            of_psi = tl.dot(attributes, own, of_psi, input_precision=PRECISION)
    parts += (member * PARTS + part) * in_channels * 2 * channels
    row = block * IN + tl.arange(0, IN)
    mask = (row < in_channels)[:, None] & used[None, :]
    places = parts + row[:, None] * 2 * channels + channel[None, :]
    tl.store(places, of_phi, mask=mask)
    tl.store(places + channels, of_psi, mask=mask)


@kernel
def sum_over_colors(
    message,
    grad_message,
    coefficients,
    gradient,
    grad_own,
    colors,
    grad_colors,
    num_nodes,
    nodes,
    all_nodes,
    colorings,
    num_colors,
    channels,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
    COLORS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradient of `look_up_rows` for the colors, summed over every PARTS-th tile.

    Only the sums of the first COLORS colors are kept in registers. Sums of other colors, which
    only large graphs have, are added to `grad_colors`, which must be zero.
    """
    part, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = (tl.load(num_nodes + member) * colorings).to(tl.int32)
    start = member * nodes * colorings * channels
    message += start
    grad_message += start
    grad_own += start
    channel = tl.arange(0, WIDTH)
    used = (channel < channels)[None, :]
    coefficients += member * NUM_COEFFICIENTS * channels
    gradient += member * 2 * channels
    grad_colors += (member * PARTS + part) * num_colors * 2 * channels
    first = tl.arange(0, COLORS)
    of_message = tl.zeros((COLORS, WIDTH), tl.float32)
    of_own = tl.zeros((COLORS, WIDTH), tl.float32)
    for tile in range(part, tl.cdiv(rows, ROWS), PARTS):
        row = tile * ROWS + tl.arange(0, ROWS)
        inside = row < rows
        place = (row % colorings).to(tl.int64) * all_nodes + member * nodes + row // colorings
        color = tl.load(colors + place, mask=inside, other=-1).to(tl.int32)
        mask = inside[:, None] & used
        offsets = row[:, None] * channels + channel[None, :]
        sent = load_gradient(
            grad_message, message, offsets, mask, coefficients, gradient, channel, channels
        )
        own = tl.load(grad_own + offsets, mask=mask, other=0.0)
        has_color = (first[:, None] == color[None, :]).to(tl.float32)
        of_message = _select(has_color, sent, of_message, PRECISION)
        of_own = _select(has_color, own, of_own, PRECISION)
        for base in range(COLORS, tl.max(color, 0) + 1, COLORS):
            table = base + first
            has_color = (table[:, None] == color[None, :]).to(tl.float32)
            places = grad_colors + table[:, None] * 2 * channels + channel[None, :]
            exists = (table < num_colors)[:, None] & used
            total = tl.load(places, mask=exists, other=0.0)
            total = _select(has_color, sent, total, PRECISION)
            tl.store(places, total, mask=exists)
            total = tl.load(places + channels, mask=exists, other=0.0)
            total = _select(has_color, own, total, PRECISION)
            tl.store(places + channels, total, mask=exists)
            tl.debug_barrier()
    places = grad_colors + first[:, None] * 2 * channels + channel[None, :]
    exists = (first < num_colors)[:, None] & used
    tl.store(places, of_message, mask=exists)
    tl.store(places + channels, of_own, mask=exists)


@kernel
def combine_parts(
    parts,
    grad_phi_weight,
    grad_psi_weight,
    first_row,
    num_rows,
    phi_rows,
    psi_rows,
    channels,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Add parts of gradients, for some rows of both weights."""
    member = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, WIDTH)
    mask = (row < num_rows)[:, None] & (channel < channels)[None, :]
    of_phi = tl.zeros((ROWS, WIDTH), tl.float32)
    of_psi = tl.zeros((ROWS, WIDTH), tl.float32)
    for part in range(PARTS):
        start = parts + (member * PARTS + part) * num_rows * 2 * channels
        places = start + row[:, None] * 2 * channels + channel[None, :]
        of_phi += tl.load(places, mask=mask, other=0.0)
        of_psi += tl.load(places + channels, mask=mask, other=0.0)
    offsets = (first_row + row)[:, None] * channels + channel[None, :]
    tl.store(grad_phi_weight + member * phi_rows * channels + offsets, of_phi, mask=mask)
    tl.store(grad_psi_weight + member * psi_rows * channels + offsets, of_psi, mask=mask)
