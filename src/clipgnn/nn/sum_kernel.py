"""The Triton kernel behind `gather_sum`."""

# mypy: ignore-errors
import torch
import triton
import triton.language as tl
from torch import Tensor


def launch(
    x: Tensor, begin: Tensor, count: Tensor, first: Tensor | None, col: Tensor | None
) -> Tensor:
    """Row r sums rows `first[r] + col[begin[r] + i]` of x, or rows `begin[r] + i` without col."""
    rows, channels = begin.numel(), x.shape[1]
    result = torch.empty(rows, channels, dtype=x.dtype, device=x.device)
    block = min(1024, triton.next_power_of_2(channels))
    _sum_kernel[(rows, triton.cdiv(channels, block))](
        x,
        begin,
        count,
        begin if first is None else first,
        begin if col is None else col,
        result,
        channels,
        THROUGH=col is not None,
        BLOCK=block,
        num_warps=max(1, min(8, block // 128)),
    )
    return result


@triton.jit
def _sum_kernel(
    x, begin, count, first, col, result, channels, THROUGH: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    start = tl.load(begin + row)
    length = tl.load(count + row)
    offset = tl.load(first + row)
    total = tl.zeros((BLOCK,), dtype=result.dtype.element_ty)
    for entry in range(length):
        source = start + entry
        if THROUGH:
            source = offset + tl.load(col + source)
        total += tl.load(x + source * channels + channel, mask=inside, other=0.0)
    tl.store(result + row * channels + channel, total, mask=inside)
