"""Launches of the products with the rows of a batch."""

from typing import NamedTuple

from torch import Tensor

from clipgnn.ops.kernels import rows as kernels
from clipgnn.ops.kernels.launch.layout import MANY_TILES, ONE_TILE, ROWS, Layout

WEIGHT_PARTS = 32
"""Partial sums of the gradient of a weight, for each member."""


class MessageGradient(NamedTuple):
    """Messages and their gradient, which `load_gradient` reads before their normalization.

    Attributes:
        message: messages before their normalization.
        grad: gradient after their normalization.
        coefficients: coefficients of the normalization.
        gradient: coefficients of its gradient.
    """

    message: Tensor
    grad: Tensor
    coefficients: Tensor
    gradient: Tensor


def multiply_rows(
    layout: Layout,
    x: Tensor,
    coefficients: Tensor,
    merged: Tensor,
    message: Tensor,
    own: Tensor,
    moments: Tensor,
) -> None:
    """Normalize, activate and multiply rows."""
    kernels.multiply_rows[layout.grid](
        x,
        coefficients,
        merged,
        message,
        own,
        moments,
        *layout.sizes,
        layout.tiles,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )


def multiply_rows_backward(
    layout: Layout,
    x: Tensor,
    coefficients: Tensor,
    merged: Tensor,
    of_message: MessageGradient,
    grad_own: Tensor,
    sums: Tensor,
) -> None:
    """Gradient of x after its normalization; it replaces `grad_own`."""
    kernels.multiply_rows_backward[layout.grid](
        x,
        coefficients,
        merged,
        *of_message,
        grad_own,
        sums,
        *layout.sizes,
        layout.tiles,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )


def sum_products(
    layout: Layout,
    before: tuple[Tensor, Tensor] | None,
    total: Tensor,
    of_message: MessageGradient,
    grad_own: Tensor,
) -> Tensor:
    """Gradient of the merged weights; `before` is None for the first layer.

    Args:
        layout: sizes.
        before: rows before the products, and coefficients of their normalization.
        total: sums over neighbors.
        of_message: messages and their gradient.
        grad_own: gradient of ψ before the normalization.
    """
    parts = layout.new(WEIGHT_PARTS, 3 * layout.channels**2)
    kernels.sum_products[(WEIGHT_PARTS, layout.members, 1 if before is None else 3)](
        *(before or (total, total)),
        total,
        *of_message,
        grad_own,
        parts,
        *layout.sizes,
        FIRST=before is None,
        PARTS=WEIGHT_PARTS,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **MANY_TILES,
    )
    return parts.sum(1)
