"""Sums over segments of consecutive rows, with padding between segments."""

from typing import Any

import torch
from torch import Tensor

from clipgnn.ops.csr import csr_product
from clipgnn.ops.pointers import expand_segments


def segment_sum(
    x: Tensor, begin: Tensor, count: Tensor, segment: Tensor, mask: Tensor | None
) -> Tensor:
    """Sum the rows `begin[s] : begin[s] + count[s]` of each segment s: `[segments, channels]`.

    Args:
        x: `[rows, channels]`.
        begin: first row of each segment.
        count: number of rows of each segment.
        segment: segment of each row; any value for padding.
        mask: which rows are not padding; None without padding.
    """
    if torch.compiler.is_compiling():
        return _traced_sum(x, begin, count, segment, mask)
    # Calling the operator otherwise is slow, and imports the compiler.
    total: Tensor = _SegmentSum.apply(x, begin, count, segment, mask)  # type: ignore[no-untyped-call]
    return total


def _sum(x: Tensor, begin: Tensor, count: Tensor, segment: Tensor, mask: Tensor | None) -> Tensor:
    if x.is_cuda:
        from clipgnn.ops.kernels.sums import launch  # requires Triton, for GPUs only

        return launch(x.contiguous(), begin, count, None, None, None)
    pointers, _, row = expand_segments(begin, count)
    return csr_product(pointers, row, None, x)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    segment, mask = ctx.saved_tensors
    rows = grad.index_select(0, segment)
    return rows if mask is None else rows * mask[:, None], None, None, None, None


class _SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *segments: Any) -> Tensor:
        ctx.save_for_backward(*segments[2:])
        return _sum(x, *segments)

    backward = staticmethod(_backward)


_traced_sum = torch.library.custom_op("clipgnn::segment_sum", _sum, mutates_args=())


@_traced_sum.register_fake
def _(x: Tensor, begin: Tensor, *_: Tensor | None) -> Tensor:
    return x.new_empty(begin.shape[0], x.shape[1])


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[3:])


torch.library.register_autograd("clipgnn::segment_sum", _backward, setup_context=_setup_context)
