"""Jobs: trials that are trained together, and what became of them.

Trials that are trained together round differently from trials that are trained alone. Which ones
are trained together is therefore derived here from the trials themselves, and never from what is
finished, free, failed or asked for: a job is always a whole group.
"""

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.catalog import MODELS
from clipgnn.experiments.trial import Trial, TrialResult

Work = Callable[[Sequence[Trial]], list[TrialResult]]
"""What is done with the trials of a job: `run_trials`, with its device."""


@dataclass(frozen=True)
class Job:
    """Trials that are trained together: a whole group, in its order."""

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


def group_of(trial: Trial, *, together: bool) -> tuple[Trial, ...]:
    """The trials that are always trained in one computation with this one, itself among them.

    They are all folds of its configuration and seed, or the trial alone. The members of a group
    have the same group.

    Args:
        trial: the trial.
        together: whether every network trains its folds together, which is faster on a GPU.
            Models with `folds_together` in the catalog always do.
    """
    if not (together or MODELS[trial.model].folds_together):
        return (trial,)
    return tuple(replace(trial, fold=fold) for fold in range(trial.num_folds))


def jobs_of(trials: Iterable[Trial], *, together: bool) -> list[Job]:
    """The groups of these trials as jobs, in the order of their first trials.

    A job also holds the folds of its group that are not among these trials.

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
        for name in ("train_loss", "test_score", "validation_score"):
            for epoch, value in enumerate(getattr(result, name), start=1):
                if not isfinite(value):
                    raise InvalidParameterError(
                        f"{trial} must have finite curves. Its {name} is {value} in epoch {epoch}."
                    )
        if result.diverged is not None:
            continue  # its curves end before the epoch that is named, perhaps at once
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
