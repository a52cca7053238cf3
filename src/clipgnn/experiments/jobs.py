"""Jobs: trials that are trained together, and what became of them."""

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.catalog import MODELS
from clipgnn.experiments.trial import Trial, TrialResult

Work = Callable[[Sequence[Trial]], list[TrialResult]]
"""What is done with the trials of a job: `run_trials`, with its device."""


@dataclass(frozen=True)
class Job:
    """Trials that are trained together."""

    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    Attributes:
        job: the job.
        results: a result for each of its trials, in their order; None if it failed.
        error: why it failed, in one line.
        traceback: where it failed, as Python prints it.
    """

    job: Job
    results: tuple[TrialResult, ...] | None = None
    error: str = ""
    traceback: str = ""


def jobs_of(trials: Iterable[Trial], *, together: bool) -> list[Job]:
    """Jobs for these trials, in their order.

    Args:
        trials: the trials.
        together: whether to train all folds and seeds of a configuration in one job, which is
            faster on a GPU. Models with `folds_together` in the catalog always are.
    """
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        shared = together or MODELS[trial.model].folds_together
        groups.setdefault(trial.configuration if shared else trial.identity, []).append(trial)
    return [Job(tuple(group)) for group in groups.values()]


def attempt(work: Work, job: Job) -> Outcome:
    """Do the work of a job; whatever it raises becomes part of the outcome."""
    try:
        results = tuple(work(job.trials))
        _check(job, results)
    except Exception as error:
        return failure(job, describe(error), traceback.format_exc())
    return Outcome(job, results)


def failure(job: Job, error: str, trace: str = "") -> Outcome:
    """The outcome of a job that failed."""
    return Outcome(job, None, error, trace or error)


def describe(error: BaseException) -> str:
    """An exception in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _check(job: Job, results: Sequence[TrialResult]) -> None:
    if [result.trial for result in results] != [trial.identity for trial in job.trials]:
        raise InvalidParameterError("A job must return a result for each trial, in their order.")
    for trial, result in zip(job.trials, results, strict=True):
        if not result.test_score:
            raise InvalidParameterError(f"{trial} must have a score for each epoch. It has none.")
        if len(result.train_loss) != len(result.test_score):
            raise InvalidParameterError(
                f"{trial} must have a loss for each of its {len(result.test_score)} epochs. "
                f"It has {len(result.train_loss)}."
            )
        if trial.split == "nested" and len(result.validation_score) != len(result.test_score):
            raise InvalidParameterError(
                f"{trial} must have a validation score for each of its {len(result.test_score)} "
                f"epochs. It has {len(result.validation_score)}."
            )
