"""Batch normalization with separate statistics for each member."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from clipgnn.errors import InvalidGraphError
from clipgnn.nn.layer import Generators, Layer
from clipgnn.shapes import MemberRows

Moments = dict[nn.Module, tuple[Tensor, Tensor]]
"""Mean and variance by layer: computed once, then used for every part of the colorings."""


ROUNDING = 64
"""A channel is constant if its standard deviation is at most this number of rounding units of its
statistics, relative to its mean or to 1, whichever is larger."""

RAMP = 16
"""Variance, relative to the largest of a constant channel, from which the factor s is 1."""

INITIAL_BIAS = 0.1
"""Initial bias. With 0, a constant channel would be zero after the normalization, and the ReLU and
its gradient would be zero too."""

SAMPLED_ROWS = 64
"""Number of rows of a sample that is used to show that no channel is almost constant."""


class BatchNorm(Layer):
    r"""Batch normalization over the rows of each member, before the activation.

    .. math::
        y = \gamma \, s \, \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta, \qquad
        s = \operatorname{clamp}\Big(\frac{\sigma^2 / \rho^2 - 1}{15}, 0, 1\Big)

    The factor s is 0 for a constant channel, whose standard deviation is less than the rounding
    error ρ of its computation, and 1 from 4ρ on. Constant channels occur for nodes without
    attributes. Without the factor, x - μ is rounding error that is multiplied by 1/sqrt(ε) = 316 in
    every layer, in the forward and the backward pass; weights are updated at random, and in
    evaluation x - μ is the difference between the current weights and those of the running mean.
    With it, a constant channel is β, in training and in evaluation, and has no gradient.

    Rows of padding are excluded from the statistics, and are zero in the output. For half precision
    statistics are computed in float32.

    Differs from the paper, which does not mention normalization. Without it, 16-CLIP did not learn
    the property tasks of the paper (see docs/paper.md).

    Args:
        num_members: networks that are computed together.
        channels: channels of the rows.
        epsilon: added to the variance.
        momentum: weight of a new step in the running averages.

    Attributes:
        running_mean: sum of the means of past steps, each weighted by `momentum` and by
            (1 - momentum) to the number of steps since.
        running_var: the same of the variances.
        running_weight: the same of ones, for each member: the divisor of the sums.

    Shapes:
        - input, output: `[members, rows, channels]`
        - mask: `[members, rows]`, or None
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
        self.weight = nn.Parameter(torch.empty(num_members, channels))
        self.bias = nn.Parameter(torch.empty(num_members, channels))
        self.register_buffer("running_mean", torch.empty(num_members, channels))
        self.register_buffer("running_var", torch.empty(num_members, channels))
        self.register_buffer("running_weight", torch.empty(num_members, 1))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generators: Generators = None) -> None:
        """Set scales to 1, biases to `INITIAL_BIAS`, and running averages to 0."""
        self.weight.fill_(1)
        self.bias.fill_(INITIAL_BIAS)
        for average in (self.running_mean, self.running_var, self.running_weight):
            average.zero_()

    def statistics(
        self,
    ) -> tuple[Float[Tensor, "members channels"], Float[Tensor, "members channels"]]:
        """Mean and variance for evaluation: averages over past steps; 0 and 1 before the first."""
        seen = self.running_weight > 0
        weight = torch.where(seen, self.running_weight, 1)
        return self.running_mean / weight, torch.where(seen, self.running_var / weight, 1)

    def forward(
        self,
        x: MemberRows,
        moments: Moments | None = None,
        mask: Bool[Tensor, "members rows"] | None = None,
    ) -> MemberRows:
        """Normalize rows `[members, rows, channels]`.

        Args:
            x: the rows.
            moments: statistics by layer. A layer that is a key uses its statistics; in training, a
                layer that is not a key adds the statistics of its rows.
            mask: which rows are not padding; None without padding.

        Raises:
            InvalidGraphError: in training with a single row, which has no variance.
        """
        unit = max(ROUNDING * torch.finfo(_wide(x.dtype)).eps, torch.finfo(x.dtype).eps)
        narrow, x = x.dtype, x.to(_wide(x.dtype))
        if mask is not None:
            # Not a product: infinity times zero is NaN, also in the backward pass.
            x = torch.where(mask[:, :, None], x, 0)
        return self._forward(x, moments, mask, unit).to(narrow)

    def _forward(
        self,
        x: MemberRows,
        moments: Moments | None,
        mask: Bool[Tensor, "members rows"] | None,
        unit: float,
    ) -> MemberRows:
        """Normalize rows in at least single precision; `unit` is their rounding error."""
        if moments is not None and self in moments:
            return self._normalize(x, *moments[self], mask, unit)
        if not self.training:
            return self._normalize(x, *self.statistics(), mask, unit)
        if x.shape[1] == 0:
            return x
        if x.shape[1] == 1 and mask is None:
            raise InvalidGraphError(
                "Batch normalization needs at least two rows in training. Got one graph, node or "
                "edge in the batch. Use larger batches (drop_last=True in a loader), "
                "model.eval(), or norm=None."
            )
        if moments is None and mask is None and self._suits_kernel(x, unit):
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
        mean, variance = self._measure(x, mask)
        if moments is not None:
            moments[self] = (mean, variance)
        return self._normalize(x, mean, variance, mask, unit)

    def _suits_kernel(self, x: MemberRows, unit: float) -> bool:
        """Whether the kernel of torch, which is faster on the CPU, computes the same result.

        It has no members axis and no factor for constant channels. If two of N rows differ by d,
        the variance is at least d² / 2N.
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
        mask: Bool[Tensor, "members rows"] | None,
        unit: float,
    ) -> MemberRows:
        mean, variance = mean.to(x.dtype), variance.to(x.dtype)
        weight, bias = self.weight.to(x.dtype), self.bias.to(x.dtype)
        rounding = unit * mean.detach().abs().clamp(min=1)
        varying = ((variance / rounding.square() - 1) / (RAMP - 1)).clamp(0, 1)
        scale = weight * torch.rsqrt(variance + self.epsilon) * varying
        rows = torch.addcmul((bias - mean * scale)[:, None], x, scale[:, None])
        return rows if mask is None else torch.where(mask[:, :, None], rows, 0)

    def _measure(
        self, x: MemberRows, mask: Bool[Tensor, "members rows"] | None
    ) -> tuple[Float[Tensor, "members channels"], Float[Tensor, "members channels"]]:
        """Compute mean and variance of the rows that are not padding, and update the averages.

        A member with fewer than two rows has no variance and does not update its averages.
        """
        if mask is None:
            variance, mean = torch.var_mean(x, dim=1, correction=0)
            rows = torch.full_like(mean[:, :1], x.shape[1])
        else:
            inside = mask[:, :, None]
            rows = inside.sum(1).to(x.dtype)
            mean = x.sum(1) / rows.clamp(min=1)
            centered = torch.where(inside, x - mean[:, None], 0)
            variance = centered.square().sum(1) / rows.clamp(min=1)
        unbiased = variance.detach() * (rows / (rows - 1).clamp(min=1))
        self._track(mean.detach(), unbiased, self.momentum * (rows > 1).to(x.dtype))
        return mean, variance

    @torch.no_grad()
    def _track(self, mean: Tensor, unbiased_variance: Tensor, share: Tensor) -> None:
        """Update the running averages with a weight `share`, `[members, 1]`."""
        averages = (self.running_mean, self.running_var, self.running_weight)
        values = (mean, unbiased_variance, torch.ones_like(share))
        for average, value in zip(averages, values, strict=True):
            average.lerp_(value.to(average.dtype), share.to(average.dtype))


def running_moments(network: nn.Module) -> Moments:
    """Running averages of all batch normalizations of a network; none while it is trained."""
    norms = [module for module in network.modules() if isinstance(module, BatchNorm)]
    if any(norm.training for norm in norms):
        return {}
    return {norm: norm.statistics() for norm in norms}


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)
