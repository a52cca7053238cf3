"""An experiment whose predictions are kept, for tests of reports."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.experiments.fake_training import fake, small_experiment

from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.predictions import Predictions
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial, TrialResult


def keeping(**changes: object) -> Experiment:
    """One data set, two rows and a configuration of nine epochs; 8 trials."""
    changes = {"datasets": ["csl"], "extremes": [], "grid": {"epochs": 9}, "only": {}, **changes}
    return small_experiment(keep_predictions=True, **changes)


def predictions_of(trial: Trial) -> Predictions:
    """Random predictions of ten graphs of three classes, most of them correct."""
    generator = np.random.default_rng(trial.random_seed("predictions"))
    targets = generator.integers(3, size=10)
    outputs = generator.random((2, 10, 3)) + 0.6 * np.eye(3)[targets]
    last, best = outputs / outputs.sum(-1, keepdims=True)
    validated = trial.split == "nested"
    return Predictions(np.arange(10), last, best if validated else None, targets)


def keep(trials: Sequence[Trial]) -> list[TrialResult]:
    return [
        replace(result, predictions=predictions_of(trial) if trial.keep_predictions else None)
        for trial, result in zip(trials, fake(trials), strict=True)
    ]


def run_with_predictions(path: Path, **changes: object) -> Experiment:
    """Run the experiment into a new store."""
    spec = keeping(**changes)
    with Store(path, create=True) as store:
        run_experiment(spec, store, InProcessExecutor(keep), command="clipgnn experiment run small")
    return spec
