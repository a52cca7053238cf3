"""Sums over consecutive entries, read through a list of neighbors or directly; padding is free.

On a GPU one small kernel does it: a program for each row and block of channels, so that sums have
a fixed order and results do not change from run to run.
"""

from typing import Any

import torch
from torch import Tensor

from clipgnn.graphs.padded import InPlacePattern, PaddedMembership, spread_out
from clipgnn.nn.csr import csr_product


def sum_in_place(pattern: InPlacePattern, x: Tensor) -> Tensor:
    """The sum over the neighbors of each node, `[nodes, channels]`."""
    if x.is_cuda:
        return _gather_sum(x, pattern.begin, pattern.count, pattern.first, pattern.col)
    total: Tensor = _SymmetricSum.apply(x, *pattern.csr)  # type: ignore[no-untyped-call]
    return total


def sum_members(membership: PaddedMembership, x: Tensor) -> Tensor:
    """The sum over the nodes of each graph, `[graphs, channels]`."""
    return _segment_sum(
        x, membership.begin, membership.count, membership.graph_of_node, membership.real
    )


class _SymmetricSum(torch.autograd.Function):
    """A sparse matrix times x, which is its own transpose."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rowptr: Tensor, col: Tensor) -> Tensor:
        ctx.save_for_backward(rowptr, col)
        return csr_product(rowptr, col, None, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return _SymmetricSum.apply(grad, *ctx.saved_tensors), None, None  # type: ignore[no-untyped-call]


@torch.library.custom_op("clipgnn::gather_sum", mutates_args=())
def _gather_sum(x: Tensor, begin: Tensor, count: Tensor, first: Tensor, col: Tensor) -> Tensor:
    return _launch(x, begin, count, first, col)


@_gather_sum.register_fake
def _(x: Tensor, begin: Tensor, *_: Tensor) -> Tensor:
    return x.new_empty(begin.shape[0], x.shape[1])


def _gather_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


def _gather_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return _gather_sum(grad.contiguous(), *ctx.saved_tensors), None, None, None, None


torch.library.register_autograd(
    "clipgnn::gather_sum", _gather_backward, setup_context=_gather_context
)


@torch.library.custom_op("clipgnn::segment_sum", mutates_args=())
def _segment_sum(
    x: Tensor, begin: Tensor, count: Tensor, graph_of_node: Tensor, real: Tensor | None
) -> Tensor:
    if x.is_cuda:
        return _launch(x, begin, count, None, None)
    rowptr, _, node = spread_out(begin, count)
    return csr_product(rowptr, node, None, x)


@_segment_sum.register_fake
def _(x: Tensor, begin: Tensor, *_: Tensor | None) -> Tensor:
    return x.new_empty(begin.shape[0], x.shape[1])


def _segment_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[3:])


def _segment_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    graph_of_node, real = ctx.saved_tensors
    rows = grad[graph_of_node]
    return rows if real is None else rows * real[:, None], None, None, None, None


torch.library.register_autograd(
    "clipgnn::segment_sum", _segment_backward, setup_context=_segment_context
)


def _launch(
    x: Tensor, begin: Tensor, count: Tensor, first: Tensor | None, col: Tensor | None
) -> Tensor:
    from clipgnn.nn.sum_kernel import launch  # needs Triton, which torch brings for GPUs only

    return launch(x.contiguous(), begin, count, first, col)
