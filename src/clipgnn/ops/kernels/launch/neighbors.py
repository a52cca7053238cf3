"""Launches of the sums over neighbors."""

from torch import Tensor

from clipgnn.ops.gather_sum import Neighbors
from clipgnn.ops.kernels import neighbors as kernels
from clipgnn.ops.kernels.launch.layout import ONE_TILE, ROWS, Layout


def sum_neighbors(
    layout: Layout,
    edges: Neighbors,
    message: Tensor,
    coefficients: Tensor,
    own: Tensor,
    merged: Tensor,
    total: Tensor | None,
    moments: Tensor,
) -> None:
    """Normalize, activate, sum and multiply messages; `total` is None if not kept."""
    kernels.sum_neighbors[layout.grid](
        message,
        coefficients,
        edges.begin,
        edges.count,
        edges.first,
        edges.col,
        message if edges.weight is None else edges.weight,
        own,
        merged,
        message if total is None else total,
        moments,
        *layout.sizes,
        layout.tiles,
        WEIGHTED=edges.weight is not None,
        KEEP=total is not None,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )


def sum_neighbors_backward(
    layout: Layout,
    own: Tensor,
    grad_own: Tensor,
    coefficients: Tensor,
    gradient: Tensor,
    merged: Tensor,
    grad_total: Tensor,
) -> None:
    """Gradient of the sums over neighbors; `grad_own` is replaced by the one before its norm."""
    kernels.sum_neighbors_backward[layout.grid](
        own,
        grad_own,
        coefficients,
        gradient,
        merged,
        grad_total,
        *layout.sizes,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )


def send_to_neighbors(
    layout: Layout,
    edges: Neighbors,
    message: Tensor,
    coefficients: Tensor,
    grad_total: Tensor,
    grad_message: Tensor,
    sums: Tensor,
) -> None:
    """Gradient of the messages after their normalization."""
    kernels.send_to_neighbors[layout.grid](
        message,
        coefficients,
        edges.begin,
        edges.count,
        edges.first,
        edges.col,
        grad_total if edges.weight is None else edges.weight,
        grad_total,
        grad_message,
        sums,
        *layout.sizes,
        layout.tiles,
        WEIGHTED=edges.weight is not None,
        ROWS=ROWS,
        WIDTH=layout.width,
    )
