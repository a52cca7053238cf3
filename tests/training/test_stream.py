"""Training on graphs that are read from disk, one window after the other."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.training.examples import (
    BLIND,
    CLIP4,
    assert_same,
    curves,
    multitask,
    on_disk,
    regressed,
    rings,
    some_graphs,
)

from clipgnn.errors import DatasetFileError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.shard import Shard
from clipgnn.graphs.storage.stored import StoredGraphs, shard_path
from clipgnn.training import ModelSpec, Recipe, Split, TrainedModels, train
from clipgnn.training import stream as streams
from clipgnn.training.engines import engine_for
from clipgnn.training.models import new_members
from clipgnn.training.stream import Streamed

DROPOUT = ModelSpec("clip", {**CLIP4.parameters, "dropout": 0.3})
RECIPE = Recipe(epochs=3, batch_size=4)
HELD_OUT = Split.others(test=[2, 11, 19], validation=[5, 6])


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of two or three batches of some graphs, and blocks of three graphs."""
    monkeypatch.setattr(streams, "WINDOW_SIZE", 150)
    monkeypatch.setattr(streams, "BLOCK_GRAPHS", 3)


def _trained(
    graphs: PackedGraphs | StoredGraphs,
    split: Split = HELD_OUT,
    recipe: Recipe = RECIPE,
    spec: ModelSpec = CLIP4,
    seed: int = 3,
) -> TrainedModels:
    return train(graphs, spec, recipe, [split], [seed])


def _feed(stored: StoredGraphs, split: Split, recipe: Recipe = RECIPE) -> Streamed:
    network = new_members(BLIND, stored, recipe, [3])
    engine = engine_for(stored, network, recipe, [split], [3], torch.device("cpu"))
    assert isinstance(engine.feed, Streamed)
    return engine.feed


def _graphs_of_batches(feed: Streamed, epoch: int) -> list[list[int]]:
    """Graphs of the data set in each batch of an epoch, as they are used."""
    batches: list[list[int]] = []
    for number, portion in enumerate(feed.portions(epoch)):
        ids = feed.train.ids(feed.positions(epoch, number))
        assert len(ids) == portion.window.padding
        rows = portion.order.view(portion.steps, -1)
        batches += [ids[row[row != portion.window.padding]].tolist() for row in rows]
    return batches


@pytest.mark.parametrize("spec", [CLIP4, DROPOUT], ids=["clip", "dropout"])
@pytest.mark.parametrize("number", [24, 26], ids=["full", "with a single last graph"])
def test_one_window_is_the_training_in_memory(tmp_path: Path, spec: ModelSpec, number: int) -> None:
    graphs = some_graphs(number)
    stored = on_disk(graphs, tmp_path)
    recipe = replace(RECIPE, patience=2)
    assert_same(
        _trained(graphs, recipe=recipe, spec=spec), _trained(stored, recipe=recipe, spec=spec)
    )


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("number", [40, 41, 43, 47])
def test_every_graph_is_used_once_in_an_epoch(tmp_path: Path, number: int) -> None:
    split = Split.others(test=[0, 7, 8, number - 1])
    feed = _feed(on_disk(some_graphs(number), tmp_path), split)
    assert feed.num_portions > 2
    expected = split.with_train(number).train.tolist()
    orders = []
    for epoch in range(3):
        batches = _graphs_of_batches(feed, epoch)
        used = [graph for batch in batches for graph in batch]
        assert len(used) == len(set(used))
        assert set(used) <= set(expected)
        # One graph has no batch statistics: a single one is left out, as in memory.
        assert len(used) == len(expected) - (len(expected) % RECIPE.batch_size == 1)
        assert all(len(batch) == RECIPE.batch_size for batch in batches[:-1])
        orders.append(batches)
    assert orders[0] != orders[1] != orders[2]
    assert _graphs_of_batches(feed, 1) == orders[1]


@pytest.mark.usefixtures("small_windows")
def test_windows_have_about_the_same_number_of_batches(tmp_path: Path) -> None:
    feed = _feed(on_disk(some_graphs(97), tmp_path), Split.others())
    sizes = torch.tensor(feed.bounds).diff()
    assert sizes.max() - sizes.min() <= RECIPE.batch_size + 1


@pytest.mark.usefixtures("small_windows")
def test_the_same_seed_repeats_a_training(tmp_path: Path) -> None:
    stored = on_disk(some_graphs(41), tmp_path)
    first = _trained(stored, spec=DROPOUT)
    assert_same(first, _trained(stored, spec=DROPOUT))
    other = _trained(stored, spec=DROPOUT, seed=4)
    assert curves(first[0].history) != curves(other[0].history)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize(
    "split",
    [
        Split.others(test=[0, 3, 4], validation=[20, 39], fresh=[9]),
        Split([30, 2, 17, 18, 19, 1, 38, 5, 6, 7, 8, 10], test=[0, 3, 4], validation=[20, 39]),
    ],
    ids=["others", "chosen"],
)
def test_other_graphs_have_no_effect(tmp_path: Path, split: Split) -> None:
    """Targets of graphs that are not trained on are changed; losses and weights are not."""
    graphs = some_graphs(40)
    trained = split.with_train(40).train
    changed = 1 - graphs.targets
    changed[trained] = graphs.targets[trained]
    one = _trained(on_disk(graphs, tmp_path / "one"), split)[0]
    other = _trained(on_disk(replace(graphs, y=changed), tmp_path / "other"), split)[0]
    assert one.history.train_loss == other.history.train_loss
    assert torch.equal(one.test_outputs, other.test_outputs)
    assert one.history.test_score != other.history.test_score


@pytest.mark.usefixtures("small_windows")
def test_several_windows_learn(tmp_path: Path) -> None:
    stored = on_disk(rings(48), tmp_path)
    recipe = Recipe(epochs=12, batch_size=8, learning_rate=0.02)
    history = _trained(stored, Split.others(test=[0, 1, 20, 21]), recipe)[0].history
    assert history.test_score[-1] == 1


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("weights", ["balanced", (1.0, 5.0)])
@pytest.mark.parametrize("loss", ["cross-entropy", "binary-cross-entropy"])
def test_class_weights(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    weights: str | tuple[float, ...],
    loss: str,
) -> None:
    """The loss of a step with one batch is the one in memory."""
    graphs = some_graphs(30)
    y = (torch.arange(30) % 5 == 0).long()
    graphs = replace(graphs, y=y)
    recipe = Recipe(epochs=1, batch_size=4, class_weights=weights, loss=loss)
    split = Split.others(test=[0, 1, 9])
    several = _trained(on_disk(graphs, tmp_path / "a"), split, recipe)[0].history
    plain = replace(recipe, class_weights=None)
    without = _trained(on_disk(graphs, tmp_path / "b"), split, plain)[0].history
    assert several.train_loss != without.train_loss
    monkeypatch.setattr(streams, "WINDOW_SIZE", 10**6)
    assert_same(
        _trained(graphs, split, recipe), _trained(on_disk(graphs, tmp_path / "c"), split, recipe)
    )


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("window", [150, 10**6])
def test_missing_and_several_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    monkeypatch.setattr(streams, "WINDOW_SIZE", window)
    for number, graphs in enumerate([multitask(some_graphs(30)), regressed(some_graphs(30), 2)]):
        loss = "squared-error" if number else "binary-cross-entropy"
        recipe = Recipe(epochs=2, batch_size=4, loss=loss)
        split = Split.others(test=[0, 1, 9, 10])
        found = _trained(on_disk(graphs, tmp_path / str(number)), split, recipe)
        assert found[0].history.diverged is None
        assert found[0].test_outputs.shape == (4, graphs.num_targets)
        if window > 10**5:
            assert_same(_trained(graphs, split, recipe), found)


@pytest.mark.usefixtures("small_windows")
def test_a_shard_that_is_damaged_in_the_middle_of_a_training(tmp_path: Path) -> None:
    """Shards are mapped when they are first used, and one is replaced before."""
    stored = on_disk(some_graphs(40), tmp_path)
    feed = _feed(stored, Split.others())
    portions = feed.portions(0)
    next(portions)
    for shard in stored._shards:
        shard._mapped = None
    for number in range(len(stored.records)):
        path = shard_path(tmp_path, number)
        damaged = tmp_path / "damaged"
        damaged.write_bytes(path.read_bytes()[:-1] + b"?")
        # Not written in place: the reader may read the mapped file, which would be a bus error.
        damaged.replace(path)
    with pytest.raises(DatasetFileError, match=r"shard-0000\d\d.*does not match its checksum"):
        list(portions)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("after", [0, 3, 8])
def test_a_failing_reader_ends_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    before = threading.active_count()  # other tests of the process can have threads
    stored = on_disk(some_graphs(40), tmp_path)
    read, calls = Shard.subset, []

    def failing(self: Shard, chosen: torch.Tensor) -> PackedGraphs:
        if threading.current_thread() is not threading.main_thread():
            calls.append(chosen)
            if len(calls) > after:
                raise OSError("The disk is gone")
        return read(self, chosen)

    monkeypatch.setattr(Shard, "subset", failing)
    with pytest.raises(OSError, match="The disk is gone"):
        _trained(stored)
    assert threading.active_count() <= before


@pytest.mark.usefixtures("small_windows")
def test_an_error_of_the_training_ends_the_reader(tmp_path: Path) -> None:
    before = threading.active_count()
    stored = on_disk(some_graphs(40), tmp_path)

    def fail(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(stored, CLIP4, RECIPE, [HELD_OUT], [0], callback=fail)
    assert threading.active_count() <= before
