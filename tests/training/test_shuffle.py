"""The order of graphs that are read from disk, against what the documentation says."""

from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from tests.training.examples import BLIND, on_disk

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.training import Recipe
from clipgnn.training import stream as streams
from clipgnn.training.models import new_members
from clipgnn.training.stream import Streamed, TrainingGraphs

BATCH, BLOCK, WINDOW, EPOCHS = 4, 8, 64, 400


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_training_graphs_are_all_but_some(case: tuple[int, set[int]]) -> None:
    number, held_out = case
    excluded = torch.tensor(sorted(held_out), dtype=torch.int64)
    train = TrainingGraphs(number, None, excluded)
    expected = [graph for graph in range(number) if graph not in held_out]
    assert len(train) == len(expected)
    assert train.ids(torch.arange(len(train))).tolist() == expected


@given(st.lists(st.integers(0, 40), unique=True))
def test_training_graphs_are_some(chosen: list[int]) -> None:
    train = TrainingGraphs(41, torch.tensor(chosen, dtype=torch.int64), torch.zeros(0).long())
    assert len(train) == len(chosen)
    assert train.ids(torch.arange(len(train))).tolist() == sorted(chosen)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> StoredGraphs:
    """500 graphs of two nodes and two edges."""
    edge = PackedGraphs.from_networkx([nx.path_graph(2)] * 500, y=[0, 1] * 250)
    folder: Path = tmp_path_factory.mktemp("stored")
    return on_disk(edge, folder, 500)


@cache
def _places(stored: StoredGraphs, number: int) -> NDArray[np.int64]:
    """The place of each of the first graphs in each epoch, `[epochs, graphs]`; -1 if left out."""
    recipe = Recipe(batch_size=BATCH)
    train = TrainingGraphs(number, None, torch.zeros(0, dtype=torch.int64))
    network = new_members(BLIND, stored, recipe, [0])
    cpu = torch.device("cpu")
    feed = Streamed(stored, train, network, recipe, 1, cpu, torch.float32)
    assert feed.num_portions > 1
    places = np.full((EPOCHS, number), -1)
    for epoch in range(EPOCHS):
        order = torch.cat(
            [feed.positions(epoch, own)[feed.order(epoch, own)] for own in range(feed.num_portions)]
        )
        assert order.unique().numel() == number
        places[epoch, order.numpy()] = np.arange(number)
    return places


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK_GRAPHS", BLOCK)
    monkeypatch.setattr(streams, "WINDOW_SIZE", 4 * WINDOW)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("number", [448, 333], ids=["whole blocks", "cut blocks"])
def test_the_place_of_a_graph_is_uniform(stored: StoredGraphs, number: int) -> None:
    """Chi-squared tests of all graphs, for eight parts of an epoch."""
    part = _places(stored, number) * 8 // number
    counts = np.stack([np.bincount(own, minlength=8) for own in part.T])  # [graphs, parts]
    sizes = np.bincount(np.arange(number) * 8 // number)
    found = stats.chisquare(counts, len(part) * sizes / number, axis=1)
    assert found.pvalue.min() > 0.01 / number
    # The tests together: p-values are not concentrated at small values either.
    assert np.mean(found.pvalue < 0.05) < 0.1
    # Graphs at the beginning of their blocks do not precede those at their ends.
    means = _means_in_blocks(part)
    assert np.abs(means - means.mean()).max() < 0.1


def _means_in_blocks(part: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean part of an epoch by the place in a block."""
    blocks = part.shape[1] // BLOCK
    return part[:, : blocks * BLOCK].reshape(EPOCHS, blocks, BLOCK).mean((0, 1))


@pytest.mark.usefixtures("_small")
def test_how_often_two_graphs_are_in_one_batch(stored: StoredGraphs) -> None:
    number = 448  # seven windows
    batch = _places(stored, number) // BATCH
    first = np.arange(number)
    neighbors = first[first % BLOCK < BLOCK - 1]  # blocks begin at multiples of their size
    near = (batch[:, neighbors] == batch[:, neighbors + 1]).mean()
    assert near == pytest.approx((BATCH - 1) / (WINDOW - 1), rel=0.05)
    for distance in (BLOCK, number // 2):
        far = (batch == np.roll(batch, distance, axis=1)).mean()
        assert far == pytest.approx((BATCH - 1) / (number - 1), rel=0.2)
