"""The Triton kernel of `gather_sum` and `segment_sum`."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from clipgnn.ops.kernels.kernel import OPTIONS


def launch(
    x: Tensor,
    begin: Tensor,
    count: Tensor,
    first: Tensor | None,
    col: Tensor | None,
    weight: Tensor | None,
) -> Tensor:
    """Sum rows of x for each row r, over entries e from `begin[r]` to `begin[r] + count[r] - 1`.

    Entry e contributes row `first[r] + col[e]` of x times `weight[e]`, or row e without `col`.
    """
    rows, channels = begin.numel(), x.shape[1]
    result = torch.empty(rows, channels, dtype=x.dtype, device=x.device)
    block = min(1024, triton.next_power_of_2(channels))
    _sum_kernel[(rows, triton.cdiv(channels, block))](
        x,
        begin,
        count,
        begin if first is None else first,
        begin if col is None else col,
        x if weight is None else weight,
        result,
        channels,
        INDIRECT=col is not None,
        WEIGHTED=weight is not None,
        SUM=tl.float64 if x.dtype == torch.float64 else tl.float32,
        BLOCK=block,
        num_warps=max(1, min(8, block // 128)),
        **OPTIONS,
    )
    return result


@triton.jit
def _sum_kernel(
    x,
    begin,
    count,
    first,
    col,
    weight,
    result,
    channels,
    INDIRECT: tl.constexpr,
    WEIGHTED: tl.constexpr,
    SUM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    start = tl.load(begin + row)
    length = tl.load(count + row)
    offset = tl.load(first + row)
    total = tl.zeros((BLOCK,), dtype=SUM)
    for index in range(length):
        entry = start + index
        source = entry
        if INDIRECT:
            source = offset + tl.load(col + entry)
        values = tl.load(x + source * channels + channel, mask=inside, other=0.0).to(SUM)
        if WEIGHTED:
            values *= tl.load(weight + entry).to(SUM)
        total += values
    tl.store(result + row * channels + channel, total, mask=inside)
