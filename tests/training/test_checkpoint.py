"""Checkpoints: an interrupted training continues bit for bit, and bad files are clear errors."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from tests.training.examples import CLIP4, assert_same, folds, on_disk, some_graphs
from tests.training.forks import run_module

from clipgnn.errors import InvalidParameterError, ModelFileError, OutputError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.training import Epoch, ModelSpec, Recipe, Split, TrainedModels, train
from clipgnn.training import stream as streams
from clipgnn.training.engine import Engine

DROPOUT = ModelSpec("clip", {**CLIP4.parameters, "dropout": 0.3})
RECIPE = Recipe(epochs=4, batch_size=6, learning_rate=0.05, patience=2)
GRAPHS = some_graphs(30)
SPLITS = folds(5, 30)[:2]


class Interrupted(Exception):
    """An error in the middle of a training."""


def _train(
    folder: Path | None,
    graphs: PackedGraphs | StoredGraphs = GRAPHS,
    splits: list[Split] = SPLITS,
    recipe: Recipe = RECIPE,
    **options: Any,
) -> TrainedModels:
    seeds = list(range(len(splits)))
    options = {"checkpoint_seconds": 0.0, **options}
    return train(graphs, DROPOUT, recipe, splits, seeds, checkpoint=folder, **options)


@pytest.fixture(params=["memory", "together", "stream"])
def training(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path | None], TrainedModels]:
    """A training of two splits one after the other, of both together, or of graphs on disk."""
    if request.param != "stream":
        return lambda folder: _train(folder, together=request.param == "together")
    monkeypatch.setattr(streams, "WINDOW_SIZE", 150)
    monkeypatch.setattr(streams, "BLOCK_GRAPHS", 3)
    stored = on_disk(GRAPHS, tmp_path / "graphs")
    split = Split.others(test=[3, 9], validation=[4, 5, 6])
    return lambda folder: _train(folder, stored, [split], replace(RECIPE, batch_size=3))


def _interrupted_at(owner: type, name: str, number: int) -> pytest.MonkeyPatch:
    """Raise an error after a method was called a number of times."""
    patch = pytest.MonkeyPatch()
    original, calls = getattr(owner, name), []

    def counted(self: Any, *arguments: Any) -> Any:
        result = original(self, *arguments)
        calls.append(number)
        if len(calls) == number:
            raise Interrupted
        return result

    patch.setattr(owner, name, counted)
    return patch


@pytest.mark.parametrize("name", ["step", "evaluate"])
def test_errors_after_every_step(
    tmp_path: Path, training: Callable[[Path | None], TrainedModels], name: str
) -> None:
    """The training is interrupted after the first step, the second step after it continued, …"""
    expected = training(None)
    assert_same(training(tmp_path / "undisturbed"), expected)
    interruptions = 0
    for number in range(1, 40):
        patch = _interrupted_at(Engine, name, number)
        try:
            found = training(tmp_path / "checkpoint")
        except Interrupted:
            interruptions += 1
            continue
        finally:
            patch.undo()
        break
    assert interruptions > 2
    assert_same(found, expected)


def _progress(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            found.append(json.loads(file.metadata()["content"])["progress"])
    return found


def test_checkpoints_inside_an_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "WINDOW_SIZE", 150)
    monkeypatch.setattr(streams, "BLOCK_GRAPHS", 3)
    stored = on_disk(GRAPHS, tmp_path / "graphs")
    split = Split.others(test=[3, 9])
    recipe = Recipe(epochs=2, batch_size=3)
    expected = _train(None, stored, [split], recipe)
    patch = _interrupted_at(Engine, "step", 5)
    with pytest.raises(Interrupted):
        _train(tmp_path / "own", stored, [split], recipe)
    patch.undo()
    [progress] = _progress(tmp_path / "own")
    assert progress["epoch"] == 0
    assert progress["portion"] > 0
    assert not progress["finished"]
    assert_same(_train(tmp_path / "own", stored, [split], recipe), expected)


def test_every_group_of_models_has_a_file(tmp_path: Path) -> None:
    _train(tmp_path)
    assert [own["finished"] for own in _progress(tmp_path)] == [True, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "models-0.safetensors",
        "models-1.safetensors",
    ]


def test_a_callback_that_fails(tmp_path: Path) -> None:
    """The epoch before was written; the callback sees the last epoch again."""
    numbers: list[int] = []

    def note(epoch: Epoch) -> None:
        numbers.append(epoch.number)
        if numbers == [1, 2]:
            raise Interrupted

    with pytest.raises(Interrupted):
        _train(tmp_path, splits=SPLITS[:1], callback=note)
    found = _train(tmp_path, splits=SPLITS[:1], callback=note)
    assert_same(found, _train(None, splits=SPLITS[:1]))
    assert numbers[:3] == [1, 2, 2]


def test_no_checkpoint_before_its_time(tmp_path: Path) -> None:
    patch = _interrupted_at(Engine, "evaluate", 5)
    with pytest.raises(Interrupted):
        _train(tmp_path, checkpoint_seconds=1000)
    patch.undo()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["memory", "stream"])
def test_killed_at_any_moment(tmp_path: Path, kind: str) -> None:
    assert "kills" in run_module("tests.training.killed", kind, str(tmp_path))


CHANGES: dict[str, Callable[[Path], TrainedModels]] = {
    "recipe": lambda folder: _train(folder, recipe=replace(RECIPE, epochs=5)),
    "data": lambda folder: _train(folder, some_graphs(30, seed=1)),
    "splits": lambda folder: _train(folder, splits=SPLITS[::-1]),
    "seed": lambda folder: train(GRAPHS, DROPOUT, RECIPE, SPLITS, [7, 8], checkpoint=folder),
    "model": lambda folder: train(GRAPHS, CLIP4, RECIPE, SPLITS, [0, 1], checkpoint=folder),
    "together": lambda folder: _train(folder, together=True),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished training."""
    folder: Path = tmp_path_factory.mktemp("finished")
    _train(folder)
    return folder


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_the_checkpoint_of_another_training(
    finished: Path, change: Callable[[Path], TrainedModels]
) -> None:
    before = (finished / "models-0.safetensors").read_bytes()
    with pytest.raises(
        InvalidParameterError, match=r"It is that of another one.* Use another fold"
    ):
        change(finished)
    assert (finished / "models-0.safetensors").read_bytes() == before


def _other_metadata(path: Path) -> None:
    save_file({"x": torch.zeros(1)}, path, {"format": "something"})


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\xff" * 1000),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "a byte": lambda path: path.write_bytes(path.read_bytes()[:-9] + b"\x7f" * 9),
    "metadata": lambda path: path.write_bytes(
        path.read_bytes().replace(b'epoch\\": ', b'epoch\\":1', 1)
    ),
    "another file": _other_metadata,
    "no metadata": lambda path: save_file({"x": torch.zeros(1)}, path),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damaged_checkpoints(
    finished: Path, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    path = tmp_path / "models-0.safetensors"
    path.write_bytes((finished / path.name).read_bytes())
    damage(path)
    with pytest.raises(ModelFileError, match=r"models-0\.safetensors.*It is damaged: .*Delete it"):
        _train(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file, file / "below"):
        with pytest.raises(OutputError, match="must be a folder that can be written"):
            _train(folder)


def test_a_full_disk_keeps_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    synchronize = os.fsync

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synchronize(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        _train(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["models-0.safetensors"]
    assert_same(_train(tmp_path), _train(None))


@pytest.mark.parametrize("seconds", [-1, float("nan"), "60", None, True])
def test_bad_seconds(tmp_path: Path, seconds: Any) -> None:
    with pytest.raises(InvalidParameterError, match="checkpoint_seconds must be a number of at le"):
        _train(tmp_path, checkpoint_seconds=seconds)
