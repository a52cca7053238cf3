"""Trainings that are killed at many points, and continued from their checkpoints.

python -m tests.training.killed memory|stream FOLDER
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import torch
from tests.training.examples import CLIP4, assert_same, folds, on_disk, some_graphs
from tests.training.forks import fork, wait

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.training import ModelSpec, Recipe, Split, TrainedModels, checkpoint, engine, train
from clipgnn.training import stream as streams

DROPOUT = ModelSpec("clip", {**CLIP4.parameters, "dropout": 0.3})
RECIPE = Recipe(epochs=4, batch_size=5, learning_rate=0.05, patience=2)


def small_windows() -> None:
    """Several windows in an epoch."""
    streams.WINDOW_SIZE = 150
    streams.BLOCK_GRAPHS = 3


def kill_itself() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(owner: Any, name: str, number: int) -> None:
    """Kill this process when a function is called for the n-th time, before it does anything."""
    original, calls = getattr(owner, name), count(1)

    def counted(*arguments: Any, **options: Any) -> Any:
        if next(calls) == number:
            kill_itself()
        return original(*arguments, **options)

    setattr(owner, name, counted)


def train_with(
    graphs: PackedGraphs | StoredGraphs, splits: list[Split], folder: Path | None
) -> TrainedModels:
    """Train with a checkpoint after every portion."""
    seeds = list(range(len(splits)))
    return train(graphs, DROPOUT, RECIPE, splits, seeds, checkpoint=folder, checkpoint_seconds=0.0)


POINTS: list[tuple[Any, str, int]] = [
    *[(engine.Engine, "step", number) for number in (1, 8)],
    *[(engine.Engine, "evaluate", number) for number in (1, 4)],
    (checkpoint, "to_bytes", 6),
    (os, "fsync", 4),
    *[(os, "replace", number) for number in (1, 5)],
]
"""Functions before whose n-th call a process is killed. Before `fsync` and `replace` there is a
temporary file beside the checkpoint."""


def main(kind: str, folder: Path) -> None:
    """Kill and continue trainings, and compare them with one that is not disturbed."""
    torch.set_num_threads(1)
    graphs: PackedGraphs | StoredGraphs = some_graphs(26)
    splits = folds(5, 26)[:2]
    if kind == "stream":
        graphs = on_disk(some_graphs(26), folder / "graphs")
        splits = [Split.others(test=[3, 9, 20], validation=[4, 5, 6])]
        small_windows()
    expected = train_with(graphs, splits, None)

    def killed(own: Path, *point: Any) -> Callable[[], None]:
        def work() -> None:
            kill_at(*point)
            train_with(graphs, splits, own)

        return work

    for number, point in enumerate(POINTS):
        own = folder / f"{kind}-{number}"
        assert wait([fork(killed(own, *point))]) == [-signal.SIGKILL], point
        assert_same(train_with(graphs, splits, own), expected)
    # One training is killed at all of these points, one after the other.
    own = folder / f"{kind}-all"
    for point in POINTS:
        assert wait([fork(killed(own, *point))])[0] in (0, -signal.SIGKILL)
    assert_same(train_with(graphs, splits, own), expected)
    # At any time, by another process.
    own, rng, kills = folder / f"{kind}-any", random.Random(0), 0
    while True:
        pid = fork(lambda: _ignored(train_with(graphs, splits, own)))
        time.sleep(rng.uniform(0.0, 0.15))
        os.kill(pid, signal.SIGKILL)
        kills += 1
        if wait([pid]) == [0] or kills == 8:
            break
    assert_same(train_with(graphs, splits, own), expected)
    # What a finished training returns is read from its checkpoints.
    engine.Engine.step = _never  # type: ignore[method-assign, assignment]
    assert_same(train_with(graphs, splits, own), expected)
    print("kills", kills)


def _ignored(_: object) -> None:
    """A process has no result."""


def _never(*_: object) -> None:
    raise AssertionError("no step must be computed")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
