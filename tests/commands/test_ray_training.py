"""Repetition of a training on a cluster, with a Ray Train that fails on purpose."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clipgnn.commands import ray_training
from clipgnn.commands.learning import CheckpointOptions, LearningOptions
from clipgnn.commands.stored_training import StoredTraining
from clipgnn.errors import ClipGNNError, InvalidParameterError

LOST = "Training failed due to worker errors:\n[Rank 0] The actor died unexpectedly.\n"
REFUSED = "Training failed:\nclipgnn.errors.DatasetFileError: graphs/shard-000000 is damaged.\n"


class Trainer:
    """Stands for `TorchTrainer`: each call of `fit` raises the next error, if there is one."""

    errors: Iterator[str]
    attempts: list[str]

    def __init__(self, *_: object, run_config: Any, **__: object) -> None:
        self.attempts.append(run_config.name)

    def fit(self) -> None:
        message = next(self.errors, None)
        if message is not None:
            raise RuntimeError(message)


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> type[Trainer]:
    monkeypatch.setattr(Trainer, "attempts", [], raising=False)
    parts = dict.fromkeys(("RunConfig", "ScalingConfig", "FailureConfig"), SimpleNamespace)
    torch = SimpleNamespace(TorchTrainer=Trainer, TorchConfig=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "ray.train", SimpleNamespace(**parts))
    monkeypatch.setitem(sys.modules, "ray.train.torch", torch)
    return Trainer


def _run(folder: Path, trainer: type[Trainer], *errors: str) -> None:
    trainer.errors = iter(errors)
    training = StoredTraining.of(
        folder / "graphs",
        LearningOptions(),
        device="cpu",
        seed=0,
        checkpoints=CheckpointOptions(folder),
        shown=False,
    )
    ray_training._run(training, 2, folder, on_gpu=False)


def test_lost_processes_begin_again(tmp_path: Path, trainer: type[Trainer]) -> None:
    with pytest.warns(UserWarning, match=r"lost: .*died unexpectedly.* of at most 5") as warned:
        _run(tmp_path, trainer, LOST, LOST)
    assert len(warned) == 2
    assert trainer.attempts == ["attempt-0", "attempt-1", "attempt-2"]


def test_processes_that_are_always_lost(tmp_path: Path, trainer: type[Trainer]) -> None:
    with (
        pytest.warns(UserWarning, match="of at most 5"),
        pytest.raises(ClipGNNError, match=r"failed\. .*died unexpectedly"),
    ):
        _run(tmp_path, trainer, *[LOST] * 10)
    assert len(trainer.attempts) == 1 + ray_training.MAX_FAILURES


def test_an_error_that_would_occur_again_ends_the_training(
    tmp_path: Path, trainer: type[Trainer]
) -> None:
    with pytest.raises(ClipGNNError, match=r"DatasetFileError: .* is damaged"):
        _run(tmp_path, trainer, REFUSED)
    assert trainer.attempts == ["attempt-0"]


def test_a_folder_that_is_not_shared(tmp_path: Path) -> None:
    (tmp_path / ray_training.RAY_FOLDER).mkdir()
    with pytest.raises(InvalidParameterError, match="that all machines of the cluster share"):
        ray_training._check_shared(tmp_path, "other")
    (tmp_path / ray_training.RAY_FOLDER / ray_training.TOKEN).write_text("token")
    with pytest.raises(InvalidParameterError, match="is another one"):
        ray_training._check_shared(tmp_path, "other")
    ray_training._check_shared(tmp_path, "token")
