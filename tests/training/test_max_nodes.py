"""Batches with a largest number of nodes instead of a number of graphs."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.training.examples import CLIP4, assert_same, folds, on_disk, some_graphs
from torch_geometric.data import Data

from clipgnn.graphs.joining import join
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training import Recipe, Split, train
from clipgnn.training import stream as streams
from clipgnn.training.windows import cut_by_nodes

SIZES = st.lists(st.integers(0, 50), min_size=2, max_size=60)


def _batches(sizes: list[int], max_nodes: int) -> list[list[int]]:
    order = torch.randperm(len(sizes), generator=torch.Generator().manual_seed(0))
    counts = torch.tensor(sizes)[order]
    cut, steps = cut_by_nodes(order, counts, max_nodes, padding=-1)
    rows = cut.view(steps, -1)
    batches = [[graph for graph in row if graph >= 0] for row in rows.tolist()]
    assert [graph for batch in batches for graph in batch] == order.tolist()
    # Padding is at the end, where it can be cut off.
    assert all(
        row[: len(batch)].tolist() == batch for row, batch in zip(rows, batches, strict=True)
    )
    return batches


@given(SIZES, st.integers(1, 120))
def test_batches_by_nodes(sizes: list[int], max_nodes: int) -> None:
    batches = _batches(sizes, max_nodes)
    nodes = [sum(sizes[graph] for graph in batch) for batch in batches]
    assert all(len(batch) >= 2 for batch in batches)
    for batch, number in zip(batches[:-1], nodes, strict=False):
        assert number <= max_nodes or len(batch) == 2
    assert nodes[-1] <= max_nodes or len(batches[-1]) <= 3


@given(SIZES, st.integers(1, 120))
def test_batches_are_filled(sizes: list[int], max_nodes: int) -> None:
    """A batch ends where the next graph would be too many, except for the last two batches."""
    batches = _batches(sizes, max_nodes)
    for batch, following in pairwise(batches[:-1]):
        nodes = sum(sizes[graph] for graph in batch)
        assert nodes + sizes[following[0]] > max_nodes


def test_the_largest_batch_and_a_large_number() -> None:
    assert len(_batches([3] * 10, 10**9)) == 1
    assert [len(own) for own in _batches([5] * 10, 1)] == [2] * 5
    assert [len(own) for own in _batches([5] * 7, 15)] == [3, 2, 2]
    assert [len(own) for own in _batches([5] * 5, 1)] == [2, 3]


@pytest.mark.parametrize("max_nodes", [1, 30, 10**6])
def test_training_in_memory_and_on_disk(tmp_path: Path, max_nodes: int) -> None:
    graphs = some_graphs(25)
    recipe = Recipe(epochs=2, max_nodes=max_nodes)
    [split] = folds(5, 25)[:1]
    first = train(graphs, CLIP4, recipe, [split], [1])
    assert first[0].history.diverged is None
    assert_same(first, train(graphs, CLIP4, recipe, [split], [1]))
    assert_same(first, train(on_disk(graphs, tmp_path), CLIP4, recipe, [split], [1]))


def test_members_have_batches_of_their_own() -> None:
    graphs = some_graphs(25)
    recipe, splits = Recipe(epochs=2, max_nodes=30), folds(5, 25)[:2]
    both = train(graphs, CLIP4, recipe, splits, [1, 2], together=True)
    alone = train(graphs, CLIP4, recipe, splits[1:], [2])
    assert both[1].history.train_loss == alone[0].history.train_loss


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "on disk"])
def test_one_large_graph_among_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    monkeypatch.setattr(streams, "BLOCK_GRAPHS", 4)
    nodes = 10**5
    ring = torch.arange(nodes)
    edges = torch.stack([ring, ring.roll(-1)])
    generator = torch.Generator().manual_seed(0)
    large = Data(
        x=torch.rand(nodes, 2, generator=generator),
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        y=torch.tensor([1]),
    )
    small = some_graphs(30)
    small = replace(small, x=torch.rand(small.x.shape[0], 2, generator=generator))
    graphs = join(small, PackedGraphs.from_data_list([large]))
    sizes: list[int] = []
    recipe = Recipe(epochs=1, max_nodes=64, batch_size=4)
    given_graphs = on_disk(graphs, tmp_path) if stored else graphs
    split = Split.others(test=[3, 4])
    [trained] = train(given_graphs, CLIP4, recipe, [split], [0], callback=lambda _: sizes.append(1))
    assert trained.history.diverged is None
    assert sizes == [1]
