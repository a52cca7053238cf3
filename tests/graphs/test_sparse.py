"""Sparse patterns against dense matrices."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from clipgnn.graphs.sparse import SparsePattern
from clipgnn.ops.pointers import pointers_from_index

ROWS, COLS = 5, 4
entries = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, COLS - 1)), max_size=20)
some_entries = entries.filter(bool)


def pattern_of(pairs: list[tuple[int, int]]) -> tuple[SparsePattern, Tensor, Tensor]:
    """The pattern, the order it reports, and the entries as they were given."""
    given_entries = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    pattern, order = SparsePattern.from_entries(
        given_entries[:, 0], given_entries[:, 1], ROWS, COLS
    )
    return pattern, order, given_entries


def dense(row: Tensor, col: Tensor, shape: tuple[int, int], values: Tensor) -> Tensor:
    """The matrix with these entries; those in one place add up."""
    return torch.zeros(shape, dtype=torch.float64).index_put_((row, col), values, accumulate=True)


def powers(count: int) -> Tensor:
    """Values that no two different subsets share the sum of."""
    return 2.0 ** torch.arange(count, dtype=torch.float64)


@given(entries)
def test_entries_are_sorted_by_row_and_none_is_lost(pairs: list[tuple[int, int]]) -> None:
    pattern, order, given_entries = pattern_of(pairs)
    values = powers(len(pairs))
    expected = dense(given_entries[:, 0], given_entries[:, 1], (ROWS, COLS), values)
    assert torch.equal(dense(pattern.row, pattern.col, (ROWS, COLS), values[order]), expected)
    assert bool((pattern.row.diff() >= 0).all())


@given(entries)
def test_pointers_bound_the_entries_of_a_row(pairs: list[tuple[int, int]]) -> None:
    pattern, _, _ = pattern_of(pairs)
    assert len(pattern.rowptr) == ROWS + 1
    for row in range(ROWS):
        inside = pattern.row[pattern.rowptr[row] : pattern.rowptr[row + 1]]
        assert inside.tolist() == [row] * sum(pair[0] == row for pair in pairs)


@given(some_entries)
def test_the_transposed_pattern_is_that_of_the_transposed_matrix(
    pairs: list[tuple[int, int]],
) -> None:
    pattern, _, _ = pattern_of(pairs)
    values = powers(len(pairs))
    transposed = pattern.transposed()
    matrix = dense(pattern.row, pattern.col, (ROWS, COLS), values)
    carried = values[pattern.transposed_order]
    assert torch.equal(dense(transposed.row, transposed.col, (COLS, ROWS), carried), matrix.t())
    assert bool((transposed.row.diff() >= 0).all())
    assert torch.equal(transposed.rowptr, pointers_from_index(pattern.col, COLS))


@given(some_entries)
def test_transposing_twice_gives_the_pattern_back(pairs: list[tuple[int, int]]) -> None:
    pattern, _, _ = pattern_of(pairs)
    again = pattern.transposed().transposed()
    for name in ("row", "col", "rowptr", "transposed_order", "transposed_rowptr"):
        assert torch.equal(getattr(again, name), getattr(pattern, name)), name


def test_entries_of_a_row_keep_their_order() -> None:
    """Sums run in the order of the entries: a stable sort makes them reproducible."""
    pattern, order, _ = pattern_of([(2, 3), (0, 1), (2, 0), (0, 1), (2, 1)])
    assert order.tolist() == [1, 3, 0, 2, 4]
    assert pattern.col.tolist() == [1, 1, 3, 0, 1]


def test_segments_are_the_matrix_that_sums_them() -> None:
    row = torch.tensor([0, 0, 2, 2, 2])
    pattern = SparsePattern.segments(row, 4)
    expected = torch.tensor(
        [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0]], dtype=torch.float64
    )
    ones = torch.ones(5, dtype=torch.float64)
    assert torch.equal(dense(pattern.row, pattern.col, (4, 5), ones), expected)
    assert pattern.rowptr.tolist() == [0, 2, 2, 5, 5]
    transposed = pattern.transposed()
    assert torch.equal(dense(transposed.row, transposed.col, (5, 4), ones), expected.t())
    assert transposed.rowptr.tolist() == [0, 1, 2, 3, 4, 5]
