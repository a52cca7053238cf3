"""Segments of consecutive rows, by pointers and by counts."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from clipgnn.ops.pointers import (
    expand_segments,
    inverse_order,
    pointers_from_counts,
    pointers_from_index,
)

counts_lists = st.lists(st.integers(0, 4), min_size=1, max_size=6)


@given(counts_lists)
def test_pointers_of_counts_and_of_an_index(counts: list[int]) -> None:
    expected = [sum(counts[:place]) for place in range(len(counts) + 1)]
    index = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    assert pointers_from_counts(torch.tensor(counts)).tolist() == expected
    assert pointers_from_index(index, len(counts)).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=6))
def test_expanded_segments_are_concatenated_ranges(ranges: list[tuple[int, int]]) -> None:
    begin, count = torch.tensor(ranges).t()
    pointers, segment, entry = expand_segments(begin, count)
    listed = [(number, b + i) for number, (b, c) in enumerate(ranges) for i in range(c)]
    assert list(zip(segment.tolist(), entry.tolist(), strict=True)) == listed
    assert pointers.diff().tolist() == count.tolist()


@given(st.permutations(range(9)))
def test_inverse_order_undoes_an_order(order: list[int]) -> None:
    values = torch.arange(9) * 10
    chosen = torch.tensor(order)
    assert torch.equal(values[chosen][inverse_order(chosen)], values)
