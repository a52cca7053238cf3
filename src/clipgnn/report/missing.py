"""What a report lacks of the trials that were asked for."""

from collections.abc import Set

from clipgnn.errors import counted, listed
from clipgnn.experiments.experiment import Experiment


def missing(
    experiment: Experiment, finished: Set[str], diverged: Set[str], failed: Set[str]
) -> tuple[str, ...]:
    """Describe the missing trials of an experiment in sentences; none if nothing is missing.

    Args:
        experiment: the experiment as it was asked for.
        finished: identities of trials with a result.
        diverged: identities of trials that diverged, which are not missing.
        failed: identities of trials whose last attempt failed.
    """
    present = finished | diverged
    asked = {trial.identity for trial in experiment.trials()}
    sentences = []
    if absent := asked - present:
        count = f"{len(absent)} of {counted(len(asked), 'trial')} asked for"
        failures = f", {number} of them failed" if (number := len(absent & failed)) else ""
        sentences.append(f"Missing: {count}{failures}.")
        sentences += _cells(experiment, present)
    if experiment.first_folds < experiment.folds:
        one = experiment.first_folds == 1
        first, were = ("first", "was") if one else (f"first {experiment.first_folds}", "were")
        sentences.append(f"The {first} of {experiment.folds} folds {were} asked for.")
    return tuple(sentences)


def _cells(experiment: Experiment, present: Set[str]) -> list[str]:
    """Name the cells without any result by data set, and the partly finished ones."""
    empty: dict[str, list[str]] = {}
    partly: list[str] = []
    for cell in experiment.cells:
        own = {
            trial.identity
            for configuration in cell.configurations
            for trial in experiment.trials_of(cell, configuration)
        }
        left = len(own - present)
        if left == len(own):
            empty.setdefault(cell.dataset, []).append(cell.row)
        elif left:
            partly.append(f"{cell.row} on {cell.dataset} ({left} of {counted(len(own), 'trial')})")
    by_rows: dict[tuple[str, ...], list[str]] = {}
    for dataset, rows in empty.items():
        by_rows.setdefault(tuple(rows), []).append(dataset)
    cells = [f"{listed(rows)} on {listed(datasets)}" for rows, datasets in by_rows.items()]
    lists = {"Without any result": cells, "Partly missing": partly}
    return [f"{name}: {'; '.join(own)}." for name, own in lists.items() if own]
