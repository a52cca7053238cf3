"""Affine maps with a members axis: many networks' layers as one batched product."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.shapes import MemberRows


class Linear(nn.Module):
    """`x @ weight + bias` for each member, on that member's own rows.

    Attributes:
        weight: `[members, in_channels, out_channels]`.
        bias: `[members, out_channels]`, or None.
    """

    def __init__(
        self, num_members: int, in_channels: int, out_channels: int, *, bias: bool = True
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_members, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(num_members, out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw weights and biases uniformly within 1/sqrt(in_channels), as torch does."""
        bound = 1 / math.sqrt(max(1, self.weight.shape[1]))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def forward(self, x: MemberRows) -> Float[Tensor, "members rows out_channels"]:
        """Apply the map to rows `[members, rows, in_channels]`."""
        return affine(x, self.weight, self.bias)


def affine(
    x: MemberRows,
    weight: Float[Tensor, "members channels out_channels"],
    bias: Float[Tensor, "members out_channels"] | None,
) -> Float[Tensor, "members rows out_channels"]:
    """`x @ weight + bias`, member by member."""
    if bias is None:
        return torch.bmm(x, weight)
    return torch.baddbmm(bias[:, None], x, weight)
