"""Batch normalisation with statistics of its own for each member."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from clipgnn.errors import InvalidGraphError
from clipgnn.shapes import MemberRows

Moments = dict[nn.Module, tuple[Tensor, Tensor]]
"""Mean and variance by layer: measured once, used for all that streams through afterwards."""


class BatchNorm(nn.Module):
    """Batch normalisation over the rows of each member, before the activation.

    Differs from the paper: it is silent about normalisation; without it, 16-CLIP did not learn the
    paper's property tasks (see docs/paper.md).
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self, num_members: int, channels: int, *, epsilon: float = 1e-5, momentum: float = 0.1
    ) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(num_members, channels))
        self.bias = nn.Parameter(torch.zeros(num_members, channels))
        self.register_buffer("running_mean", torch.zeros(num_members, channels))
        self.register_buffer("running_var", torch.ones(num_members, channels))

    def forward(
        self,
        x: MemberRows,
        moments: Moments | None = None,
        real: Bool[Tensor, "members rows"] | None = None,
    ) -> MemberRows:
        """Normalise rows `[members, rows, channels]`.

        Args:
            x: the rows.
            moments: a record of statistics. A layer that finds itself in it uses what is there;
                in training, one that does not measures its rows and enters the result.
            real: which rows statistics are taken from; all without it.

        Raises:
            InvalidGraphError: while training on a single row, which has no variance.
        """
        if moments is not None and self in moments:
            return self._normalise(x, *moments[self])
        if not self.training:
            return self._normalise(x, self.running_mean, self.running_var)
        if x.shape[1] == 0:
            return x
        if x.shape[1] == 1:
            raise InvalidGraphError(
                "Batch normalisation must see at least two rows while training. Got one graph (or "
                "one node) in the batch. Use larger batches (drop_last=True in a loader), "
                "model.eval(), or norm=None."
            )
        if real is not None:
            return self._normalise(x, *self._measure_real(x, real))
        if moments is None and x.shape[0] == 1:
            # torch's own kernel is much the fastest on the CPU; it knows one member only.
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
        variance, mean = torch.var_mean(x, dim=1, correction=0)
        self._track(mean.detach(), variance.detach() * (x.shape[1] / (x.shape[1] - 1)))
        if moments is not None:
            moments[self] = (mean, variance)
        return self._normalise(x, mean, variance)

    def _normalise(
        self,
        x: MemberRows,
        mean: Float[Tensor, "members channels"],
        variance: Float[Tensor, "members channels"],
    ) -> MemberRows:
        scale = self.weight * torch.rsqrt(variance + self.epsilon)
        return torch.addcmul((self.bias - mean * scale)[:, None], x, scale[:, None])

    def _measure_real(
        self, x: MemberRows, real: Bool[Tensor, "members rows"]
    ) -> tuple[Float[Tensor, "members channels"], Float[Tensor, "members channels"]]:
        counted = real[:, :, None].to(x.dtype)
        rows = counted.sum(1)
        mean = (x * counted).sum(1) / rows.clamp(min=1)
        variance = ((x - mean[:, None]).square() * counted).sum(1) / rows.clamp(min=1)
        self._track(mean.detach(), variance.detach() * (rows / (rows - 1).clamp(min=1)))
        return mean, variance

    @torch.no_grad()
    def _track(self, mean: Tensor, unbiased_variance: Tensor) -> None:
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(unbiased_variance, self.momentum)
