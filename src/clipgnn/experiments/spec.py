"""An experiment: data sets × models × grid × folds × seeds, and the trials it comes to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from clipgnn.errors import InvalidSpecError, suggestion
from clipgnn.experiments.catalog import MODELS, RECIPE, Value
from clipgnn.experiments.trial import Trial

Axes = Mapping[str, tuple[Value, ...]]
"""For each parameter the values to try; one value is a parameter that is fixed."""


@dataclass(frozen=True)
class Row:
    """A row of the table: a model with values of its own.

    Attributes:
        name: what the row is called, as "16-CLIP".
        model: the model, as "clip".
        axes: values of parameters and recipe that only this row has.
        datasets: where it is measured.
        only: for some data sets, values of this row that replace all others.
    """

    name: str
    model: str
    axes: Axes
    datasets: tuple[str, ...]
    only: Mapping[str, Axes] = field(default_factory=dict)


@dataclass(frozen=True)
class Configuration:
    """One point of the grid."""

    model: str
    parameters: Mapping[str, Value]
    recipe: Mapping[str, Value]


@dataclass(frozen=True)
class Cell:
    """A cell of the table: a row on a data set, with all configurations to choose from."""

    row: str
    dataset: str
    configurations: tuple[Configuration, ...]


@dataclass(frozen=True)
class Spec:
    """An experiment.

    Attributes:
        name: what it is called.
        title: caption of its table.
        datasets: columns of the table.
        rows: rows of the table.
        grid: values for every model that has such a parameter.
        only: for some data sets, values that replace those of the grid and of the rows.
        folds: folds of the cross-validation.
        first_folds: how many of them to run.
        seeds: seeds of weights, batches and colorings; scores are averaged over them.
        protocol: how the table's numbers are made from the curves.
        split: "cross-validation", or "nested" with a validation part.
        published: the table of the paper that has numbers for comparison.
        extremes: data sets for which the table also shows the best and the worst fold.
        data: fingerprint of each data set, where it is known: a run computes it, a store keeps it.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    rows: tuple[Row, ...]
    grid: Axes = field(default_factory=dict)
    only: Mapping[str, Axes] = field(default_factory=dict)
    folds: int = 10
    first_folds: int = 10
    seeds: tuple[int, ...] = (0,)
    protocol: str = "gin"
    split: str = "cross-validation"
    published: str | None = None
    extremes: tuple[str, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell of the table that is to be measured, data set by data set."""
        return tuple(
            Cell(row.name, dataset, configurations)
            for dataset in self.datasets
            for row in self.rows
            if dataset in row.datasets
            if (configurations := tuple(self._configurations(row, dataset)))
        )

    @property
    def num_trials(self) -> int:
        """Number of trials of all cells, counted without building them.

        Trials that several rows share are counted for each of them.
        """
        configurations = sum(
            prod(len(values) for values in self.axes(row, dataset).values())
            for row in self.rows
            for dataset in self.datasets
            if dataset in row.datasets
        )
        return configurations * self.first_folds * len(self.seeds)

    def axes(self, row: Row, dataset: str) -> Axes:
        """What a row tries on a data set: the grid, under the row, under the data set's own.

        What the row has for this data set alone lies on top.
        """
        known = MODELS[row.model].rules
        layers = (self.grid, row.axes, self.only.get(dataset, {}), row.only.get(dataset, {}))
        return {key: values for layer in layers for key, values in layer.items() if key in known}

    def trials_of(self, cell: Cell, configuration: Configuration) -> list[Trial]:
        """The trials of a configuration: the folds to run, for every seed."""
        return [
            Trial(
                dataset=cell.dataset,
                data=self.data.get(cell.dataset, ""),
                model=configuration.model,
                parameters=configuration.parameters,
                recipe=configuration.recipe,
                split=self.split,
                num_folds=self.folds,
                fold=fold,
                seed=seed,
            )
            for seed in self.seeds
            for fold in range(self.first_folds)
        ]

    def trials(self) -> list[Trial]:
        """Every trial once, in the order in which they should run."""
        found = {
            trial.identity: trial
            for cell in self.cells
            for configuration in cell.configurations
            for trial in self.trials_of(cell, configuration)
        }
        return list(found.values())

    def content(self) -> dict[str, Any]:
        """The experiment in the structure of its TOML file, for a store to keep; without data."""
        content: dict[str, Any] = {
            "title": self.title,
            "datasets": list(self.datasets),
            "folds": self.folds,
            "first_folds": self.first_folds,
            "seeds": list(self.seeds),
            "protocol": self.protocol,
            "split": self.split,
            "extremes": list(self.extremes),
            "grid": _as_lists(self.grid),
            "only": {dataset: _as_lists(axes) for dataset, axes in self.only.items()},
            "models": [
                {
                    "name": row.name,
                    "model": row.model,
                    "datasets": list(row.datasets),
                    "only": {dataset: _as_lists(axes) for dataset, axes in row.only.items()},
                    **_as_lists(row.axes),
                }
                for row in self.rows
            ],
        }
        return content if self.published is None else {**content, "published": self.published}

    def _configurations(self, row: Row, dataset: str) -> Iterator[Configuration]:
        axes = self.axes(row, dataset)
        for values in product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            recipe = {
                key: value
                for key, rule in RECIPE.items()
                if MODELS[row.model].trained
                and (value := chosen.get(key, rule.default)) is not None
            }
            parameters = {key: value for key, value in chosen.items() if key not in RECIPE}
            yield Configuration(row.model, parameters, recipe)


@dataclass(frozen=True)
class Overrides:
    """Which part of an experiment to run or report, and how; what is not given stays as it is.

    Attributes:
        models: names of rows.
        datasets: names of data sets.
        epochs: epochs to train, which makes other trials; a kernel has none.
        folds: how many of the folds to run; the others are missing in the table.
        where: for parameters of the grid, the values to keep; what is fixed stays, and a row that
            tries none of them goes.
        protocol: another protocol; "fair" also makes the split nested.
    """

    models: Sequence[str] | None = None
    datasets: Sequence[str] | None = None
    epochs: int | None = None
    folds: int | None = None
    where: Axes = field(default_factory=dict)
    protocol: str | None = None

    def __call__(self, spec: Spec) -> Spec:
        """The experiment with these changes.

        Raises:
            InvalidSpecError: if it names something that the experiment does not have.
        """
        rows, datasets = spec.rows, spec.datasets
        if self.models is not None:
            _check_known("--models", self.models, [row.name for row in rows], spec)
            rows = tuple(row for row in rows if row.name in self.models)
        if self.datasets is not None:
            _check_known("--datasets", self.datasets, datasets, spec)
            datasets = tuple(dataset for dataset in datasets if dataset in self.datasets)
        if self.epochs is not None and not RECIPE["epochs"].accepts(self.epochs):
            raise InvalidSpecError(f"--epochs must be {RECIPE['epochs']}. Got {self.epochs}.")
        if self.folds is not None and not 1 <= self.folds <= spec.folds:
            raise InvalidSpecError(
                f"--folds must be from 1 to {spec.folds}, the folds of {spec.name}. "
                f"Got {self.folds}."
            )
        varied: dict[str, dict[Value, None]] = {}
        for row in rows:
            for dataset in (name for name in datasets if name in row.datasets):
                for key, values in spec.axes(row, dataset).items():
                    if len(values) > 1:
                        varied.setdefault(key, {}).update(dict.fromkeys(values))
        _check_known("--where", list(self.where), sorted(varied), spec)
        for key, wanted in self.where.items():
            if unknown := [value for value in wanted if value not in varied[key]]:
                raise InvalidSpecError(
                    f"--where {key} must be one of {', '.join(map(str, varied[key]))}. "
                    f"Got {unknown[0]!r}."
                )
        # What only the other models know would not be understood when the part is read again.
        known = {key for row in rows for key in MODELS[row.model].rules}
        epochs: Axes = {"epochs": ()} if self.epochs else {}
        narrowed = replace(
            spec,
            datasets=datasets,
            protocol=self.protocol or spec.protocol,
            split="nested" if self.protocol == "fair" else spec.split,
            first_folds=self.folds or spec.first_folds,
            grid=self._kept(_among(known, {**spec.grid, **epochs})),
            only={
                dataset: self._kept(_among(known, axes))
                for dataset, axes in spec.only.items()
                if dataset in datasets
            },
            rows=tuple(
                replace(
                    row,
                    axes=self._kept(row.axes),
                    datasets=tuple(name for name in row.datasets if name in datasets),
                    only={key: self._kept(own) for key, own in row.only.items() if key in datasets},
                )
                for row in rows
            ),
            extremes=tuple(dataset for dataset in spec.extremes if dataset in datasets),
        )
        narrowed = _without_the_empty(narrowed)
        if not narrowed.cells:
            raise InvalidSpecError(
                f"Nothing of {spec.name} is left: the chosen models are not measured on the "
                "chosen data sets, or not with the chosen values."
            )
        return narrowed

    def _kept(self, axes: Axes) -> Axes:
        kept = dict(axes)
        for key, wanted in self.where.items():
            values = axes.get(key, ())
            if len(values) > 1:
                kept[key] = tuple(value for value in values if value in wanted)
        if self.epochs is not None and "epochs" in axes:
            kept["epochs"] = (self.epochs,)
        return kept


def _without_the_empty(spec: Spec) -> Spec:
    """Without rows that have no configuration left, and without parameters that have no value."""

    def filled(axes: Axes) -> Axes:
        return {key: values for key, values in axes.items() if values}

    left = {(cell.row, cell.dataset) for cell in spec.cells}
    rows = []
    for row in spec.rows:
        datasets = tuple(dataset for dataset in row.datasets if (row.name, dataset) in left)
        only = {key: filled(axes) for key, axes in row.only.items() if key in datasets}
        if datasets:
            rows.append(replace(row, axes=filled(row.axes), datasets=datasets, only=only))
    only = {key: filled(axes) for key, axes in spec.only.items()}
    return replace(spec, rows=tuple(rows), grid=filled(spec.grid), only=only)


def _among(known: set[str], axes: Axes) -> Axes:
    return {key: values for key, values in axes.items() if key in known}


def _as_lists(axes: Axes) -> dict[str, list[Value]]:
    return {key: list(values) for key, values in axes.items()}


def _check_known(option: str, given: Sequence[str], known: Sequence[str], spec: Spec) -> None:
    for name in given:
        if name not in known:
            raise InvalidSpecError(
                f"{option} {name!r} is not in {spec.name}, which has {', '.join(known) or 'none'}."
                f"{suggestion(name, known)}"
            )
