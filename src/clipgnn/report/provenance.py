"""Provenance of a table: commands, data, grid, seeds, durations, versions."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from clipgnn.errors import counted
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.store import Plan, Store, StoredResult
from clipgnn.parameters import Recipe, Value, model_named
from clipgnn.parameters.recipe import PAIR_RECIPE

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

_SHORT_COMMANDS = 2
"""Number of commands in the short provenance, the latest ones."""


def provenance(
    experiment: Experiment,
    store: Store,
    results: Mapping[str, StoredResult],
    *,
    full: bool = True,
) -> list[str]:
    """Describe the provenance of the results of an experiment, in lines.

    Args:
        experiment: the experiment.
        store: its store.
        results: all results of the store.
        full: whether to include the grid, all commands, and the versions of all packages and the
            machine of each environment; otherwise there is one line about them.
    """
    trials = experiment.trials()
    own = [results[trial.identity] for trial in trials if trial.identity in results]
    lines = [f"Commands: {_commands(experiment, store, full)}"]
    if full:
        lines.append(f"Grid: {_grid(experiment)}")
    lines += [
        f"Tried: {_tried(experiment, results)}",
        f"Data: {_data(experiment)}",
        f"{_folds(experiment)}; seeds of the networks: {', '.join(map(str, experiment.seeds))}",
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
    if others := elsewhere(experiment, store):
        lines.append(f"Not in this table: {others}")
    return [*lines, *_environments(store, own, full)]


def code(text: str) -> str:
    """Enclose text in backticks, more than the longest run of backticks in it."""
    runs = [len(run) for run in re.findall("`+", text)]
    fence = "`" * (1 + max(runs, default=0))
    return f"{fence} {text} {fence}" if runs else f"{fence}{text}{fence}"


def _commands(experiment: Experiment, store: Store, full: bool) -> str:
    """Return the commands of runs that asked for a trial of the table."""
    own = {trial.identity for trial in experiment.trials()}
    found = [plan.command for plan in store.plans() if plan.command and own & _trials(plan, store)]
    commands = list(dict.fromkeys(found)) or ["none"]
    earlier = 0 if full else max(0, len(commands) - _SHORT_COMMANDS)
    text = "; ".join(code(command) for command in commands[earlier:])
    return f"{text}, and {counted(earlier, 'earlier command')}" if earlier else text


def _trials(plan: Plan, store: Store) -> set[str]:
    """Return the identities of the trials that a run asked for."""
    recorded = parse_experiment(plan.content, plan.name, str(store.path))
    return {trial.identity for trial in replace(recorded, data=plan.data).trials()}


def elsewhere(experiment: Experiment, store: Store) -> str:
    """Name cells that other recorded runs of an experiment asked for; empty if there are none."""
    own = {(cell.row, cell.dataset) for cell in experiment.cells}
    others: dict[str, dict[str, None]] = {}
    for plan in store.plans():
        if plan.name == experiment.name:
            recorded = parse_experiment(plan.content, plan.name, str(store.path))
            for cell in recorded.cells:
                if (cell.row, cell.dataset) not in own:
                    others.setdefault(cell.dataset, {})[cell.row] = None
    cells = "; ".join(f"{', '.join(rows)} on {dataset}" for dataset, rows in others.items())
    return f"{cells}, which other runs of {experiment.name} asked for" if cells else ""


def _folds(experiment: Experiment) -> str:
    if experiment.split == "pairs":
        return "Pairs: 32 relabeled copies of each graph"
    return (
        f"Folds: {experiment.folds}, stratified and shuffled with seed 0, {_groups(experiment)}"
        f"split {experiment.split}"
    )


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
    defaults = PAIR_RECIPE if experiment.split == "pairs" else Recipe.defaults()
    recipe = {
        key: (default,)
        for key, default in defaults.items()
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
            size += f" × {' or '.join(map(str, epochs))} epoch{'s' * (epochs != [1])}"
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


def device_name(environment: Mapping[str, Any]) -> str:
    """Return the device of an environment, with the name of the accelerator or processor."""
    machine, device = environment["machine"], environment["device"]
    name = machine.get("accelerator" if device.startswith("cuda") else "processor")
    return f"{device} ({name})" if name else str(device)


def _environments(store: Store, own: Sequence[StoredResult], full: bool) -> list[str]:
    """Describe software and machines of results: in one line, or two for each environment."""
    environments: Mapping[int, Mapping[str, Any]] = store.environments()
    counts = Counter(result.environment for result in own)
    if full:
        return [
            line
            for number in sorted(counts)
            for line in _environment(environments[number], counts[number])
        ]
    short: Counter[str] = Counter()
    for number in sorted(counts):
        versions = environments[number]["versions"]
        torch = f", torch {versions['torch']}" if "torch" in versions else ""
        short[f"{_source(versions)}{torch} on {device_name(environments[number])}"] += counts[
            number
        ]
    parts = [f"{text} ({counted(count, 'trial')})" for text, count in short.items()]
    return [f"Trained with: {'; '.join(parts)}"] if parts else []


def _environment(environment: Mapping[str, Any], count: int) -> list[str]:
    versions, machine = environment["versions"], environment["machine"]
    packages = [f"{name} {versions[name]}" for name in _PACKAGES if name in versions]
    about = [_source(versions), f"Python {versions.get('python', '?')}", *packages]
    hardware = [f"{key} {value}" for key, value in machine.items()]
    trials = counted(count, "trial")
    return [
        f"Versions ({trials}): {', '.join(about)}",
        f"Machine ({trials}): device {environment['device']}, {', '.join(hardware)}",
    ]


def _source(versions: Mapping[str, str]) -> str:
    source = f"source {versions.get('clipgnn-source', '?')}"
    if "clipgnn-commit" in versions:
        source += f", commit {versions['clipgnn-commit'][:12]}"
    return f"clipgnn {versions.get('clipgnn', '?')} ({source})"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
