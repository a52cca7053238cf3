"""Sums over segments of consecutive rows, with padding between segments."""

from typing import Any

import torch
from torch import Tensor

from clipgnn.ops.csr import csr_product
from clipgnn.ops.pointers import expand_segments


@torch.library.custom_op("clipgnn::segment_sum", mutates_args=())
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
    if x.is_cuda:
        from clipgnn.ops.sum_kernel import launch  # requires Triton, for GPUs only

        return launch(x.contiguous(), begin, count, None, None, None)
    pointers, _, row = expand_segments(begin, count)
    return csr_product(pointers, row, None, x)


@segment_sum.register_fake
def _(x: Tensor, begin: Tensor, *_: Tensor | None) -> Tensor:
    return x.new_empty(begin.shape[0], x.shape[1])


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[3:])


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    segment, mask = ctx.saved_tensors
    rows = grad[segment]
    return rows if mask is None else rows * mask[:, None], None, None, None, None


torch.library.register_autograd("clipgnn::segment_sum", _backward, setup_context=_setup_context)
