"""Models and predictions are kept beside the store, and are there whenever a result is."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from tests.experiments.fake_training import diverging, fake, small_experiment
from tests.faults.fake_cli import ENVIRONMENT, ROOT

from clipgnn.errors import StoreError
from clipgnn.experiments import artifacts
from clipgnn.experiments.artifacts import (
    load_model,
    load_predictions,
    model_path,
    predictions_path,
)
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.predictions import Predictions
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial
from clipgnn.writing import write_file

PREDICTIONS = Predictions(np.array([3, 1]), np.array([[0.25, 0.75], [1.0, 0.0]]))


class Keeping(Experiment):
    """An experiment whose trials keep their files."""

    def trials_of(self, cell, configuration):
        return [
            replace(trial, keep_model=True, keep_predictions=True)
            for trial in super().trials_of(cell, configuration)
        ]


PLAIN = small_experiment(datasets=["csl"], extremes=[], grid={"epochs": 2}, only={})
SPEC = Keeping(**vars(PLAIN))


def keep(trials):
    return [
        replace(
            result,
            model=f"model of {trial.fold}".encode() if trial.keep_model else None,
            predictions=PREDICTIONS if trial.keep_predictions else None,
        )
        for trial, result in zip(trials, fake(trials), strict=True)
    ]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "small.sqlite", create=True) as opened:
        yield opened


def test_keeping_is_no_part_of_the_identity():
    for plain, keeping in zip(PLAIN.trials(), SPEC.trials(), strict=True):
        assert keeping.keep_model
        assert plain == keeping
        assert (plain.identity, plain.content) == (keeping.identity, keeping.content)
        assert plain.configuration == keeping.configuration


def test_files_are_kept_beside_the_store(store):
    progress = run_experiment(SPEC, store, InProcessExecutor(keep))
    assert progress.finished == progress.total == len(SPEC.trials())
    for trial in SPEC.trials():
        content = model_path(store.path, trial.identity).read_bytes()
        assert content == f"model of {trial.fold}".encode()
        np.testing.assert_array_equal(load_predictions(store.path, trial).last, PREDICTIONS.last)
    names = sorted(path.name for path in store.path.parent.iterdir())
    assert names == ["small.sqlite", "small.sqlite.models", "small.sqlite.predictions"]
    # nothing is left to do
    assert run_experiment(SPEC, store, InProcessExecutor(keep)).reused == progress.total


@pytest.mark.parametrize("path_of", [model_path, predictions_path])
def test_a_finished_trial_without_its_files_is_run_again(store, path_of):
    run_experiment(SPEC, store, InProcessExecutor(keep))
    before = store.results()
    trial = SPEC.trials()[2]
    path_of(store.path, trial.identity).unlink()
    done = []

    def work(trials):
        done.extend(trials)
        return keep(trials)

    progress = run_experiment(SPEC, store, InProcessExecutor(work))
    assert (progress.reused, progress.finished) == (progress.total - 1, progress.total)
    assert done == [trial]
    assert model_path(store.path, trial.identity).read_bytes() == f"model of {trial.fold}".encode()
    assert store.results() == before, "the first result counts"


def test_a_trial_that_diverges_when_it_is_run_again_does_not_repeat(store):
    run_experiment(PLAIN, store, InProcessExecutor(fake))
    bad = {trial.identity for trial in SPEC.trials()}
    progress = run_experiment(SPEC, store, InProcessExecutor(partial(diverging, bad=bad)))
    assert (progress.finished, progress.diverged) == (0, progress.total)


def test_results_of_an_experiment_that_kept_nothing_are_run_again(store):
    assert run_experiment(PLAIN, store, InProcessExecutor(keep)).finished == len(PLAIN.trials())
    assert list(store.path.parent.iterdir()) == [store.path]
    progress = run_experiment(SPEC, store, InProcessExecutor(keep))
    assert (progress.reused, progress.finished) == (0, progress.total)


def test_work_that_keeps_nothing_fails_and_does_not_repeat(store):
    progress = run_experiment(SPEC, store, InProcessExecutor(fake))
    assert (progress.finished, progress.failed) == (0, progress.total)
    assert progress.last_failure is not None
    assert "model must be kept. Got a result without it." in progress.last_failure


def test_files_that_are_missing_or_damaged_are_named(store):
    trial = SPEC.trials()[0]
    with pytest.raises(StoreError, match=r"There is no model of clip .* with keep_models = true"):
        load_model(store.path, trial)
    with pytest.raises(StoreError, match=r"There is no file of predictions .* keep_predictions"):
        load_predictions(store.path, trial)
    path = predictions_path(store.path, trial.identity)
    path.parent.mkdir()
    path.write_bytes(b"torn")
    with pytest.raises(StoreError, match=r"If it is damaged, delete it and run the experiment"):
        load_predictions(store.path, trial)


def test_a_folder_that_cannot_be_written_stops_the_run(store):
    store.path.with_name("small.sqlite.models").write_text("in the way")
    with pytest.raises(StoreError, match=r"models/\w+.safetensors cannot be written"):
        run_experiment(SPEC, store, InProcessExecutor(keep))
    assert store.finished() == set()


def run_and_die(path: Path, number: int) -> None:
    """Run the experiment and kill this process before it writes the file of this number."""
    numbers = count(1)

    def counted(own: Path, content: bytes) -> None:
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        write_file(own, content)

    with pytest.MonkeyPatch.context() as patched, Store(path, create=True) as store:
        patched.setattr(artifacts, "write_file", counted)
        run_experiment(SPEC, store, InProcessExecutor(keep))


@pytest.mark.parametrize("number", [1, 2, 3, 6])
def test_a_kill_never_leaves_a_result_without_its_files(tmp_path, number):
    path = tmp_path / "small.sqlite"
    code = (
        "from pathlib import Path; from tests.experiments.test_artifacts import run_and_die; "
        f"run_and_die(Path({str(path)!r}), {number})"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=ENVIRONMENT, check=False)
    assert killed.returncode == -signal.SIGKILL
    trials: dict[str, Trial] = {trial.identity: trial for trial in SPEC.trials()}
    with Store(path) as store:
        assert len(store.finished()) == (number - 1) // 2
        for identity in store.finished():
            assert model_path(path, identity).read_bytes()
            assert len(load_predictions(path, trials[identity]).graphs) == 2
        progress = run_experiment(SPEC, store, InProcessExecutor(keep))
        assert progress.finished == progress.total
        assert store.finished_among(SPEC.trials()) == trials.keys()
