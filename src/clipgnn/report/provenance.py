"""Where the numbers of a table come from: commands, data, grid, seeds, durations, versions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clipgnn.errors import counted
from clipgnn.experiments.catalog import MODELS, RECIPE, Value
from clipgnn.experiments.spec import Spec
from clipgnn.experiments.store import Store, StoredResult

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


def provenance(spec: Spec, store: Store, results: Mapping[str, StoredResult]) -> list[str]:
    """Lines that say where the numbers come from."""
    trials = spec.trials()
    own = [results[trial.identity] for trial in trials if trial.identity in results]
    lines = [
        "Commands: " + "; ".join(code(command) for command in _commands(spec, store)),
        f"Grid: {_grid(spec)}",
        f"Tried: {_tried(spec, results)}",
        f"Data: {_data(spec)}",
        f"Folds: {spec.folds}, stratified and shuffled with seed 0, split {spec.split}; "
        f"seeds of the networks: {', '.join(map(str, spec.seeds))}",
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
    """Text between backticks, more of them than it has itself in a row."""
    runs = [len(run) for run in re.findall("`+", text)]
    fence = "`" * (1 + max(runs, default=0))
    return f"{fence} {text} {fence}" if runs else f"{fence}{text}{fence}"


def _commands(spec: Spec, store: Store) -> list[str]:
    """Commands of plans that have a data set in common with the table, fingerprint included."""
    own = {(name, spec.data[name]) for name in spec.datasets if name in spec.data}
    commands = [plan.command for plan in store.plans() if own & plan.data.items()]
    return list(dict.fromkeys(command for command in commands if command)) or ["none"]


def _data(spec: Spec) -> str:
    known = [f"{name} {spec.data[name]}" for name in spec.datasets if name in spec.data]
    return f"{', '.join(known) or 'not loaded yet'} (fingerprints of the content)"


def _grid(spec: Spec) -> str:
    recipe = {
        key: (rule.default,)
        for key, rule in RECIPE.items()
        if rule.default is not None and any(MODELS[row.model].trained for row in spec.rows)
    }
    parts = [_axes({**recipe, **spec.grid})]
    parts += [f"on {dataset} {_axes(axes)}" for dataset, axes in spec.only.items()]
    for row in spec.rows:
        own = [_axes(row.axes)] if row.axes else []
        own += [f"on {dataset} {_axes(axes)}" for dataset, axes in row.only.items()]
        if own:
            parts.append(f"{row.name}: {', '.join(own)}")
    return "; ".join(parts)


def _tried(spec: Spec, results: Mapping[str, StoredResult]) -> str:
    """How much each row could choose from: the more, the more optimistic a maximum over it."""
    rows: dict[str, dict[str, list[str]]] = {}
    for cell in spec.cells:
        finished = [
            configuration
            for configuration in cell.configurations
            if all(trial.identity in results for trial in spec.trials_of(cell, configuration))
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
    about = [
        f"clipgnn {versions.get('clipgnn', '?')} (source {versions.get('clipgnn-source', '?')})",
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
