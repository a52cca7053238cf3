"""Sums over neighbors: one sparse product for all colorings and channels at once.

Registered as an operator, so that `torch.compile` and `torch.export` take it as one node. On the
CPU the order of summation is that of the entries in a row: results do not change from run to run.
"""

from typing import Any

import torch
from torch import Tensor

from clipgnn.graphs.padded import InPlacePattern, PaddedMembership
from clipgnn.graphs.sparse import SparsePattern, inverse_order
from clipgnn.nn.csr import csr_product
from clipgnn.nn.gather_sum import sum_in_place, sum_members


def sparse_sum(
    pattern: SparsePattern | InPlacePattern | PaddedMembership,
    x: Tensor,
    weight: Tensor | None = None,
) -> Tensor:
    """Row i of the result is the sum of `weight * x[col]` over the entries of row i of the pattern.

    Args:
        pattern: which rows of x are summed into which.
        x: `[cols, channels]`.
        weight: one factor for each entry, in the order of the pattern; all ones without it.

    Returns:
        `[rows, channels]`; zero where a row has no entries.
    """
    if isinstance(pattern, InPlacePattern):
        return sum_in_place(pattern, x)
    if isinstance(pattern, PaddedMembership):
        return sum_members(pattern, x)
    return _sparse_sum(
        x,
        weight,
        pattern.row,
        pattern.col,
        pattern.rowptr,
        pattern.transposed_order,
        pattern.transposed_rowptr,
    )


@torch.library.custom_op("clipgnn::sparse_sum", mutates_args=())
def _sparse_sum(
    x: Tensor,
    weight: Tensor | None,
    row: Tensor,
    col: Tensor,
    rowptr: Tensor,
    transposed_order: Tensor,
    transposed_rowptr: Tensor,
) -> Tensor:
    return csr_product(rowptr, col, weight, x)


@_sparse_sum.register_fake
def _(
    x: Tensor, weight: Tensor | None, row: Tensor, col: Tensor, rowptr: Tensor, *_: Tensor
) -> Tensor:
    return x.new_empty(rowptr.shape[0] - 1, x.shape[1])


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weight, *pattern = inputs
    needs_x = weight is not None and weight.requires_grad
    ctx.save_for_backward(x if needs_x else None, weight, *pattern)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, weight, row, col, rowptr, order, transposed_rowptr = ctx.saved_tensors
    grad_x = grad_weight = None
    if ctx.needs_input_grad[0]:
        back = None if weight is None else weight[order]
        grad_x = _sparse_sum(
            grad, back, col[order], row[order], transposed_rowptr, inverse_order(order), rowptr
        )
    if ctx.needs_input_grad[1]:
        grad_weight = (grad[row] * x[col]).sum(1)
    return grad_x, grad_weight, None, None, None, None, None


torch.library.register_autograd("clipgnn::sparse_sum", _backward, setup_context=_setup_context)

# Under autocast, sums are computed in float32, as torch's own are.
for _device_type in ("cpu", "cuda"):
    torch.library.register_autocast("clipgnn::sparse_sum", _device_type, torch.float32)
