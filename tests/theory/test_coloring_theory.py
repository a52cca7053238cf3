"""Eqs. (4) and (6): which colorings there are, and that sampled ones are uniform and distinct."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.clip_reference import colorings_of
from torch import Tensor

from clipgnn.coloring import (
    all_colorings,
    color_groups,
    log_num_colorings,
    num_colorings,
    sample_colorings,
)

Coloring = tuple[int, ...]

small_groups = st.lists(st.integers(0, 2), min_size=1, max_size=6)


def every_coloring(groups: list[int]) -> set[Coloring]:
    """Eq. (4) by itertools."""
    return {tuple(coloring.tolist()) for coloring in colorings_of(np.array(groups))}


def draws(groups: list[int], k: int, copies: int, seed: int) -> list[list[Coloring]]:
    """k colorings for each of many copies of a graph, all in one batch."""
    batch = torch.arange(copies).repeat_interleave(len(groups))
    colors = sample_colorings(
        torch.tensor(groups).repeat(copies), k, batch, torch.Generator().manual_seed(seed)
    )
    by_copy = colors.view(k, copies, len(groups)).transpose(0, 1).tolist()
    return [[tuple(coloring) for coloring in of_copy] for of_copy in by_copy]


def chi_square_p(counts: Counter[object], outcomes: int) -> float:
    """How likely counts of equally likely outcomes are to lie further from equal than these."""
    expected = counts.total() / outcomes
    assert expected >= 5, "too few draws for the chi-square distribution"
    seen = sum((count - expected) ** 2 / expected for count in counts.values())
    statistic = seen + (outcomes - len(counts)) * expected
    half = torch.tensor([(outcomes - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def test_chi_square_p_knows_a_loaded_die() -> None:
    assert chi_square_p(Counter({1: 5, 2: 8, 3: 9, 4: 8, 5: 10, 6: 20}), 6) == pytest.approx(
        0.01991, abs=1e-5
    )
    assert chi_square_p(Counter({1: 30, 2: 30}), 3) < 1e-6


@pytest.mark.parametrize("groups", [[0, 0], [0, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0, 1], [0, 0, 0, 0]])
def test_one_coloring_is_uniform_over_all(groups: list[int]) -> None:
    everything = every_coloring(groups)
    drawn = draws(groups, k=1, copies=100 * len(everything), seed=1)
    counts = Counter[object](coloring for (coloring,) in drawn)
    assert set(counts) == everything
    assert chi_square_p(counts, len(everything)) > 1e-3


@pytest.mark.parametrize(
    ("groups", "k"),
    [
        ([0, 0, 0], 2),
        ([0, 0, 0], 5),
        ([0, 1, 0, 1], 2),
        ([0, 1, 0, 1], 3),
        ([0, 1, 0, 1, 0], 2),
        ([0, 0, 1, 0, 1], 10),
        ([0, 0, 1, 0, 1], 11),
        ([0, 0, 0, 0], 2),
        ([0, 0, 0, 0], 3),
        ([0, 0, 0, 0], 22),
        ([0, 0, 0, 0], 23),
    ],
)
def test_k_colorings_are_a_uniform_subset(groups: list[int], k: int) -> None:
    subsets = math.comb(len(every_coloring(groups)), k)
    drawn = draws(groups, k, copies=max(2000, 10 * subsets), seed=2)
    counts = Counter[object](frozenset(colorings) for colorings in drawn)
    assert all(len(set(colorings)) == k for colorings in drawn)
    assert len(counts) <= subsets
    assert chi_square_p(counts, subsets) > 1e-3


@pytest.mark.parametrize("k", [5, 6, 7, 12])
def test_every_coloring_is_as_likely_as_every_other_to_be_among_k(k: int) -> None:
    """On both sides of the border between drawing again and drawing by number."""
    copies = 4000
    drawn = draws([0, 0, 0, 0], k, copies, seed=3)
    counts = Counter(coloring for colorings in drawn for coloring in colorings)
    share = k / 24
    deviation = math.sqrt(copies * share * (1 - share))
    assert len(counts) == 24
    assert max(abs(count - copies * share) for count in counts.values()) < 4 * deviation


def test_graphs_of_a_batch_are_colored_independently() -> None:
    drawn = draws([0, 0, 0], k=1, copies=2 * 1800, seed=4)
    pairs = Counter[object](
        (first, second) for (first,), (second,) in zip(drawn[::2], drawn[1::2], strict=True)
    )
    assert chi_square_p(pairs, 36) > 1e-3


def test_groups_of_a_graph_are_colored_independently() -> None:
    drawn = draws([0, 1, 0, 1, 0, 1], k=1, copies=1800, seed=5)
    pairs = Counter[object]((coloring[::2], coloring[1::2]) for (coloring,) in drawn)
    assert chi_square_p(pairs, 36) > 1e-3


@pytest.mark.parametrize("node", [0, 13, 29])
def test_colors_of_a_large_group_are_uniform(node: int) -> None:
    drawn = draws([0] * 30, k=4, copies=600, seed=6)
    counts = Counter[object](coloring[node] for colorings in drawn for coloring in colorings)
    assert chi_square_p(counts, 30) > 1e-3


@given(groups=small_groups, k=st.integers(1, 50), seed=st.integers(0, 2**32))
def test_samples_are_valid_and_as_distinct_as_can_be(groups: list[int], k: int, seed: int) -> None:
    everything = every_coloring(groups)
    colors = sample_colorings(
        torch.tensor(groups), k, generator=torch.Generator().manual_seed(seed)
    )
    drawn = [tuple(coloring) for coloring in colors.tolist()]
    assert colors.dtype == torch.int64
    assert len(drawn) == k
    assert set(drawn) <= everything
    assert len(set(drawn)) == min(k, len(everything))


@pytest.mark.parametrize("k", [24, 25, 60])
def test_nothing_is_missing_when_k_reaches_the_number_of_colorings(k: int) -> None:
    everything = every_coloring([0, 0, 0, 0])
    assert all(set(colorings) == everything for colorings in draws([0] * 4, k, 50, seed=7))


def test_large_groups_get_distinct_permutations() -> None:
    groups = torch.tensor([0, 1] * 25)
    colors = sample_colorings(groups, 512, generator=torch.Generator().manual_seed(8))
    for group in (0, 1):
        ordered = colors[:, groups == group].sort(dim=1).values
        assert torch.equal(ordered, torch.arange(25).expand(512, 25))
    assert len(torch.unique(colors, dim=0)) == 512


@given(
    graphs=st.lists(small_groups, min_size=1, max_size=6),
    k=st.integers(1, 30),
    seed=st.integers(0, 2**32),
)
def test_mixed_batches_are_graphs_side_by_side(graphs: list[list[int]], k: int, seed: int) -> None:
    groups = torch.tensor([group for graph in graphs for group in graph])
    sizes = [len(graph) for graph in graphs]
    batch = torch.arange(len(graphs)).repeat_interleave(torch.tensor(sizes))
    counts = [len(every_coloring(graph)) for graph in graphs]
    assert num_colorings(groups, batch) == counts
    assert log_num_colorings(groups, batch).tolist() == pytest.approx(np.log(counts).tolist())
    colors = sample_colorings(groups, k, batch, torch.Generator().manual_seed(seed))
    for graph, count, block in zip(graphs, counts, torch.split(colors, sizes, dim=1), strict=True):
        drawn = {tuple(coloring) for coloring in block.tolist()}
        assert drawn <= every_coloring(graph)
        assert len(drawn) == min(k, count)


@given(groups=small_groups, chunk_size=st.sampled_from([1, 2, 7, 64, 4096]))
def test_all_colorings_are_enumerated_once_each(groups: list[int], chunk_size: int) -> None:
    chunks = list(all_colorings(torch.tensor(groups), chunk_size))
    listed = [tuple(coloring) for coloring in torch.cat(chunks).tolist()]
    assert all(1 <= len(chunk) <= chunk_size for chunk in chunks)
    assert len(listed) == len(set(listed)) == num_colorings(torch.tensor(groups))[0]
    assert set(listed) == every_coloring(groups)


def test_counts_are_exact() -> None:
    one_group = torch.zeros(30, dtype=torch.int64)
    assert num_colorings(one_group) == [265252859812191058636308480000000]  # 30!
    assert num_colorings(torch.arange(30)) == [1]
    both = torch.cat([one_group, torch.arange(30) % 3])
    batch = torch.arange(2).repeat_interleave(30)
    assert num_colorings(both, batch) == [math.factorial(30), math.factorial(10) ** 3]


def test_log_counts_where_no_float_holds_the_count() -> None:
    groups = torch.zeros(500, dtype=torch.int64)
    (log_count,) = log_num_colorings(groups).tolist()
    assert log_count == pytest.approx(math.lgamma(501), rel=1e-14)
    assert log_count == pytest.approx(math.log(num_colorings(groups)[0]), rel=1e-14)


def test_colorings_follow_the_attributes() -> None:
    """From attributes to colorings: nodes share a group exactly when their rows are equal."""
    rows = torch.tensor([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0], [0.0, 2.0], [1.0, 2.0], [1.0, 3.0]])
    groups = color_groups(rows)
    for i, j in itertools.combinations(range(6), 2):
        assert bool(groups[i] == groups[j]) == torch.equal(rows[i], rows[j])
    listed = torch.cat(list(all_colorings(groups))).tolist()
    assert {tuple(coloring) for coloring in listed} == {
        tuple(coloring.tolist()) for coloring in colorings_of(rows.double().numpy())
    }


def test_same_seed_same_colorings() -> None:
    groups = torch.tensor([0] * 20 + [0, 0, 1, 1] + [0, 1, 2])
    batch = torch.arange(3).repeat_interleave(torch.tensor([20, 4, 3]))

    def draw(seed: int) -> Tensor:
        return sample_colorings(groups, 16, batch, torch.Generator().manual_seed(seed))

    assert torch.equal(draw(9), draw(9))
    assert not torch.equal(draw(9), draw(10))
    torch.manual_seed(11)
    first = sample_colorings(groups, 16, batch)
    torch.manual_seed(11)
    assert torch.equal(first, sample_colorings(groups, 16, batch))
