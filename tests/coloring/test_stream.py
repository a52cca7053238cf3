"""Streams of colorings, and samples of large and uneven batches."""

import time

import pytest
import torch
from torch import Tensor

from clipgnn.coloring import all_colorings, color_groups, num_colorings, sample_colorings
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.stream import AllColorings, InMemoryColorings

GROUPS = [[0, 0, 0, 0], [0, 1, 2], [0, 1, 0, 1, 2], [0]]
COUNTS = [24, 1, 4, 1]
SIZES = [4, 3, 5, 1]


def partition() -> Partition:
    groups = torch.tensor([group for graph in GROUPS for group in graph])
    batch = torch.arange(4).repeat_interleave(torch.tensor(SIZES))
    return Partition.of(groups, batch)


def by_graph(colorings: Tensor, sizes: list[int]) -> list[list[tuple[int, ...]]]:
    """The colorings of each graph of a batch."""
    return [
        [tuple(coloring) for coloring in block.tolist()]
        for block in torch.split(colorings, sizes, dim=1)
    ]


def every_coloring(graph: int) -> set[tuple[int, ...]]:
    chunks = all_colorings(torch.tensor(GROUPS[graph]))
    return {tuple(coloring) for chunk in chunks for coloring in chunk.tolist()}


@pytest.mark.parametrize("size", [1, 3, 5, 24, 100])
def test_parts_hold_every_coloring_exactly_once(size: int) -> None:
    stream = AllColorings(partition())
    assert stream.counts.tolist() == COUNTS
    assert stream.max_count == 24
    for graph, count in enumerate(COUNTS):
        only = torch.arange(4) == graph
        parts = [
            stream.part(only, start, min(start + size, count)) for start in range(0, count, size)
        ]
        (listed,) = by_graph(torch.cat(parts), [SIZES[graph]])
        assert len(listed) == len(set(listed)) == count
        assert set(listed) == every_coloring(graph)


@pytest.mark.parametrize("chosen", [[0, 1, 2, 3], [0], [0, 2], [2, 3], [1, 3]], ids=str)
def test_a_part_of_some_graphs_is_on_their_nodes_only(chosen: list[int]) -> None:
    stream = AllColorings(partition())
    graphs = torch.zeros(4, dtype=torch.bool)
    graphs[chosen] = True
    part = stream.part(graphs, 0, 4)
    sizes = [SIZES[graph] for graph in chosen]
    assert part.shape == (4, sum(sizes))
    for graph, listed in zip(chosen, by_graph(part, sizes), strict=True):
        assert set(listed) <= every_coloring(graph)
        assert len(set(listed)) == min(4, COUNTS[graph])


def test_a_graph_that_runs_out_begins_again() -> None:
    stream = AllColorings(partition())
    colorings = stream.all()
    assert colorings.shape == (24, 13)
    for graph, listed in enumerate(by_graph(colorings, SIZES)):
        assert set(listed) == every_coloring(graph)
        assert listed[: COUNTS[graph]] * (24 // COUNTS[graph]) == listed


@pytest.mark.parametrize("size", [1, 16])
def test_a_sample_of_all_colorings_is_random_and_distinct(size: int) -> None:
    stream = AllColorings(partition())
    drawn = stream.sample(size, torch.Generator().manual_seed(0))
    again = stream.sample(size, torch.Generator().manual_seed(0))
    other = stream.sample(size, torch.Generator().manual_seed(1))
    assert torch.equal(drawn, again)
    assert not torch.equal(drawn, other)
    for graph, listed in enumerate(by_graph(drawn, SIZES)):
        assert set(listed) <= every_coloring(graph)
        assert len(set(listed)) == min(size, COUNTS[graph])


def test_held_colorings() -> None:
    batch = torch.tensor([0, 0, 2, 2, 2])
    colorings = torch.arange(30).view(6, 5)
    stream = InMemoryColorings(colorings, batch, 3)
    every_graph = torch.ones(3, dtype=torch.bool)
    assert stream.max_count == 6
    assert stream.counts.tolist() == [6, 6, 6]
    assert torch.equal(stream.all(), colorings)
    assert torch.equal(
        torch.cat([stream.part(every_graph, i, i + 2) for i in (0, 2, 4)]), colorings
    )
    last = torch.tensor([False, False, True])
    assert torch.equal(stream.part(last, 1, 3), colorings[1:3, 2:])
    assert torch.equal(stream.sample(4, None), colorings[:4])


def test_ten_thousand_graphs_at_once() -> None:
    """No loop over graphs or nodes: it would take minutes."""
    generator = torch.Generator().manual_seed(0)
    batch = torch.arange(10_000).repeat_interleave(20)
    x = torch.randint(3, (200_000, 1), generator=generator).float()
    start = time.perf_counter()
    groups = color_groups(x, batch)
    colors = sample_colorings(groups, 16, batch, generator)
    assert time.perf_counter() - start < 5
    assert colors.shape == (16, 200_000)
    # In every graph and coloring, a group's colors are 0..size-1, so their sum is known.
    key = batch * 3 + groups
    sizes = torch.bincount(key, minlength=30_000)
    sums = torch.zeros(16, 30_000, dtype=torch.int64).index_add_(1, key, colors)
    assert torch.equal(sums, (sizes * (sizes - 1) // 2).expand(16, -1))
    largest = torch.zeros(16, 30_000, dtype=torch.int64)
    largest.scatter_reduce_(1, key.expand(16, -1), colors, "amax")
    assert torch.equal(largest, (sizes - 1).clamp(min=0).expand(16, -1))
    assert all(len(set(listed)) == 16 for listed in by_graph(colors[:, :4000], [20] * 200))


@pytest.mark.parametrize("k", [1, 4, 16])
@pytest.mark.parametrize("empty", [0, 1, 2], ids=["first", "middle", "middle too"])
@pytest.mark.parametrize("size", [1, 3, 10])
def test_graphs_without_nodes_have_no_colors(k: int, empty: int, size: int) -> None:
    """Beside graphs with few colorings and with many: those are sampled in different ways."""
    batch = torch.tensor([graph for graph in range(4) if graph != empty]).repeat_interleave(size)
    groups = torch.zeros(3 * size, dtype=torch.int64)
    colors = sample_colorings(groups, k, batch, torch.Generator().manual_seed(0))
    for listed in by_graph(colors, [size] * 3):
        assert all(sorted(coloring) == list(range(size)) for coloring in listed)
        assert len(set(listed)) == min(k, num_colorings(torch.zeros(size, dtype=torch.int64))[0])
