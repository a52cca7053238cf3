"""Batch normalization of rows by given statistics, by their own, and by those of processes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Gather = Callable[[Tensor], Tensor]
"""Function that gathers a tensor of all processes along a new first axis."""

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


@torch.no_grad()
def joined_statistics(
    x: Tensor, occurrences: Tensor | None, gather: Gather
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute mean, variance and number of the rows of all processes, without gradients.

    Args:
        x: rows of this process, `[members, rows, channels]`.
        occurrences: how many times each row occurs, `[members, rows, 1]`; None for once.
        gather: function that gathers a tensor of all processes.

    Returns:
        `[members, channels]` twice, and `[members, 1]`.
    """
    if occurrences is None and x.shape[0] == 1 and x.shape[1] > 0 and x.device.type == "cpu":
        mean, squares = (own[None] for own in own_statistics(x.squeeze(0)))
        count = torch.full_like(mean[:, :1], x.shape[1])
        squares = squares * count
    else:
        factor = torch.ones_like(x[:, :, :1]) if occurrences is None else occurrences
        count = factor.sum(1)
        mean = (factor * x).sum(1) / count.clamp(min=1)
        squares = (factor * (x - mean[:, None]).square()).sum(1)
    channels = x.shape[2]
    # [processes, members, channels] twice, and [processes, members, 1]
    means, sums, counts = gather(torch.cat([mean, squares, count], dim=1)).split(
        [channels, channels, 1], dim=2
    )
    rows = counts.sum(0)
    mean = (counts * means).sum(0) / rows.clamp(min=1)
    between = (counts * (means - mean).square()).sum(0)
    return mean, (sums.sum(0) + between) / rows.clamp(min=1), rows


class JointlyNormalizedRows(torch.autograd.Function):
    """Normalize rows `[members, rows, channels]` by the statistics of all processes, where s is 1.

    With factor and rows of all processes f and N, and occurrences w of a row, the gradient is

        γ f (g - w (Σ g + x̂ Σ g x̂) / N),

    whose sums are over the rows of all processes: one exchange, as in the forward pass.
    """

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        mean: Tensor,
        variance: Tensor,
        rows: Tensor,
        occurrences: Tensor | None,
        epsilon: float,
        gather: Gather,
    ) -> Tensor:
        factor = torch.rsqrt(variance + epsilon)
        ctx.save_for_backward(x, weight, mean, factor, rows, occurrences)
        ctx.gather = gather
        scale = weight * factor
        shift = torch.addcmul(bias, mean, scale, value=-1)
        return torch.addcmul(shift[:, None], x, scale[:, None])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: D102
        x, weight, mean, factor, rows, occurrences = ctx.saved_tensors
        normalized = torch.addcmul((-mean * factor)[:, None], x, factor[:, None])
        of_bias, of_weight = grad.sum(1), (grad * normalized).sum(1)
        sums = ctx.gather(torch.stack([of_bias, of_weight])).sum(0) / rows.clamp(min=1)
        shared = torch.addcmul(sums[0][:, None], normalized, sums[1][:, None])
        if occurrences is not None:
            shared = shared * occurrences
        of_rows = (grad - shared) * (weight * factor)[:, None]
        return of_rows, of_weight, of_bias, *[None] * 6
