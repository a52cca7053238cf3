"""The 2-layer MLPs φ and ψ: Linear, normalization, activation, Linear."""

import torch
from torch import Tensor, nn

from clipgnn.nn.activation import activation_named
from clipgnn.nn.linear import Linear
from clipgnn.nn.norm import BatchNorm, Moments
from clipgnn.shapes import MemberRows


class MLP(nn.Module):
    """A 2-layer MLP, dense in the continuous functions (Theorem 1).

    It is not called as a whole: its two affine maps meet other affine maps on both sides (the
    previous MLP, a sum, a concatenation), and the caller multiplies those weights together instead
    of passing every node of every coloring through each. `between` is what lies in the middle.

    Args:
        num_members: networks side by side.
        in_channels: channels of what enters.
        hidden_channels: channels in the middle.
        out_channels: channels of the result.
        activation: name of a continuous non-polynomial function.
        norm: "batch", or None for none.
        out_bias: whether the second map has a bias.
    """

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        activation: str,
        norm: str | None,
        out_bias: bool = True,
    ) -> None:
        super().__init__()
        self.activation = activation_named(activation)
        self.first = Linear(num_members, in_channels, hidden_channels)
        self.norm = BatchNorm(num_members, hidden_channels) if norm == "batch" else None
        self.second = Linear(num_members, hidden_channels, out_channels, bias=out_bias)

    def between(
        self, x: MemberRows, moments: Moments | None = None, real: Tensor | None = None
    ) -> MemberRows:
        """Normalization and activation of what the first map returned; see `BatchNorm`."""
        if self.norm is not None:
            # Under autocast rows have a lower precision than statistics, which need the higher one.
            x = x.to(torch.promote_types(x.dtype, self.norm.weight.dtype))
            x = self.norm(x, moments, real)
        return self.activation(x)
