"""Triton kernels for the products of adjacent affine maps, forward and backward.

The merged maps of a layer are stored side by side for each member: a weight `[channels, 2 *
channels]` for φ and for ψ, the weight `[channels, channels]` of the sums over neighbors, and a bias
`[2 * channels]`. The gradient has no bias: one before a batch normalization has a gradient of 0.
"""

import triton.language as tl

from clipgnn.ops.kernels.kernel import helper, kernel


@helper
def _load(matrix, stride, channel, used):
    return tl.load(
        matrix + channel[:, None] * stride + channel[None, :],
        mask=used[:, None] & used[None, :],
        other=0.0,
    )


@helper
def _load_transposed(matrix, stride, channel, used):
    return tl.load(
        matrix + channel[None, :] * stride + channel[:, None],
        mask=used[:, None] & used[None, :],
        other=0.0,
    )


@helper
def _store(matrix, values, stride, channel, used):
    tl.store(
        matrix + channel[:, None] * stride + channel[None, :],
        values,
        mask=used[:, None] & used[None, :],
    )


@kernel
def merge_maps(
    last_weight,
    last_bias,
    phi_weight,
    phi_bias,
    phi_second,
    psi_weight,
    psi_bias,
    merged,
    psi_rows,
    channels,
    FIRST: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Multiply the maps of a layer with those before them.

    These are the last map of the layer before and the first maps of φ and ψ, and the second map of
    φ and the rows of ψ for the sums. Only the latter exist for the first layer.
    """
    part, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    square = channels * channels
    merged += member * (3 * square + 2 * channels)
    psi_weight += member * psi_rows * channels
    if FIRST or part == 2:
        second = _load(phi_second + member * square, channels, channel, used)
        of_sums = _load(psi_weight + (psi_rows - channels) * channels, channels, channel, used)
        product = tl.dot(second, of_sums, input_precision=PRECISION)
        _store(merged + 2 * square, product, channels, channel, used)
    else:
        last = _load(last_weight + member * square, channels, channel, used)
        added = tl.load(last_bias + member * channels + channel, mask=used, other=0.0)
        if part == 0:
            own = _load(phi_weight + member * square, channels, channel, used)
            constant = tl.load(phi_bias + member * channels + channel, mask=used, other=0.0)
        else:
            own = _load(psi_weight, channels, channel, used)
            constant = tl.load(psi_bias + member * channels + channel, mask=used, other=0.0)
        product = tl.dot(last, own, input_precision=PRECISION)
        _store(merged + part * channels, product, 2 * channels, channel, used)
        constant += tl.sum(own * added[:, None], 0)
        tl.store(merged + 3 * square + part * channels + channel, constant, mask=used)


@kernel
def merge_maps_backward(
    last_weight,
    phi_weight,
    phi_second,
    psi_weight,
    grad,
    grad_last_weight,
    grad_phi_weight,
    grad_phi_second,
    grad_psi_weight,
    psi_rows,
    channels,
    FIRST: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradients of the weights of `merge_maps`."""
    part, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    channel = tl.arange(0, WIDTH)
    used = channel < channels
    square = channels * channels
    grad += member * 3 * square
    psi_weight += member * psi_rows * channels
    grad_psi_weight += member * psi_rows * channels
    of_sums = (psi_rows - channels) * channels
    if part == 0:
        second = _load_transposed(phi_second + member * square, channels, channel, used)
        total = _load(grad + 2 * square, channels, channel, used)
        product = tl.dot(second, total, input_precision=PRECISION)
        _store(grad_psi_weight + of_sums, product, channels, channel, used)
    elif part == 1:
        total = _load(grad + 2 * square, channels, channel, used)
        weight = _load_transposed(psi_weight + of_sums, channels, channel, used)
        product = tl.dot(total, weight, input_precision=PRECISION)
        _store(grad_phi_second + member * square, product, channels, channel, used)
    elif not FIRST:
        if part == 2:
            of_phi = _load(grad, 2 * channels, channel, used)
            weight = _load_transposed(phi_weight + member * square, channels, channel, used)
            product = tl.dot(of_phi, weight, input_precision=PRECISION)
            of_psi = _load(grad + channels, 2 * channels, channel, used)
            weight = _load_transposed(psi_weight, channels, channel, used)
            product = tl.dot(of_psi, weight, product, input_precision=PRECISION)
            _store(grad_last_weight + member * square, product, channels, channel, used)
        else:
            last = _load_transposed(last_weight + member * square, channels, channel, used)
            of_weight = _load(grad + (part - 3) * channels, 2 * channels, channel, used)
            product = tl.dot(last, of_weight, input_precision=PRECISION)
            if part == 3:
                _store(grad_phi_weight + member * square, product, channels, channel, used)
            else:
                _store(grad_psi_weight, product, channels, channel, used)
