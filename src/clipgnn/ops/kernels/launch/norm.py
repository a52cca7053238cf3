"""Launches of the coefficients of batch normalizations."""

import triton
from torch import Tensor

from clipgnn.ops.fused_parameters import Norm
from clipgnn.ops.kernels import norm as kernels
from clipgnn.ops.kernels.launch.layout import ROWS, Layout

TILES = 128
"""Tiles whose sums are combined at once."""

CHANNELS = 16
"""Channels whose sums are combined by one program."""


def coefficients_of(layout: Layout, own: Norm, moments: Tensor, *, training: bool) -> Tensor:
    """Coefficients of a normalization, from the moments of the rows or from running averages."""
    coefficients = layout.new(kernels.NUM_COEFFICIENTS.value, layout.channels)
    parameters = (own.weight, own.bias, own.running_mean, own.running_var, own.running_weight)
    constants = (own.epsilon, own.unit, own.ramp)
    if training:
        kernels.train_coefficients[(layout.members, triton.cdiv(layout.channels, CHANNELS))](
            moments,
            coefficients,
            *parameters,
            layout.num_nodes,
            layout.colorings,
            layout.channels,
            layout.tiles,
            *constants,
            own.momentum,
            ROWS=ROWS,
            TILES=TILES,
            WIDTH=CHANNELS,
        )
    else:
        kernels.evaluation_coefficients[(layout.members,)](
            coefficients,
            *parameters,
            layout.channels,
            *constants,
            WIDTH=layout.width,
        )
    return coefficients


def gradient_of_norm(
    layout: Layout, coefficients: Tensor, sums: Tensor, grad_weight: Tensor, grad_bias: Tensor
) -> Tensor:
    """Gradient coefficients of a normalization; its own gradients are stored."""
    gradient = layout.new(2, layout.channels)
    kernels.gradient_coefficients[(layout.members, triton.cdiv(layout.channels, CHANNELS))](
        sums,
        coefficients,
        gradient,
        grad_weight,
        grad_bias,
        layout.num_nodes,
        layout.colorings,
        layout.channels,
        layout.tiles,
        ROWS=ROWS,
        TILES=TILES,
        WIDTH=CHANNELS,
    )
    return gradient
