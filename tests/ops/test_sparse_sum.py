"""Sums over neighbors against dense products, with first and second derivatives."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from clipgnn.graphs.sparse import SparsePattern

ROWS, COLS, CHANNELS = 5, 4, 3
SOME = [(0, 1), (0, 1), (2, 3), (3, 0), (3, 1), (3, 3), (2, 2)]
"""Row 1 and row 4 are empty; one entry occurs twice."""

Pairs = list[tuple[int, int]]
every_pattern = pytest.mark.parametrize(
    "pairs", [SOME, [(4, 0)], []], ids=["some", "one", "no entries"]
)
with_and_without_weights = pytest.mark.parametrize("weighted", [False, True])


def example(
    pairs: Pairs, dtype: torch.dtype = torch.float64
) -> tuple[SparsePattern, Tensor, Tensor]:
    """A pattern with these entries, rows to sum, and a weight for each entry."""
    entries = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    pattern, _ = SparsePattern.from_entries(entries[:, 0], entries[:, 1], ROWS, COLS)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(COLS, CHANNELS, dtype=dtype, generator=generator)
    return pattern, x, torch.randn(len(pairs), dtype=dtype, generator=generator)


def dense(pattern: SparsePattern, weight: Tensor) -> Tensor:
    matrix = torch.zeros(ROWS, COLS, dtype=weight.dtype)
    return matrix.index_put_((pattern.row, pattern.col), weight, accumulate=True)


@given(
    st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, COLS - 1)), max_size=20),
    st.booleans(),
)
def test_it_is_a_dense_product(pairs: Pairs, weighted: bool) -> None:
    pattern, x, weight = example(pairs)
    matrix = dense(pattern, weight if weighted else torch.ones_like(weight))
    result = pattern.product(x, weight if weighted else None)
    torch.testing.assert_close(result, matrix @ x, rtol=1e-13, atol=1e-13)


@with_and_without_weights
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtypes_and_rows_without_entries(dtype: torch.dtype, weighted: bool) -> None:
    pattern, x, weight = example(SOME, dtype)
    result = pattern.product(x, weight if weighted else None)
    assert result.dtype == dtype
    assert result.shape == (ROWS, CHANNELS)
    assert not result[[1, 4]].any()
    assert bool(result[[0, 2, 3]].all())


def test_rows_need_not_be_contiguous() -> None:
    pattern, x, _ = example(SOME)
    strided = x.repeat_interleave(2, dim=1)[:, ::2]
    assert not strided.is_contiguous()
    assert torch.equal(pattern.product(strided), pattern.product(x))


@every_pattern
def test_gradients_without_weights(pairs: Pairs) -> None:
    pattern, x, _ = example(pairs)
    x.requires_grad_()

    def cubed(x: Tensor) -> Tensor:
        return pattern.product(x**3)

    assert torch.autograd.gradcheck(cubed, (x,))
    assert torch.autograd.gradgradcheck(cubed, (x,))


@every_pattern
@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)], ids=str)
def test_gradients_with_weights(pairs: Pairs, wanted: tuple[bool, bool]) -> None:
    pattern, x, weight = example(pairs)
    x.requires_grad_(wanted[0])
    weight.requires_grad_(wanted[1])

    def weighted_sum(x: Tensor, weight: Tensor) -> Tensor:
        return pattern.product(x.sin(), weight)

    assert torch.autograd.gradcheck(weighted_sum, (x, weight))
    assert torch.autograd.gradgradcheck(weighted_sum, (x, weight))


@with_and_without_weights
def test_gradients_are_those_of_the_dense_product(weighted: bool) -> None:
    pattern, x, weight = example(SOME)
    given_weight = weight.requires_grad_() if weighted else None
    x.requires_grad_()
    factors = torch.randn(ROWS, CHANNELS, dtype=torch.float64)
    inputs = [x, weight] if weighted else [x]
    matrix = dense(pattern, weight if weighted else torch.ones(len(SOME), dtype=torch.float64))
    expected = torch.autograd.grad(((matrix @ x) * factors).sum(), inputs)
    actual = torch.autograd.grad((pattern.product(x, given_weight) * factors).sum(), inputs)
    for ours, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@every_pattern
@with_and_without_weights
@pytest.mark.parametrize("requires_grad", [False, True])
def test_it_is_a_well_behaved_operator(pairs: Pairs, weighted: bool, requires_grad: bool) -> None:
    """Schema, fake tensors, autograd registration and tracing, as torch itself checks them."""
    pattern, x, weight = example(pairs)
    arguments = (
        x.requires_grad_(requires_grad),
        weight.requires_grad_(requires_grad) if weighted else None,
        pattern.row,
        pattern.col,
        pattern.rowptr,
        pattern.transposed_order,
        pattern.transposed_rowptr,
    )
    results = torch.library.opcheck(torch.ops.clipgnn.sparse_sum.default, arguments)
    assert set(results.values()) == {"SUCCESS"}


def test_the_order_of_summation_is_that_of_the_entries() -> None:
    """So that results do not change from run to run: 1e16 + 1 - 1e16 depends on the order."""
    x = torch.tensor([[1e16], [1.0], [-1e16]], dtype=torch.float64)
    row = torch.zeros(3, dtype=torch.int64)
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2]):
        pattern, _ = SparsePattern.from_entries(row, torch.tensor(order), 1, 3)
        expected = sum((x[i] for i in order), start=torch.zeros(1, dtype=torch.float64))
        results = [pattern.product(x) for _ in range(3)]
        assert [float(result) for result in results] == [float(expected)] * 3
