"""Experiments as a store describes them: what was run into it, on which data."""

from dataclasses import replace

from clipgnn.errors import StoreError, suggestion
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.store import Store


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


def with_stored_sets(experiment: Experiment, store: Store) -> Experiment:
    """Return the experiment with data sets of users that its runs in a store had in addition.

    `clipgnn expressivity FILE` runs an experiment on files that its TOML file does not name.
    """
    for plan in store.plans():
        if plan.name != experiment.name:
            continue
        run = parse_experiment(plan.content, plan.name, str(store.path))
        added = tuple(name for name in run.datasets if name not in experiment.datasets)
        of_rows = {row.name: row.datasets for row in run.rows}
        rows = (
            replace(
                row,
                datasets=row.datasets
                + tuple(name for name in added if name in of_rows.get(row.name, ())),
            )
            for row in experiment.rows
        )
        experiment = replace(experiment, datasets=(*experiment.datasets, *added), rows=tuple(rows))
    return experiment


def with_stored_data(experiment: Experiment, store: Store) -> Experiment:
    """Return the experiment with the fingerprints of its latest run, or else of any other run."""
    found: dict[str, str] = {}
    for plan in sorted(store.plans(), key=lambda plan: plan.name == experiment.name):
        found.update(plan.data)
    return replace(experiment, data=found)
