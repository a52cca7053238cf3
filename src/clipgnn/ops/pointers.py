"""Segments of consecutive rows, as counts or as pointers to their first rows."""

import torch
from torch import Tensor
from torch.nn import functional


def pointers_from_index(index: Tensor, size: int) -> Tensor:
    """Pointers `[size + 1]` of segments from the sorted segment numbers `index` of the rows."""
    counts = torch.zeros(size + 1, dtype=torch.int64, device=index.device)
    counts.index_add_(0, index + 1, torch.ones_like(index))
    return counts.cumsum(0)


def pointers_from_counts(counts: Tensor) -> Tensor:
    """Pointers `[segments + 1]` of segments from their numbers of rows."""
    return functional.pad(counts.cumsum(0), (1, 0))


def expand_segments(begin: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Concatenate the ranges `begin[s] : begin[s] + count[s]`.

    Returns:
        Pointers `[segments + 1]`, the segment of each entry, and the entries.
    """
    pointers = pointers_from_counts(count)
    segment = torch.arange(count.numel(), device=count.device).repeat_interleave(count)
    position = torch.arange(segment.numel(), device=count.device)
    return pointers, segment, position + (begin - pointers[:-1])[segment]


def inverse_order(order: Tensor) -> Tensor:
    """Inverse of the permutation `order`."""
    positions = torch.arange(order.numel(), device=order.device)
    return torch.empty_like(order).scatter_(0, order, positions)
