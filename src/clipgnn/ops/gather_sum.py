"""Sums over neighbors that are read from a table shared by all batches of a data set.

On a GPU a Triton kernel computes them, with one program for each row and block of channels. The
order of summation is fixed, so that results are reproducible. Rows of padding have no neighbors and
cost nothing. On the CPU the CSR product of torch is used.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from clipgnn.ops.csr import csr_product
from clipgnn.ops.pointers import expand_segments


class CSR(NamedTuple):
    """A sparse matrix: row pointers, columns, and weights (None if all are 1)."""

    rowptr: Tensor
    col: Tensor
    weight: Tensor | None


@dataclass(frozen=True)
class Neighbors:
    """Neighbors of rows: those of row r are `first[r] + col[begin[r] : begin[r] + count[r]]`.

    Attributes:
        begin: first entry of each row in the table.
        count: number of entries of each row; 0 for padding.
        first: offset of the columns of each row: first node, or edge, of its graph in the batch.
        col: the table, with columns numbered within their graph.
        weight: factor of each entry of the table; None if all are 1.
    """

    begin: Int[Tensor, "rows"]
    count: Int[Tensor, "rows"]
    first: Int[Tensor, "rows"]
    col: Int[Tensor, "entries"]
    weight: Float[Tensor, "entries"] | None

    @cached_property
    def csr(self) -> CSR:
        """The neighbors as a sparse matrix, computed once."""
        rowptr, row, entry = expand_segments(self.begin, self.count)
        weight = None if self.weight is None else self.weight[entry]
        return CSR(rowptr, self.first[row] + self.col[entry], weight)

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
        """All fields, in order."""
        return self.begin, self.count, self.first, self.col, self.weight


def gather_sum(x: Tensor, neighbors: Neighbors, transposed: Neighbors) -> Tensor:
    """Sum weighted rows of x over the neighbors of each row: `[rows, channels]`.

    Args:
        x: `[cols, channels]`.
        neighbors: the neighbors of each row.
        transposed: for each column, the rows that have it as a neighbor, for the gradient.
    """
    if x.is_cuda:
        return _gather_sum(x, *neighbors.tensors, *transposed.tensors)
    total: Tensor = _CSRProduct.apply(x, neighbors.csr, transposed.csr)  # type: ignore[no-untyped-call]
    return total


class _CSRProduct(torch.autograd.Function):
    """Product of a sparse matrix and x, with the transposed matrix for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: CSR, transposed: CSR) -> Tensor:
        ctx.matrix, ctx.transposed = matrix, transposed
        return csr_product(*matrix, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return _CSRProduct.apply(grad, ctx.transposed, ctx.matrix), None, None  # type: ignore[no-untyped-call]


@torch.library.custom_op("clipgnn::gather_sum", mutates_args=())
def _gather_sum(
    x: Tensor,
    begin: Tensor,
    count: Tensor,
    first: Tensor,
    col: Tensor,
    weight: Tensor | None,
    transposed_begin: Tensor,
    transposed_count: Tensor,
    transposed_first: Tensor,
    transposed_col: Tensor,
    transposed_weight: Tensor | None,
) -> Tensor:
    from clipgnn.ops.kernels.sums import (
        launch,  # requires Triton, which is installed with torch for GPUs only
    )

    return launch(x.contiguous(), begin, count, first, col, weight)


@_gather_sum.register_fake
def _(x: Tensor, begin: Tensor, *_: Tensor | None) -> Tensor:
    return x.new_empty(begin.shape[0], x.shape[1])


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    saved = ctx.saved_tensors
    return _gather_sum(grad.contiguous(), *saved[5:], *saved[:5]), *[None] * 10


torch.library.register_autograd("clipgnn::gather_sum", _backward, setup_context=_setup_context)


def gather_rows(x: Tensor, index: Int[Tensor, "rows"], transposed: Neighbors) -> Tensor:
    """Gather the rows `x[index]`, with a gradient that sums in a fixed order.

    Args:
        x: `[cols, channels]`.
        index: the column of each row.
        transposed: for each column, the rows that read it. Rows that are missing here are padding,
            and their gradient is zero.
    """
    if x.is_cuda:
        return _gather_rows(x, index, *transposed.tensors[:4])
    return x.index_select(0, index)


@torch.library.custom_op("clipgnn::gather_rows", mutates_args=())
def _gather_rows(
    x: Tensor, index: Tensor, begin: Tensor, count: Tensor, first: Tensor, col: Tensor
) -> Tensor:
    return x.index_select(0, index)


@_gather_rows.register_fake
def _(x: Tensor, index: Tensor, *_: Tensor) -> Tensor:
    return x.new_empty(index.shape[0], x.shape[1])


def _rows_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[2:])


def _rows_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    lists = ctx.saved_tensors
    return _gather_sum(grad.contiguous(), *lists, None, *lists, None), *[None] * 5


torch.library.register_autograd("clipgnn::gather_rows", _rows_backward, setup_context=_rows_context)
