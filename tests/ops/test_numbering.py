"""Numbers of distinct rows, and ranks of keys inside groups."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from clipgnn.ops.numbering import number_rows, ranks_in_groups

values = st.sampled_from([0.0, -0.0, 1.0, 1.5, -2.0, 1e300, 1e-300])


@given(st.integers(0, 3).flatmap(lambda c: st.lists(st.tuples(*[values] * c), min_size=1)))
def test_equal_rows_have_equal_numbers(rows: list[tuple[float, ...]]) -> None:
    x = torch.tensor(rows, dtype=torch.float64).view(len(rows), -1)
    numbers = number_rows(x).tolist()
    for first, one in zip(numbers, rows, strict=True):
        for second, other in zip(numbers, rows, strict=True):
            assert (first == second) is (one == other)
    assert set(numbers) == set(range(len(set(rows))))


def test_rows_with_equal_fingerprints_are_told_apart() -> None:
    """Rows whose bits differ by amounts that the random factors cancel have one fingerprint."""
    generator = torch.Generator().manual_seed(0)
    odd = torch.randint(-(2**62), 2**62, (2,), generator=generator) * 2 + 1
    assert bool((odd < 0).all())  # then -odd are bits of positive floats
    # Bits b for which b ^ (b >> 32) is (-odd[1], 0) and (0, -odd[0]): the products are equal.
    mixed = -torch.stack([odd[1] * torch.tensor([1, 0]), odd[0] * torch.tensor([0, 1])])
    bits = mixed ^ (mixed >> 32)
    assert ((bits ^ (bits >> 32)) * odd).sum(1).unique().numel() == 1
    assert number_rows(bits.view(torch.float64)).tolist() in ([0, 1], [1, 0])


def test_values_are_numbered_in_ascending_order() -> None:
    assert number_rows(torch.tensor([30, 10, 20, 10])).tolist() == [2, 0, 1, 0]
    assert number_rows(torch.tensor([[3.0], [1.0], [3.0]])).tolist() == [1, 0, 1]


def test_rows_without_channels_are_equal() -> None:
    assert number_rows(torch.ones(3, 0)).tolist() == [0, 0, 0]


@given(
    st.integers(1, 4),
    st.lists(st.integers(0, 3), min_size=1, max_size=12),
    st.integers(0, 2**32),
)
def test_ranks_are_those_of_sorting_each_group(rows: int, groups: list[int], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    random = torch.randint(-(2**63), 2**63 - 1, (rows, len(groups)), generator=generator)
    group = torch.tensor(groups).clamp(max=len(groups) - 1)
    start = (group[None] < group[:, None]).sum(1)
    ranks = ranks_in_groups(random, group, start)
    for row in range(rows):
        for number in group.unique().tolist():
            inside = group == number
            # The bits are read as unsigned integers.
            keys = [value % 2**64 for value in random[row, inside].tolist()]
            expected = [sorted(keys).index(key) for key in keys]
            assert ranks[row, inside].tolist() == expected
