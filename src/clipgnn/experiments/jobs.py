"""Jobs: groups of trials that are trained together, and their outcomes.

Trials that are trained together round differently from trials that are trained alone. The group of
a trial is therefore derived from the trial itself, and never from which trials are finished,
claimed, failed or requested: a job is always a whole group.
"""

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.trial import Trial, TrialResult
from clipgnn.parameters import model_named

Work = Callable[[Sequence[Trial]], list[TrialResult]]
"""Function that runs the trials of a job: `run_trials` with its device."""


@dataclass(frozen=True)
class Job:
    """A whole group of trials that are trained together, in its order."""

    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job.

    Attributes:
        job: the job.
        results: a result for each of its trials, in their order; None if it failed.
        error: the error in one line, if it failed.
        traceback: the traceback of the error.
    """

    job: Job
    results: tuple[TrialResult, ...] | None = None
    error: str = ""
    traceback: str = ""


def group_of(trial: Trial, *, together: bool) -> tuple[Trial, ...]:
    """Return the group of a trial: all trials that are trained with it, itself included.

    These are all folds of its configuration and seed, or the trial alone. All trials of a group
    have the same group.

    Args:
        trial: the trial.
        together: whether every network trains its folds together, which is faster on a GPU.
            Models with `folds_together` always do.
    """
    if not (together or model_named(trial.model).folds_together):
        return (trial,)
    return tuple(replace(trial, fold=fold) for fold in range(trial.num_folds))


def jobs_of(trials: Iterable[Trial], *, together: bool) -> list[Job]:
    """Return the groups of trials as jobs, in the order of their first trials.

    A job also contains the folds of its group that are not among these trials.

    Args:
        trials: the trials.
        together: as for `group_of`.
    """
    jobs: list[Job] = []
    grouped: set[str] = set()
    for trial in trials:
        if trial.identity not in grouped:
            jobs.append(Job(group_of(trial, together=together)))
            grouped.update(member.identity for member in jobs[-1].trials)
    return jobs


def attempt(work: Work, job: Job) -> Outcome:
    """Run the work of a job; an exception becomes part of the outcome."""
    try:
        results = tuple(work(job.trials))
        _check(job, results)
    except Exception as error:
        return failure(job, describe(error), traceback.format_exc())
    return Outcome(job, results)


def failure(job: Job, error: str, trace: str = "") -> Outcome:
    """Return the outcome of a job that failed."""
    return Outcome(job, None, error, trace or error)


def describe(error: BaseException) -> str:
    """Return an exception in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _check(job: Job, results: Sequence[TrialResult]) -> None:
    if [result.trial for result in results] != [trial.identity for trial in job.trials]:
        raise InvalidParameterError("A job must return a result for each trial, in their order.")
    for trial, result in zip(job.trials, results, strict=True):
        try:
            result.curves.check_complete(
                validation=trial.split == "nested", fresh=bool(trial.fresh)
            )
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{trial}: {error}") from error
        if result.curves.diverged is None:
            _check_kept(trial, result)


def _check_kept(trial: Trial, result: TrialResult) -> None:
    kept = (
        ("model", trial.keep_model, result.model),
        ("predictions", trial.keep_predictions, result.predictions),
    )
    for name, keep, value in kept:
        if keep and value is None:
            raise InvalidParameterError(f"{trial}: {name} must be kept. Got a result without it.")
