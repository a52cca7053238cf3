"""Batched matrix products with a gradient that uses the whole GPU."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

_SPLIT = 32
"""Number of parts of the rows of a member for the gradient of a weight on a GPU."""


def affine(
    x: Float[Tensor, "members rows channels"],
    weight: Float[Tensor, "members channels out_channels"],
    bias: Float[Tensor, "members out_channels"] | None,
) -> Float[Tensor, "members rows out_channels"]:
    """Compute `x @ weight + bias` for each member."""
    if _splits(x):
        product: Tensor = _SplitProduct.apply(x, weight)  # type: ignore[no-untyped-call]
        return product if bias is None else product + bias[:, None]
    if bias is None:
        return torch.bmm(x, weight)
    if x.device.type == "cpu" and _can_overwrite(x):  # faster than baddbmm, which copies the bias
        return torch.bmm(x, weight).add_(bias[:, None])
    return torch.baddbmm(bias[:, None], x, weight)


def add_product(
    total: Float[Tensor, "members rows out_channels"],
    x: Float[Tensor, "members rows channels"],
    weight: Float[Tensor, "members channels out_channels"],
) -> Float[Tensor, "members rows out_channels"]:
    """Compute `total + x @ weight` for each member; without gradients, `total` is overwritten."""
    if _splits(x):
        product: Tensor = _SplitProduct.apply(x, weight)  # type: ignore[no-untyped-call]
        return total + product
    return total.baddbmm_(x, weight) if _can_overwrite(x) else torch.baddbmm(total, x, weight)


def _can_overwrite(x: Tensor) -> bool:
    """Whether to compute in place: it is slow on views with gradients, and converts no inputs."""
    return not (torch.is_grad_enabled() or torch.is_autocast_enabled(x.device.type))


def _splits(x: Tensor) -> bool:
    # Under autocast, torch.bmm chooses the dtype.
    return x.is_cuda and x.shape[1] % _SPLIT == 0 and not torch.is_autocast_enabled("cuda")


class _SplitProduct(torch.autograd.Function):
    """`torch.bmm`, with a gradient of the weight that uses the whole GPU.

    That gradient is a small matrix, summed over thousands of rows. As one product it uses only a
    few multiprocessors; as a sum over parts of the rows it uses all of them.
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
        # [members * parts, channels, out_channels]
        partial = torch.bmm(
            x.reshape(*parts, channels).transpose(1, 2), grad.reshape(*parts, grad.shape[2])
        )
        grad_x = torch.bmm(grad, weight.transpose(1, 2)) if ctx.needs_input_grad[0] else None
        return grad_x, partial.view(members, _SPLIT, channels, -1).sum(1)
