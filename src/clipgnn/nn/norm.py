"""Batch normalization with separate statistics for each member."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from clipgnn.errors import InvalidGraphError
from clipgnn.shapes import MemberRows

Moments = dict[nn.Module, tuple[Tensor, Tensor]]
"""Mean and variance by layer: measured once, used for all that streams through afterwards."""


ROUNDING = 64
"""A channel is constant if its standard deviation is within this many units of rounding error of
its statistics, relative to its mean or to 1, whichever is larger."""

RAMP = 16
"""Variance, relative to the largest of a constant channel, from which the rule has no effect."""

FIRST_BIAS = 0.1
"""Bias before training. With 0, a constant channel would be zero after the normalization, and a
ReLU would pass it neither forward nor, as a gradient, backward."""

SAMPLED_ROWS = 64
"""Rows of a sample that may show that no channel is near to constant."""


class BatchNorm(nn.Module):
    r"""Batch normalization over the rows of each member, before the activation.

    .. math::
        y = \gamma \, s \, \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta, \qquad
        s = \operatorname{clamp}\Big(\frac{\sigma^2 / \rho^2 - 1}{15}, 0, 1\Big)

    The factor s is 0 for a constant channel, whose standard deviation is less than the rounding
    error ρ that computing it may make, and 1 from 4ρ on. Constant channels arise from nodes without
    attributes. Without the factor, x - μ is rounding error divided by sqrt(ε), that is, enlarged
    316 times in every layer, forward and backward; weights follow it at random, and in evaluation
    x - μ is the difference between the present weights and those that μ was averaged over. With
    it, a constant channel is β, in training and in evaluation, and has no gradient.

    Rows of padding take no part in the statistics and are zero afterwards. Of half precision,
    statistics are computed in float32.

    Differs from the paper: it does not mention normalization; without it, 16-CLIP did not learn
    the paper's property tasks (see docs/paper.md).

    Attributes:
        running_mean: sum of the means of past steps, each weighted by `momentum` and by
            (1 - momentum) to the number of steps since.
        running_var: the same of the variances.
        running_weight: the same of ones, for each member: what to divide by.
    """

    running_mean: Tensor
    running_var: Tensor
    running_weight: Tensor

    def __init__(
        self, num_members: int, channels: int, *, epsilon: float = 1e-5, momentum: float = 0.1
    ) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(num_members, channels))
        self.bias = nn.Parameter(torch.full((num_members, channels), FIRST_BIAS))
        self.register_buffer("running_mean", torch.zeros(num_members, channels))
        self.register_buffer("running_var", torch.zeros(num_members, channels))
        self.register_buffer("running_weight", torch.zeros(num_members, 1))

    def statistics(
        self,
    ) -> tuple[Float[Tensor, "members channels"], Float[Tensor, "members channels"]]:
        """Mean and variance that evaluation uses: averages over past steps; 0 and 1 before any."""
        seen = self.running_weight > 0
        weight = torch.where(seen, self.running_weight, 1)
        return self.running_mean / weight, torch.where(seen, self.running_var / weight, 1)

    def forward(
        self,
        x: MemberRows,
        moments: Moments | None = None,
        real: Bool[Tensor, "members rows"] | None = None,
    ) -> MemberRows:
        """Normalize rows `[members, rows, channels]`.

        Args:
            x: the rows.
            moments: a record of statistics. A layer that finds itself in it uses what is there;
                in training, one that does not measures its rows and enters the result.
            real: which rows are not padding; all without it.

        Raises:
            InvalidGraphError: while training on a single row, which has no variance.
        """
        unit = max(ROUNDING * torch.finfo(_wide(x.dtype)).eps, torch.finfo(x.dtype).eps)
        narrow, x = x.dtype, x.to(_wide(x.dtype))
        if real is not None:
            # Not a product: infinity times zero is NaN, also in the backward pass.
            x = torch.where(real[:, :, None], x, 0)
        return self._forward(x, moments, real, unit).to(narrow)

    def _forward(
        self,
        x: MemberRows,
        moments: Moments | None,
        real: Bool[Tensor, "members rows"] | None,
        unit: float,
    ) -> MemberRows:
        """Normalize rows in at least single precision; `unit` is their rounding error."""
        if moments is not None and self in moments:
            return self._normalize(x, *moments[self], real, unit)
        if not self.training:
            return self._normalize(x, *self.statistics(), real, unit)
        if x.shape[1] == 0:
            return x
        if x.shape[1] == 1 and real is None:
            raise InvalidGraphError(
                "Batch normalization needs at least two rows while training. Got one graph (or "
                "one node) in the batch. Use larger batches (drop_last=True in a loader), "
                "model.eval(), or norm=None."
            )
        if moments is None and real is None and self._suits_kernel(x, unit):
            self.running_weight.lerp_(torch.ones_like(self.running_weight), self.momentum)
            return functional.batch_norm(
                x[0],
                self.running_mean[0],
                self.running_var[0],
                self.weight[0],
                self.bias[0],
                training=True,
                momentum=self.momentum,
                eps=self.epsilon,
            )[None]
        mean, variance = self._measure(x, real)
        if moments is not None:
            moments[self] = (mean, variance)
        return self._normalize(x, mean, variance, real, unit)

    def _suits_kernel(self, x: MemberRows, unit: float) -> bool:
        """Whether torch's own kernel, the fastest on the CPU, computes the same.

        It has no members axis, and no rule for constant channels. Two rows that differ by d show a
        variance of at least d² / 2N over N rows.
        """
        if x.shape[0] > 1 or x.device.type != "cpu" or torch.compiler.is_compiling():
            return False
        if x.dtype != self.weight.dtype:
            return False
        sample = x[0, :: max(1, x.shape[1] // SAMPLED_ROWS)].detach()
        low, high = torch.aminmax(sample, dim=0)
        rounding = unit * torch.maximum(low.abs(), high.abs()).clamp(min=1)
        least_variance = (high - low).square() / (2 * x.shape[1])
        return bool((least_variance > RAMP * rounding.square()).all())

    def _normalize(
        self,
        x: MemberRows,
        mean: Float[Tensor, "members channels"],
        variance: Float[Tensor, "members channels"],
        real: Bool[Tensor, "members rows"] | None,
        unit: float,
    ) -> MemberRows:
        mean, variance = mean.to(x.dtype), variance.to(x.dtype)
        weight, bias = self.weight.to(x.dtype), self.bias.to(x.dtype)
        rounding = unit * mean.detach().abs().clamp(min=1)
        varying = ((variance / rounding.square() - 1) / (RAMP - 1)).clamp(0, 1)
        scale = weight * torch.rsqrt(variance + self.epsilon) * varying
        rows = torch.addcmul((bias - mean * scale)[:, None], x, scale[:, None])
        return rows if real is None else torch.where(real[:, :, None], rows, 0)

    def _measure(
        self, x: MemberRows, real: Bool[Tensor, "members rows"] | None
    ) -> tuple[Float[Tensor, "members channels"], Float[Tensor, "members channels"]]:
        """Mean and variance of the rows that are not padding, entered into the averages.

        A member with fewer than two rows has no variance, and leaves its averages as they are.
        """
        if real is None:
            variance, mean = torch.var_mean(x, dim=1, correction=0)
            rows = torch.full_like(mean[:, :1], x.shape[1])
        else:
            inside = real[:, :, None]
            rows = inside.sum(1).to(x.dtype)
            mean = x.sum(1) / rows.clamp(min=1)
            centered = torch.where(inside, x - mean[:, None], 0)
            variance = centered.square().sum(1) / rows.clamp(min=1)
        unbiased = variance.detach() * (rows / (rows - 1).clamp(min=1))
        self._track(mean.detach(), unbiased, self.momentum * (rows > 1).to(x.dtype))
        return mean, variance

    @torch.no_grad()
    def _track(self, mean: Tensor, unbiased_variance: Tensor, share: Tensor) -> None:
        """Enter statistics into the averages, weighted by a share `[members, 1]`."""
        averages = (self.running_mean, self.running_var, self.running_weight)
        values = (mean, unbiased_variance, torch.ones_like(share))
        for average, value in zip(averages, values, strict=True):
            average.lerp_(value.to(average.dtype), share.to(average.dtype))


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)
