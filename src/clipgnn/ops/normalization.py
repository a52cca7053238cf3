"""Batch normalization of rows by given statistics, and by their own on the CPU."""

from typing import Any

import torch
from torch import Tensor

RAMP = 16
"""Variance, relative to the largest of a constant channel, from which the factor s is 1."""


def channel_scale(
    weight: Tensor, mean: Tensor, variance: Tensor, unit: float, epsilon: float
) -> Tensor:
    r"""Compute the factor :math:`\gamma s / \sqrt{\sigma^2 + \epsilon}` of each channel.

    Args:
        weight: γ.
        mean: mean of each channel.
        variance: variance of each channel.
        unit: rounding error of the rows, relative to the mean or to 1, whichever is larger.
        epsilon: number that is added to the variance.
    """
    rounding = unit * mean.detach().abs().clamp(min=1)
    varying = ((variance / rounding.square() - 1) / (RAMP - 1)).clamp(0, 1)
    return weight * torch.rsqrt(variance + epsilon) * varying


def all_vary(mean: Tensor, variance: Tensor, unit: float) -> bool:
    """Whether the factor s is 1 for all channels."""
    return bool(((variance / mean.square().clamp(min=1)) >= RAMP * unit**2).all())


def own_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Compute mean and variance of the channels of rows on the CPU, without gradients."""
    no_average = None
    return torch.batch_norm_update_stats(x, no_average, no_average, 0.0)


class NormalizedRows(torch.autograd.Function):
    """Normalize rows `[1, rows, channels]` by their own mean and variance, where s is 1.

    The gradient is that of torch's kernel. The kernel itself takes twice as long in the forward
    pass as statistics and one more pass over the rows.
    """

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        mean: Tensor,
        variance: Tensor,
        epsilon: float,
    ) -> Tensor:
        factor = torch.rsqrt(variance + epsilon)
        ctx.save_for_backward(x, weight, mean, factor)
        scale = weight * factor
        return torch.addcmul(torch.addcmul(bias, mean, scale, value=-1), x, scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: D102
        x, weight, mean, factor = ctx.saved_tensors
        unused, training, all_three = None, True, [True, True, True]
        rows, scale, bias = torch.ops.aten.native_batch_norm_backward(
            grad.squeeze(0),
            x.squeeze(0),
            weight.squeeze(0),
            unused,
            unused,
            mean,
            factor,
            training,
            0.0,
            all_three,
        )
        return rows[None], scale[None], bias[None], None, None, None
