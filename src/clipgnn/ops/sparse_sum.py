"""Product of a sparse matrix in CSR form and a dense matrix, with gradients of both factors.

It is one operator for `torch.compile` and `torch.export`. On the CPU the order of summation is that
of the entries in a row, so that results are reproducible.
"""

from typing import Any

import torch
from torch import Tensor

from clipgnn.ops.csr import csr_product
from clipgnn.ops.pointers import inverse_order


def sparse_sum(
    x: Tensor,
    weight: Tensor | None,
    row: Tensor,
    col: Tensor,
    rowptr: Tensor,
    transposed_order: Tensor,
    transposed_rowptr: Tensor,
) -> Tensor:
    """Sum `weight * x[col]` over the entries of each row.

    Args:
        x: `[cols, channels]`.
        weight: factor of each entry; None if all are 1.
        row: row of each entry, ascending.
        col: column of each entry.
        rowptr: entries of row `i` are `rowptr[i]:rowptr[i + 1]`.
        transposed_order: the entries in the order of the transposed matrix's rows.
        transposed_rowptr: row pointers of the transposed matrix.

    Returns:
        `[rows, channels]`; zero where a row has no entries.
    """
    entries = (row, col, rowptr, transposed_order, transposed_rowptr)
    if torch.is_grad_enabled() or torch.compiler.is_compiling() or _is_autocast(x):
        total: Tensor = _traced_sum(x, weight, *entries)
        return total
    return csr_product(rowptr, col, weight, x)  # calling the operator is slow


def _is_autocast(x: Tensor) -> bool:
    return torch.is_autocast_enabled(x.device.type)


@torch.library.custom_op("clipgnn::sparse_sum", mutates_args=())
def _traced_sum(
    x: Tensor,
    weight: Tensor | None,
    row: Tensor,
    col: Tensor,
    rowptr: Tensor,
    transposed_order: Tensor,
    transposed_rowptr: Tensor,
) -> Tensor:
    return csr_product(rowptr, col, weight, x)


@_traced_sum.register_fake
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
        transposed_weight = None if weight is None else weight[order]
        grad_x = _traced_sum(
            grad,
            transposed_weight,
            col[order],
            row[order],
            transposed_rowptr,
            inverse_order(order),
            rowptr,
        )
    if ctx.needs_input_grad[1]:
        grad_weight = (grad[row] * x[col]).sum(1)
    return grad_x, grad_weight, None, None, None, None, None


torch.library.register_autograd("clipgnn::sparse_sum", _backward, setup_context=_setup_context)

# Under autocast, sums are computed in float32, as torch.sum is.
for _device_type in ("cpu", "cuda"):
    torch.library.register_autocast("clipgnn::sparse_sum", _device_type, torch.float32)
