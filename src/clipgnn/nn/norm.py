"""Batch normalization with separate statistics for each member."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from clipgnn.errors import InvalidGraphError
from clipgnn.nn.layer import Generators, Layer
from clipgnn.ops.normalization import (
    JointlyNormalizedRows,
    NormalizedRows,
    all_vary,
    channel_scale,
    joined_statistics,
    own_statistics,
)
from clipgnn.shapes import MemberRows

Moments = dict[nn.Module, tuple[Tensor, Tensor]]
"""Mean and variance by layer: computed once, then used for every part of the colorings."""


ROUNDING = 64
"""A channel is constant if its standard deviation is at most this number of rounding units of its
statistics, relative to its mean or to 1, whichever is larger."""

INITIAL_BIAS = 0.1
"""Initial bias. With 0, a constant channel would be zero after the normalization, and the ReLU and
its gradient would be zero too."""


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
        gather: function that gathers a tensor of all processes that train together along a new
            first axis, with gradients; statistics are then those of the rows of all processes.
            None for one process.

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
        self.gather: Callable[[Tensor], Tensor] | None = None
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

    def coefficients(self, moments: Moments | None) -> tuple[Tensor, Tensor] | None:
        """Factor and constant `[members, channels]`, if the statistics are known beforehand.

        Args:
            moments: statistics by layer.

        Returns:
            None if the statistics are those of the rows, or in half precision, in which products
            with the factor are less precise than the normalization of rows.
        """
        if moments is not None and self in moments:
            mean, variance = moments[self]
        elif not self.training:
            mean, variance = self.statistics()
        else:
            return None
        dtype = self.weight.dtype
        if dtype != _wide(dtype) or torch.is_autocast_enabled(self.weight.device.type):
            return None
        return self._coefficients(mean.to(dtype), variance.to(dtype), _rounding_unit(dtype))

    def _coefficients(self, mean: Tensor, variance: Tensor, unit: float) -> tuple[Tensor, Tensor]:
        weight, bias = self.weight.to(mean.dtype), self.bias.to(mean.dtype)
        scale = channel_scale(weight, mean, variance, unit, self.epsilon)
        return scale, bias - mean * scale

    def forward(
        self,
        x: MemberRows,
        moments: Moments | None = None,
        mask: Bool[Tensor, "members rows"] | None = None,
        counts: Int[Tensor, "members rows"] | None = None,
        *,
        overwrite: bool = False,
    ) -> MemberRows:
        """Normalize rows `[members, rows, channels]`.

        Args:
            x: the rows.
            moments: statistics by layer. A layer that is a key uses its statistics; in training, a
                layer that is not a key adds the statistics of its rows.
            mask: which rows are not padding; None without padding.
            counts: how many times each row occurs, at least once; None for once. Not with `mask`.
            overwrite: whether x can be overwritten. There must be no gradients.

        Raises:
            InvalidGraphError: in training with a single row, which has no variance.
        """
        unit = _rounding_unit(x.dtype)
        narrow, x = x.dtype, x.to(_wide(x.dtype))
        if mask is not None:
            # Not a product: infinity times zero is NaN, also in the backward pass.
            x = torch.where(mask[:, :, None], x, 0)
        return self._forward(x, moments, mask, counts, unit, overwrite=overwrite).to(narrow)

    def _forward(
        self,
        x: MemberRows,
        moments: Moments | None,
        mask: Bool[Tensor, "members rows"] | None,
        counts: Int[Tensor, "members rows"] | None,
        unit: float,
        *,
        overwrite: bool,
    ) -> MemberRows:
        """Normalize rows in at least single precision; `unit` is their rounding error."""
        if moments is not None and self in moments:
            return self._normalize(x, *moments[self], mask, unit, overwrite=overwrite)
        if not self.training:
            return self._normalize(x, *self.statistics(), mask, unit, overwrite=overwrite)
        if self.gather is None:
            if x.shape[1] == 0:
                return x
            self._check_rows(x, mask, counts)
        if moments is None and mask is None and counts is None and self._suits_kernel(x):
            mean, variance = own_statistics(x.detach().squeeze(0))
            if all_vary(mean, variance, unit):
                self._track(mean, variance, x.shape[1])
                rows: Tensor = NormalizedRows.apply(  # type: ignore[no-untyped-call]
                    x, self.weight, self.bias, mean, variance, self.epsilon
                )
                return rows
        if moments is None and self.gather is not None and x.device.type == "cpu":
            occurrences = _occurrences(x, mask, counts)
            mean, variance, number = joined_statistics(x, occurrences, self.gather)
            if all_vary(mean, variance, unit):  # the same in all processes
                self._track(mean, variance, number)
                rows = JointlyNormalizedRows.apply(  # type: ignore[no-untyped-call]
                    x,
                    self.weight.to(x.dtype),
                    self.bias.to(x.dtype),
                    mean,
                    variance,
                    number,
                    occurrences,
                    self.epsilon,
                    self.gather,
                )
                return rows if mask is None else torch.where(mask[:, :, None], rows, 0)
        mean, variance = self._measure(x, mask, counts)
        if moments is not None:
            moments[self] = (mean, variance)
        return self._normalize(x, mean, variance, mask, unit, overwrite=overwrite)

    def _check_rows(self, x: MemberRows, mask: Tensor | None, counts: Tensor | None) -> None:
        if x.shape[1] == 1 and mask is None and counts is None:
            raise InvalidGraphError(
                "Batch normalization needs at least two rows in training. Got one graph, node or "
                "edge in the batch. Use larger batches (drop_last=True in a loader), "
                "model.eval(), or norm=None."
            )

    def _suits_kernel(self, x: MemberRows) -> bool:
        """Whether the faster kernel can be used: on the CPU, for one member, in one precision."""
        if self.gather is not None:
            return False
        alone = x.shape[0] == 1 and x.device.type == "cpu" and x.dtype == self.weight.dtype
        return alone and not torch.compiler.is_compiling()

    def _normalize(
        self,
        x: MemberRows,
        mean: Float[Tensor, "members channels"],
        variance: Float[Tensor, "members channels"],
        mask: Bool[Tensor, "members rows"] | None,
        unit: float,
        *,
        overwrite: bool,
    ) -> MemberRows:
        scale, shift = self._coefficients(mean.to(x.dtype), variance.to(x.dtype), unit)
        out = x if overwrite else None
        rows = torch.addcmul(shift[:, None], x, scale[:, None], out=out)
        return rows if mask is None else torch.where(mask[:, :, None], rows, 0)

    def _measure(
        self,
        x: MemberRows,
        mask: Bool[Tensor, "members rows"] | None,
        counts: Int[Tensor, "members rows"] | None,
    ) -> tuple[Float[Tensor, "members channels"], Float[Tensor, "members channels"]]:
        """Compute mean and variance of the rows that are not padding, and update the averages."""
        if self.gather is not None:
            return self._measure_together(x, _occurrences(x, mask, counts))
        inside = None if mask is None else mask[:, :, None]
        if inside is not None:
            rows = inside.sum(1).to(x.dtype)
            mean = x.sum(1) / rows.clamp(min=1)
            centered = torch.where(inside, x - mean[:, None], 0)
            variance = centered.square().sum(1) / rows.clamp(min=1)
        elif counts is not None:
            rows = counts.sum(1, keepdim=True).to(x.dtype)
            share = (counts / rows)[:, :, None]
            mean = (share * x).sum(1)
            variance = (share * (x - mean[:, None]).square()).sum(1)
        else:
            rows = torch.full_like(x[:, :1, 0], x.shape[1])
            mean = x.mean(1)
            variance = (x - mean[:, None]).square().mean(1)
        self._track(mean.detach(), variance.detach(), rows)
        return mean, variance

    def _measure_together(
        self,
        x: MemberRows,
        occurrences: Float[Tensor, "members rows 1"] | None,
    ) -> tuple[Float[Tensor, "members channels"], Float[Tensor, "members channels"]]:
        """Compute mean and variance of the rows of all processes, and update the averages.

        Unlike `joined_statistics`, with gradients: for constant channels and on GPUs.
        """
        assert self.gather is not None
        weight = torch.ones_like(x[:, :, :1]) if occurrences is None else occurrences
        count = weight.sum(1)
        own_mean = (weight * x).sum(1) / count.clamp(min=1)
        own_squares = (weight * (x - own_mean[:, None]).square()).sum(1)
        # [processes, members, channels] each, and [processes, members, 1]
        gathered = self.gather(torch.cat([own_mean, own_squares, count], dim=1))
        means, squares, counts_of = gathered.split([x.shape[2], x.shape[2], 1], dim=2)
        counts_of = counts_of.detach()
        rows = counts_of.sum(0)
        mean = (counts_of * means).sum(0) / rows.clamp(min=1)
        between = (counts_of * (means - mean).square()).sum(0)
        variance = (squares.sum(0) + between) / rows.clamp(min=1)
        self._track(mean.detach(), variance.detach(), rows)
        return mean, variance

    @torch.no_grad()
    def _track(self, mean: Tensor, variance: Tensor, rows: Tensor | int) -> None:
        """Update the running averages with the statistics of a number of rows, `[members, 1]`.

        A member with fewer than two rows has no variance and does not update its averages.
        """
        if isinstance(rows, int):
            unbiased = variance * (rows / (rows - 1))
            share = torch.full_like(self.running_weight, self.momentum)
        else:
            unbiased = variance * (rows / (rows - 1).clamp(min=1))
            share = self.momentum * (rows > 1).to(self.running_weight.dtype)
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), share)
        self.running_weight.lerp_(torch.ones_like(self.running_weight), share)


def _occurrences(
    x: MemberRows,
    mask: Bool[Tensor, "members rows"] | None,
    counts: Int[Tensor, "members rows"] | None,
) -> Float[Tensor, "members rows 1"] | None:
    """How many times each row occurs, 0 for padding; None for once."""
    if mask is None and counts is None:
        return None
    weight = torch.ones_like(x[:, :, :1]) if counts is None else counts[:, :, None].to(x.dtype)
    return weight if mask is None else torch.where(mask[:, :, None], weight, 0)


def share_statistics(network: nn.Module, gather: Callable[[Tensor], Tensor] | None) -> None:
    """Compute the statistics of a network from the rows of all processes that train together.

    Args:
        network: the network.
        gather: function that gathers a tensor of all processes along a new first axis, with
            gradients; None for one process.
    """
    for norm in norms_of(network):
        norm.gather = gather


def norms_of(network: nn.Module) -> list[BatchNorm]:
    """All batch normalizations of a network."""
    return [module for module in network.modules() if isinstance(module, BatchNorm)]


def shares_statistics(network: nn.Module) -> bool:
    """Whether statistics are computed from the rows of several processes."""
    return any(norm.gather is not None for norm in norms_of(network))


def running_moments(network: nn.Module) -> Moments:
    """Running averages of all batch normalizations of a network; none while it is trained."""
    norms = norms_of(network)
    if any(norm.training for norm in norms):
        return {}
    return {norm: norm.statistics() for norm in norms}


def _rounding_unit(dtype: torch.dtype) -> float:
    """Rounding error of statistics of rows, and at least that of the rows."""
    return max(ROUNDING * torch.finfo(_wide(dtype)).eps, torch.finfo(dtype).eps)


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)
