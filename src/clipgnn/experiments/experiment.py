"""An experiment: the trials of data sets × models × grid × folds × seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.experiments.catalog import GROUPS, VALIDATION_SHARE, fresh_name, is_own_dataset
from clipgnn.experiments.trial import Trial
from clipgnn.parameters import NONE, Recipe, Value, is_import_path, model_named
from clipgnn.parameters.datasets import FILE_PREFIX, PAIRED_TASKS
from clipgnn.parameters.recipe import PAIR_RECIPE

Axes = Mapping[str, tuple[Value, ...]]
"""The values to try for each parameter; a parameter with one value is fixed."""

KEPT = ("keep_models", "keep_predictions")
"""What can be stored beside the results of a trial."""


@dataclass(frozen=True)
class ModelRow:
    """A row of the table: a model and the values of its parameters.

    Attributes:
        name: label of the row, such as "16-CLIP".
        model: name of the model, such as "clip".
        axes: values of parameters and recipe for this row alone.
        datasets: the data sets on which it is measured.
        only: values for this row on one data set, which replace all others.
        keep_models: whether the trained models are stored beside the results.
        keep_predictions: whether predictions of the test graphs are stored beside the results.
        not_applicable: why it is not measured on the other data sets of the table; may be empty.
    """

    name: str
    model: str
    axes: Axes
    datasets: tuple[str, ...]
    only: Mapping[str, Axes] = field(default_factory=dict)
    keep_models: bool = False
    keep_predictions: bool = False
    not_applicable: str = ""


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
class Experiment:
    """A table to measure: its rows, its columns and the protocol behind its numbers.

    Attributes:
        name: name of the experiment.
        title: caption of its table.
        datasets: columns of the table.
        rows: rows of the table.
        grid: values for every model that has the parameter.
        only: values for one data set, which replace those of the grid and of the rows.
        folds: number of folds of the cross-validation.
        first_folds: number of folds to run.
        seeds: seeds of weights, batches and colorings; scores are averaged over them.
        protocol: name of the protocol that computes the table's numbers from the curves.
        split: "cross-validation", "nested" with validation graphs, or "pairs" of graphs.
        validation_share: share of the training graphs that a nested split holds out.
        groups: which graphs are kept in one fold, one of `GROUPS`.
        fresh: whether generated graphs of another seed are a second test set.
        published: the table of the paper whose numbers are shown for comparison.
        extremes: data sets for which the table also shows the best and the worst fold.
        data: fingerprint of each of `data_names`, if known; `prepare_experiment` computes it and a
            store keeps it.
        asked: identities of the only trials that it has; None for all of them.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    rows: tuple[ModelRow, ...]
    grid: Axes = field(default_factory=dict)
    only: Mapping[str, Axes] = field(default_factory=dict)
    folds: int = 10
    first_folds: int = 10
    seeds: tuple[int, ...] = (0,)
    protocol: str = "gin"
    split: str = "cross-validation"
    validation_share: float = VALIDATION_SHARE
    groups: str = "none"
    fresh: bool = False
    published: str | None = None
    extremes: tuple[str, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    asked: frozenset[str] | None = None

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the table to measure, data set by data set."""
        cells = (
            Cell(row.name, dataset, tuple(self._configurations(row, dataset)))
            for dataset in self.datasets
            for row in self.rows
            if dataset in row.datasets
        )
        if self.asked is not None:
            cells = (
                replace(
                    cell,
                    configurations=tuple(
                        own for own in cell.configurations if self.trials_of(cell, own)
                    ),
                )
                for cell in cells
            )
        return tuple(cell for cell in cells if cell.configurations)

    @property
    def datasets_read(self) -> tuple[str, ...]:
        """Names of the data sets of its trials."""
        return tuple(dict.fromkeys(cell.dataset for cell in self.cells))

    @property
    def own_models(self) -> tuple[str, ...]:
        """Import paths of the networks of users among its models."""
        models = {row.name: row.model for row in self.rows}
        used = dict.fromkeys(models[cell.row] for cell in self.cells)
        return tuple(model for model in used if is_import_path(model))

    @property
    def uses_own_code(self) -> bool:
        """Whether it has a data set or a network of the user."""
        return bool(self.own_models) or any(map(is_own_dataset, self.datasets_read))

    @property
    def data_names(self) -> tuple[str, ...]:
        """Names of all data and of all networks of users, whose fingerprints trials have."""
        names = self.datasets_read
        fresh = (fresh_name(name) for name in names) if self.fresh else ()
        return (*names, *fresh, *self.own_models)

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

    @property
    def test_to_train(self) -> float:
        """Number of test graphs of a fold, divided by that of its training graphs."""
        if self.split == "pairs":
            return 0.0
        held_out = self.validation_share if self.split == "nested" else 0.0
        return 1 / ((self.folds - 1) * (1 - held_out))

    def axes(self, row: ModelRow, dataset: str) -> Axes:
        """The values that a row tries on a data set.

        Later ones replace earlier ones: the grid, the row, the data set, the row on the data set.
        Of the tables for all rows, a network of a user only takes the values of the recipe.
        """
        known = model_named(row.model).rules
        grid, only = (
            {key: values for key, values in shared.items() if key in known}
            for shared in (self.grid, self.only.get(dataset, {}))
        )
        return {**grid, **row.axes, **only, **row.only.get(dataset, {})}

    def trials_of(self, cell: Cell, configuration: Configuration) -> list[Trial]:
        """The trials of a configuration: every fold to run, for every seed."""
        row = next(row for row in self.rows if row.name == cell.row)
        trials = [
            Trial(
                dataset=cell.dataset,
                data=self.data.get(cell.dataset, ""),
                model=configuration.model,
                model_source=self.data.get(configuration.model, "")
                if is_import_path(configuration.model)
                else "",
                parameters=configuration.parameters,
                recipe=configuration.recipe,
                split=self.split,
                num_folds=self.folds,
                fold=fold,
                seed=seed,
                groups=self.groups,
                validation_share=self.validation_share,
                fresh=self.data.get(fresh_name(cell.dataset), "") if self.fresh else "",
                keep_model=row.keep_models,
                keep_predictions=row.keep_predictions,
            )
            for seed in self.seeds
            for fold in range(self.first_folds)
        ]
        if self.asked is None:
            return trials
        return [trial for trial in trials if trial.identity in self.asked]

    def row_of(self, trial: Trial) -> str:
        """Name of the first row that has a configuration of a trial; empty if there is none."""
        for cell in self.cells:
            if cell.dataset == trial.dataset and any(
                (own.model, own.parameters, own.recipe)
                == (trial.model, trial.parameters, trial.recipe)
                for own in cell.configurations
            ):
                return cell.row
        return ""

    def num_seeds(self, cell: Cell) -> int:
        """Number of seeds of a cell: those of the experiment, or those that were asked for."""
        if self.asked is None:
            return len(self.seeds)
        trials = (trial for own in cell.configurations for trial in self.trials_of(cell, own))
        return len({trial.seed for trial in trials})

    def trials(self) -> list[Trial]:
        """Every trial once, in the order in which they should run."""
        found: dict[str, Trial] = {}
        for cell in self.cells:
            for configuration in cell.configurations:
                for trial in self.trials_of(cell, configuration):
                    # Rows can share a trial; it keeps what one of them asks for.
                    known = found.setdefault(trial.identity, trial)
                    if (trial.keep_model, trial.keep_predictions) != (
                        known.keep_model,
                        known.keep_predictions,
                    ):
                        found[trial.identity] = replace(
                            trial,
                            keep_model=trial.keep_model or known.keep_model,
                            keep_predictions=trial.keep_predictions or known.keep_predictions,
                        )
        return list(found.values())

    def content(self) -> dict[str, Any]:
        """The experiment in the structure of its TOML file, without fingerprints, for a store."""
        content: dict[str, Any] = {
            "title": self.title,
            "datasets": list(self.datasets),
            "folds": self.folds,
            "first_folds": self.first_folds,
            "seeds": list(self.seeds),
            "protocol": self.protocol,
            "split": self.split,
            "groups": self.groups,
            "fresh": self.fresh,
            "extremes": list(self.extremes),
            "grid": _as_lists(self.grid),
            "only": {dataset: _as_lists(axes) for dataset, axes in self.only.items()},
            "models": [
                {
                    "name": row.name,
                    "model": row.model,
                    "datasets": list(row.datasets),
                    "only": {dataset: _as_lists(axes) for dataset, axes in row.only.items()},
                    **{key: True for key in KEPT if getattr(row, key)},
                    **({"not_applicable": row.not_applicable} if row.not_applicable else {}),
                    **_as_lists(row.axes),
                }
                for row in self.rows
            ],
        }
        if self.validation_share != VALIDATION_SHARE:
            content["validation_share"] = self.validation_share
        return content if self.published is None else {**content, "published": self.published}

    def _configurations(self, row: ModelRow, dataset: str) -> Iterator[Configuration]:
        axes = self.axes(row, dataset)
        defaults = PAIR_RECIPE if self.split == "pairs" else Recipe.defaults()
        for values in product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            recipe = {
                key: value
                for key, default in defaults.items()
                if model_named(row.model).trained
                and (value := chosen.get(key, default)) not in (None, NONE)
            }
            parameters = {key: value for key, value in chosen.items() if key not in Recipe.names()}
            yield Configuration(row.model, parameters, recipe)


def check_groups(groups: str, datasets: Sequence[str]) -> None:
    """Check that all data sets have groups of graphs.

    Raises:
        InvalidParameterError: if the groups are unknown, or a data set does not have them.
    """
    if groups not in GROUPS:
        raise InvalidParameterError(
            f"groups must be one of {', '.join(GROUPS)}. Got {groups!r}."
            f"{suggestion(groups, GROUPS)}",
            parameter="groups",
        )
    without = [
        name for name in datasets if name not in PAIRED_TASKS and not name.startswith(FILE_PREFIX)
    ]
    if groups == "pairs" and without:
        raise InvalidParameterError(
            f'groups must not be "pairs" for data sets other than {", ".join(PAIRED_TASKS)} and '
            f"files, whose graphs are pairs. Got {without[0]}. Leave it out, or choose other data "
            "sets.",
            parameter="groups",
        )


def _as_lists(axes: Axes) -> dict[str, list[Value]]:
    return {key: list(values) for key, values in axes.items()}
