"""Experiments as a store describes them: what was run into it, on which data."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from clipgnn.errors import StoreError, listed, suggestion
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.experiment import Axes, Experiment, ModelRow
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.store import Store

RUN_IN_PARTS = ("expressivity", "exp")
"""Experiments of `clipgnn expressivity`, on pairs of graphs and on files of graphs with classes. A
run asks for some sets, also for files that the experiment does not name; `measured_experiment`
joins all runs."""


def stored_experiment(store: Store, name: str | None = None) -> Experiment:
    """Return the experiment that was last run into a store, with the fingerprints of its data.

    Its trials are those of the stored results, models and predictions.

    Args:
        store: the store.
        name: name of the experiment; it can be omitted if the store has only one.

    Raises:
        StoreError: if the store has no such experiment.
    """
    plans = {plan.name: plan for plan in store.plans()}
    if not plans:
        raise StoreError(f"{store.path} is empty. Run an experiment into it first.")
    if name is None and len(plans) == 1:
        name = next(iter(plans))
    if name not in plans:
        raise StoreError(
            f"The name must be that of an experiment in {store.path}, one of {', '.join(plans)}. "
            f"Got {name!r}.{suggestion(name, plans)}"
        )
    plan = plans[name]
    return with_stored_data(parse_experiment(plan.content, plan.name, str(store.path)), store)


def measured_experiment(whole: Experiment, store: Store, part: Overrides) -> Experiment:
    """Return what all recorded runs of an experiment asked for, and nothing else.

    `clipgnn expressivity` runs parts of an experiment, on files that its TOML file does not name.
    Runs whose folds, protocol or groups are not those of the latest run with results are left out,
    and a row has the values of the latest run with results on each data set.

    Args:
        whole: the experiment of the TOML file, which gives title and order.
        store: the store.
        part: only runs with its epochs and groups are used; the rest of it is not applied.

    Returns:
        The experiment; the whole one if there are no such runs.
    """
    data = with_stored_data(whole, store).data
    settled = store.finished() | store.diverged().keys()
    same = replace(part, models=None, datasets=None, folds=None, where={}, seeds=None)
    runs = []
    for plan in store.plans():
        if plan.name == whole.name:
            run = replace(parse_experiment(plan.content, plan.name, str(store.path)), data=data)
            identities = {trial.identity for trial in run.trials()}
            if identities == {trial.identity for trial in same(run).trials()}:
                runs.append((run, identities))
    if not runs:
        return whole
    # The latest run is the last one; those without results are before all others.
    runs.sort(key=lambda own: not settled.isdisjoint(own[1]))
    settings = _settings(runs[-1][0])
    runs = [(run, own) for run, own in runs if _settings(run) == settings]
    joined = [run for run, _ in runs]
    names = _in_order(whole.datasets, (name for run in joined for name in run.datasets))
    latest = {row.name: row for run in joined for row in run.rows}
    rows = _in_order((row.name for row in whole.rows), latest)
    return replace(
        joined[-1],
        title=whole.title,
        datasets=names,
        rows=tuple(_joined_row(latest[name], joined, names, settled) for name in rows),
        only={},
        first_folds=max(run.first_folds for run in joined),
        seeds=tuple(sorted({seed for run in joined for seed in run.seeds})),
        extremes=tuple(name for name in names if any(name in run.extremes for run in joined)),
        asked=frozenset().union(*(own for _, own in runs)),
    )


def _settings(experiment: Experiment) -> tuple[object, ...]:
    """What all runs of a table have in common."""
    return (
        experiment.protocol,
        experiment.split,
        experiment.folds,
        experiment.groups,
        experiment.validation_share,
        experiment.fresh,
    )


def _in_order(first: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return names once, those of an order first."""
    found = dict.fromkeys(names)
    return tuple(dict.fromkeys([*(name for name in first if name in found), *found]))


def _joined_row(
    row: ModelRow, runs: Sequence[Experiment], names: Sequence[str], settled: Set[str]
) -> ModelRow:
    """Return a row on all data sets that runs asked for, with the latest values for each of them.

    Args:
        row: the row of the latest run that has it.
        runs: all runs, the latest one last.
        names: all data sets.
        settled: identities of trials that are finished or diverged.
    """
    values: dict[str, Axes] = {}
    with_results: set[str] = set()
    known: set[str] = set()
    for run in runs:
        for own in run.rows:
            if own.name != row.name or own.model != row.model:
                continue
            known.update(run.datasets)
            for cell in run.cells:
                if cell.row != row.name:
                    continue
                trials = [t for one in cell.configurations for t in run.trials_of(cell, one)]
                results = any(trial.identity in settled for trial in trials)
                if results or cell.dataset not in with_results:
                    values[cell.dataset] = run.axes(own, cell.dataset)
                if results:
                    with_results.add(cell.dataset)
    axes = next(reversed(values.values()), row.axes)
    reason = row.not_applicable
    if reason and (others := [name for name in names if name not in known]):
        reason = f"Not asked for on {listed(others)}. Others: {reason}"
    return replace(
        row,
        axes=axes,
        datasets=tuple(name for name in names if name in values),
        only={name: own for name, own in values.items() if own != axes},
        not_applicable=reason,
    )


def with_stored_data(experiment: Experiment, store: Store) -> Experiment:
    """Return the experiment with the fingerprints of its latest run, or else of any other run."""
    found: dict[str, str] = {}
    for plan in sorted(store.plans(), key=lambda plan: plan.name == experiment.name):
        found.update(plan.data)
    return replace(experiment, data=found)
