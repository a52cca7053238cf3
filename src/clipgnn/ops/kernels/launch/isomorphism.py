"""Launches of the kernels of GIN."""

from typing import NamedTuple

from torch import Tensor

from clipgnn.ops.gather_sum import Neighbors
from clipgnn.ops.kernels import isomorphism as kernels
from clipgnn.ops.kernels.launch import rows
from clipgnn.ops.kernels.launch.layout import MANY_TILES, ONE_TILE, ROWS, Layout


class Normalized(NamedTuple):
    """Rows before their normalization, and its coefficients."""

    rows: Tensor
    coefficients: Tensor


class NormGradient(NamedTuple):
    """A gradient after a normalization.

    Attributes:
        grad: the gradient.
        before: the rows before the normalization.
        gradient: coefficients of the gradient of the normalization.
    """

    grad: Tensor
    before: Normalized
    gradient: Tensor


class SumGradient(NamedTuple):
    """Gradient of sums over graphs, `[members, graphs, colorings, channels]`.

    Attributes:
        grad: the gradient.
        graph_of_node: graph of each node.
    """

    grad: Tensor
    graph_of_node: Tensor


def multiply(layout: Layout, x: Normalized, weight: Tensor, moments: Tensor) -> Tensor:
    """Normalize, activate and multiply rows; store the moments of the product."""
    product = layout.new_rows()
    kernels.multiply[layout.grid](
        *x,
        weight,
        product,
        moments,
        *layout.sizes,
        layout.tiles,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )
    return product


def multiply_backward(
    layout: Layout,
    x: Normalized,
    weight: Tensor,
    of_product: NormGradient | Tensor,
    of_sums: SumGradient | None,
    sums: Tensor,
) -> Tensor:
    """Gradient of x after its normalization.

    Args:
        layout: sizes.
        x: the rows that were multiplied.
        weight: the weight.
        of_product: gradient of the product. A gradient after its normalization is replaced by the
            one before it.
        of_sums: gradient of the sums of x over graphs; None if they were not computed.
        sums: where sums of the gradient are stored for each tile.
    """
    normalized = isinstance(of_product, NormGradient)
    if isinstance(of_product, NormGradient):
        grad_product, product, gradient = of_product
    else:
        grad_product, product, gradient = of_product, x, sums
    grad_total, graph_of_node = of_sums or (sums, sums)
    grad_x = layout.new_rows()
    kernels.multiply_backward[layout.grid](
        *x,
        weight,
        product.rows,
        grad_product,
        product.coefficients,
        gradient,
        graph_of_node,
        grad_total,
        grad_x,
        sums,
        grad_total.shape[1],
        *layout.sizes,
        layout.tiles,
        NORMALIZED=normalized,
        SUMMED=of_sums is not None,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )
    return grad_x


def sum_products(layout: Layout, x: Normalized, grad_product: Tensor) -> Tensor:
    """Gradient of the weight of `multiply`, `[members, channels, channels]`."""
    parts = layout.new(rows.WEIGHT_PARTS, layout.channels, layout.channels)
    kernels.sum_products[(rows.WEIGHT_PARTS, layout.members)](
        *x,
        grad_product,
        parts,
        *layout.sizes,
        PARTS=rows.WEIGHT_PARTS,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **MANY_TILES,
    )
    return parts.sum(1)


def sum_neighborhoods(layout: Layout, edges: Neighbors, x: Tensor, moments: Tensor) -> Tensor:
    """Sum the rows of each node and of its neighbors; store the moments of the sums."""
    total = layout.new_rows()
    _sum_neighborhoods(layout, edges, x, total, moments, moments, total, moments, backward=False)
    return total


def sum_neighborhoods_backward(
    layout: Layout, edges: Neighbors, of_sums: NormGradient, into: Tensor
) -> None:
    """Gradient of the rows, stored in `into`; padding is not changed.

    Args:
        layout: sizes.
        edges: for each node, the nodes that have it as a neighbor.
        of_sums: gradient of the sums.
        into: where it is stored.
    """
    grad, before, gradient = of_sums
    _sum_neighborhoods(layout, edges, grad, *before, gradient, into, gradient, backward=True)


def _sum_neighborhoods(
    layout: Layout,
    edges: Neighbors,
    x: Tensor,
    total: Tensor,
    coefficients: Tensor,
    gradient: Tensor,
    result: Tensor,
    moments: Tensor,
    *,
    backward: bool,
) -> None:
    kernels.sum_neighborhoods[layout.grid](
        x,
        total,
        coefficients,
        gradient,
        edges.begin,
        edges.count,
        edges.first,
        edges.col,
        x if edges.weight is None else edges.weight,
        result,
        moments,
        *layout.sizes,
        layout.tiles,
        BACKWARD=backward,
        WEIGHTED=edges.weight is not None,
        ROWS=ROWS,
        WIDTH=layout.width,
    )
