"""Provenance of a table: commands, data, grid, seeds, durations, versions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clipgnn.errors import counted
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.store import Store, StoredResult
from clipgnn.parameters import Recipe, Value, model_named

_PACKAGES = (
    "torch",
    "torch-geometric",
    "numpy",
    "scipy",
    "scikit-learn",
    "grakel",
    "igraph",
    "networkx",
    "cuda",
)


def provenance(
    experiment: Experiment, store: Store, results: Mapping[str, StoredResult]
) -> list[str]:
    """Describe the provenance of the results of an experiment, in lines."""
    trials = experiment.trials()
    own = [results[trial.identity] for trial in trials if trial.identity in results]
    lines = [
        "Commands: " + "; ".join(code(command) for command in _commands(experiment, store)),
        f"Grid: {_grid(experiment)}",
        f"Tried: {_tried(experiment, results)}",
        f"Data: {_data(experiment)}",
        f"Folds: {experiment.folds}, stratified and shuffled with seed 0, {_groups(experiment)}"
        f"split {experiment.split}; seeds of the networks: {', '.join(map(str, experiment.seeds))}",
        f"Trials: {len(own)} of {len(trials)} finished",
    ]
    if diverged := store.diverged().keys() & {trial.identity for trial in trials}:
        lines[-1] += f", {len(diverged)} diverged"
    if own:
        seconds = sum(result.seconds for result in own)
        compiled = sum(result.compile_seconds for result in own)
        days = sorted({result.finished[:10] for result in own})
        lines[-1] += (
            f", {_duration(seconds)} of training and {_duration(compiled)} of compilation, "
            + (f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}")
        )
    environments = store.environments()
    for number in sorted({result.environment for result in own}):
        count = sum(result.environment == number for result in own)
        lines += _environment(environments[number], count)
    return lines


def code(text: str) -> str:
    """Enclose text in backticks, more than the longest run of backticks in it."""
    runs = [len(run) for run in re.findall("`+", text)]
    fence = "`" * (1 + max(runs, default=0))
    return f"{fence} {text} {fence}" if runs else f"{fence}{text}{fence}"


def _commands(experiment: Experiment, store: Store) -> list[str]:
    """Return the commands of runs that share a data set and its fingerprint with the table."""
    own = {(name, experiment.data[name]) for name in experiment.datasets if name in experiment.data}
    commands = [plan.command for plan in store.plans() if own & plan.data.items()]
    return list(dict.fromkeys(command for command in commands if command)) or ["none"]


def _groups(experiment: Experiment) -> str:
    if experiment.groups == "none":
        return ""
    kept = "isomorphic graphs" if experiment.groups == "isomorphic" else experiment.groups
    return f"{kept} kept in one fold, "


def _data(experiment: Experiment) -> str:
    names = experiment.data_names
    known = [f"{name} {experiment.data[name]}" for name in names if name in experiment.data]
    return f"{', '.join(known) or 'not loaded'} (fingerprints of the content)"


def _grid(experiment: Experiment) -> str:
    recipe = {
        key: (default,)
        for key, default in Recipe.defaults().items()
        if default is not None and any(model_named(row.model).trained for row in experiment.rows)
    }
    parts = [_axes({**recipe, **experiment.grid})] if recipe or experiment.grid else []
    parts += [f"on {dataset} {_axes(axes)}" for dataset, axes in experiment.only.items() if axes]
    for row in experiment.rows:
        own = [_axes(row.axes)] if row.axes else []
        own += [f"on {dataset} {_axes(axes)}" for dataset, axes in row.only.items()]
        if own:
            parts.append(f"{row.name}: {', '.join(own)}")
    return "; ".join(parts) or "default parameters"


def _tried(experiment: Experiment, results: Mapping[str, StoredResult]) -> str:
    """Describe the number of configurations and epochs that each row was chosen from."""
    rows: dict[str, dict[str, list[str]]] = {}
    for cell in experiment.cells:
        finished = [
            configuration
            for configuration in cell.configurations
            if all(trial.identity in results for trial in experiment.trials_of(cell, configuration))
        ]
        if not finished:
            continue
        epochs = sorted({int(own.recipe.get("epochs", 0)) for own in finished})
        size = counted(len(finished), "configuration")
        if epochs[-1]:
            size += f" × {' or '.join(map(str, epochs))} epochs"
        rows.setdefault(cell.row, {}).setdefault(size, []).append(cell.dataset)
    return (
        "; ".join(
            f"{row} "
            + ", ".join(
                size if len(sizes) == 1 else f"{size} on {' and '.join(datasets)}"
                for size, datasets in sizes.items()
            )
            for row, sizes in rows.items()
        )
        or "nothing yet"
    )


def _axes(axes: Mapping[str, Sequence[Value | None]]) -> str:
    return ", ".join(f"{key} {_choices(values)}" for key, values in axes.items())


def _choices(values: Sequence[Value | None]) -> str:
    if len(values) == 1:
        return str(values[0])
    return "{" + ", ".join(map(str, values)) + "}"


def _environment(environment: Mapping[str, Any], count: int) -> list[str]:
    versions, machine = environment["versions"], environment["machine"]
    packages = [f"{name} {versions[name]}" for name in _PACKAGES if name in versions]
    source = f"source {versions.get('clipgnn-source', '?')}"
    if "clipgnn-commit" in versions:
        source += f", commit {versions['clipgnn-commit'][:12]}"
    about = [
        f"clipgnn {versions.get('clipgnn', '?')} ({source})",
        f"Python {versions.get('python', '?')}",
        *packages,
    ]
    hardware = [f"{key} {value}" for key, value in machine.items()]
    trials = counted(count, "trial")
    return [
        f"Versions ({trials}): {', '.join(about)}",
        f"Machine ({trials}): device {environment['device']}, {', '.join(hardware)}",
    ]


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
