"""Stands in for training: curves that depend on the trial and on nothing else, at once."""

import os
import signal
import time
import tomllib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from clipgnn.curves import Curves
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.data import fingerprints
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.trial import Trial, TrialResult

SMALL = """
title = "A small table"
datasets = ["connectivity", "csl"]
extremes = ["csl"]
published = "table2"
folds = 4

[grid]
epochs = 5
num_layers = [1, 2]
hidden_channels = [8, 16]

[only.csl]
hidden_channels = 16

[[models]]
name = "0-CLIP"
model = "clip"
num_colorings = 0

[[models]]
name = "16-CLIP"
model = "clip"
num_colorings = 16
"""

CONTENT = tomllib.loads(SMALL)


def small_experiment(**changes: object) -> Experiment:
    """2 data sets × 2 rows × 4 or 2 configurations × 4 folds: 48 trials."""
    return on_fake_data(parse_experiment({**CONTENT, **changes}, "small", "small.toml"))


def on_fake_data(spec: Experiment) -> Experiment:
    return replace(spec, data={name: fake_fingerprint(name) for name in spec.datasets})


def on_real_data(spec: Experiment) -> Experiment:
    return replace(spec, data=fingerprints(spec.data_names, {}))


def fake_fingerprint(dataset: str, root: str | None = None, inspect: object = None) -> str:
    """Stands in for loading the data."""
    return sha256(dataset.encode()).hexdigest()[:16]


def fake_result(trial: Trial) -> TrialResult:
    epochs = int(trial.recipe.get("epochs", 1))
    generator = np.random.default_rng(trial.random_seed("fake"))
    rise = 0.5 + 0.4 * (1 - np.exp(-np.arange(epochs)))
    return TrialResult(
        trial=trial.identity,
        curves=Curves(
            1 - rise,
            rise + 0.1 * generator.random(epochs),
            rise + 0.1 * generator.random(epochs) if trial.split == "nested" else (),
            metric=trial.metric,
        ),
        seconds=0.5,
        epoch_seconds=0.1,
        compile_seconds=0.0,
        device="cpu",
        versions={"python": "3", "clipgnn": "0"},
        machine={"processor": "none"},
    )


def with_curves(result: TrialResult, **changes: Any) -> TrialResult:
    return replace(result, curves=replace(result.curves, **changes))


def fake(
    trials: Sequence[Trial], *, seconds: float = 0.0, log: Path | None = None
) -> list[TrialResult]:
    """Takes some time, and writes down who worked on what."""
    if log is not None:
        with log.open("a") as lines:
            for trial in trials:
                lines.write(f"{os.getpid()} {trial.identity}\n")
    time.sleep(seconds)
    return [fake_result(trial) for trial in trials]


def company(
    trials: Sequence[Trial], *, seconds: float = 0.0, log: Path | None = None
) -> list[TrialResult]:
    """Results that depend a little on what is trained together, as rounding does."""
    names = "".join(trial.identity for trial in trials)
    little = int(sha256(names.encode()).hexdigest()[:8], 16) * 1e-15
    return [
        with_curves(result, test_score=result.curves.test_score + little)
        for result in fake(trials, seconds=seconds, log=log)
    ]


REASON = "diverged in epoch 3, learning rate 0.001"


def diverging(trials: Sequence[Trial], *, bad: Collection[str]) -> list[TrialResult]:
    """Some trials diverge; those beside them do not notice."""
    return [
        with_curves(
            result, train_loss=[0.5], test_score=[0.5], validation_score=[], diverged=REASON
        )
        if result.trial in bad
        else result
        for result in fake(trials)
    ]


def failing(
    trials: Sequence[Trial],
    *,
    bad: str,
    how: str = "raise",
    marker: Path | None = None,
    work: Callable[[Sequence[Trial]], list[TrialResult]] = fake,
) -> list[TrialResult]:
    """Fails at one trial: always, or once if there is a marker to remember it by."""
    if bad in [trial.identity for trial in trials] and not (marker and marker.exists()):
        if marker is not None:
            marker.touch()
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exit":
            os._exit(3)
        raise ValueError(f"no luck\nwith {bad}")
    return work(trials)


def meeting(trials: Sequence[Trial], folder: Path, number: int) -> list[TrialResult]:
    """Wait until this number of jobs runs in one process, and leave one file for each process."""
    own = folder / str(os.getpid())
    with own.open("a") as file:
        file.write(f"{trials[0].identity}\n")
    deadline = time.monotonic() + 30
    while len(own.read_text().splitlines()) < number:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{own.read_text()!r}")
        time.sleep(0.01)
    return fake(trials)


def failing_beside(
    trials: Sequence[Trial], folder: Path, bad: str, *, others: int = 1, kill: bool = False
) -> list[TrialResult]:
    """Fail for one trial while other jobs run, which end only when they run again."""
    if trials[0].identity != bad:
        running = folder / trials[0].identity
        if not running.exists():
            running.touch()
            time.sleep(60)
        return fake(trials)
    while len(list(folder.iterdir())) < others:
        time.sleep(0.01)
    if kill:
        os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError("no luck")
