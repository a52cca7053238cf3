"""Affine maps with a members axis: many networks' layers as one batched product."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.nn.members import Drawn, draw_uniform
from clipgnn.shapes import MemberRows


class Linear(Drawn):
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

    def reset_parameters(self, generators: Sequence[torch.Generator] | None = None) -> None:
        """Draw weights and biases uniformly within 1/sqrt(in_channels), as torch does."""
        bound = 1 / math.sqrt(max(1, self.weight.shape[1]))
        for parameter in self.parameters():
            draw_uniform(parameter, bound, generators)

    def forward(self, x: MemberRows) -> Float[Tensor, "members rows out_channels"]:
        """Apply the map to rows `[members, rows, in_channels]`."""
        return affine(x, self.weight, self.bias)


def affine(
    x: MemberRows,
    weight: Float[Tensor, "members channels out_channels"],
    bias: Float[Tensor, "members out_channels"] | None,
    plus: Float[Tensor, "members rows out_channels"] | None = None,
) -> Float[Tensor, "members rows out_channels"]:
    """`x @ weight + bias`, member by member; or `x @ weight + plus`."""
    added = plus if bias is None else bias[:, None]
    # Autocast must be able to choose the dtype, so it gets torch's own product.
    split = x.is_cuda and x.shape[1] % _SPLIT == 0 and not torch.is_autocast_enabled("cuda")
    if split:
        product: Tensor = _SplitProduct.apply(x, weight)  # type: ignore[no-untyped-call]
        return product if added is None else product + added
    return torch.bmm(x, weight) if added is None else torch.baddbmm(added, x, weight)


_SPLIT = 32
"""Parts that the rows of a member are divided into for the gradient of a weight on a GPU."""


class _SplitProduct(torch.autograd.Function):
    """`torch.bmm`, with a gradient of the weight that keeps a GPU busy.

    That gradient is a small matrix, summed over thousands of rows. Computed as one product it
    occupies a few multiprocessors only; as a sum over parts of the rows it occupies all of them.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.bmm(x, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        members, rows, channels = x.shape
        parts = (members * _SPLIT, rows // _SPLIT)
        partial = torch.bmm(
            x.reshape(*parts, channels).transpose(1, 2), grad.reshape(*parts, grad.shape[2])
        )
        grad_x = torch.bmm(grad, weight.transpose(1, 2)) if ctx.needs_input_grad[0] else None
        return grad_x, partial.view(members, _SPLIT, channels, -1).sum(1)
