"""Overrides: the part of an experiment that is run or reported, and other values for its keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.experiments.experiment import Axes, Experiment, check_groups
from clipgnn.experiments.protocol import SPLIT_OF_PROTOCOL
from clipgnn.parameters import Recipe, Rule, Value, model_named


@dataclass(frozen=True)
class Overrides:
    """The part of an experiment to run or report; None leaves the experiment unchanged.

    Attributes:
        models: names of rows.
        datasets: names of data sets.
        epochs: epochs to train, which gives other trials; kernels have no epochs.
        folds: number of folds to run; the others are missing in the table.
        where: values to keep, for parameters with several values; fixed parameters are unchanged,
            and rows without any of these values are removed.
        protocol: another protocol; "fair" also changes the split to "nested".
        groups: which graphs are kept in one fold instead, which gives other trials.
        seeds: other seeds of weights, batches and colorings.
    """

    models: Sequence[str] | None = None
    datasets: Sequence[str] | None = None
    epochs: int | None = None
    folds: int | None = None
    where: Axes = field(default_factory=dict)
    protocol: str | None = None
    groups: str | None = None
    seeds: Sequence[int] | None = None

    def __call__(self, experiment: Experiment) -> Experiment:
        """Return the experiment with these changes.

        Raises:
            InvalidParameterError: if it names something that the experiment does not have.
        """
        rows, datasets = experiment.rows, experiment.datasets
        if self.models is not None:
            _check_known("models", self.models, [row.name for row in rows], experiment)
            rows = tuple(row for row in rows if row.name in self.models)
        if self.datasets is not None:
            _check_known("datasets", self.datasets, datasets, experiment)
            datasets = tuple(dataset for dataset in datasets if dataset in self.datasets)
        rule = Recipe.rules()["epochs"]
        if self.epochs is not None and not rule.accepts(self.epochs):
            raise InvalidParameterError(
                f"epochs must be {rule}. Got {self.epochs}.", parameter="epochs"
            )
        if self.folds is not None and not 1 <= self.folds <= experiment.folds:
            raise InvalidParameterError(
                f"folds must be from 1 to {experiment.folds}, the folds of {experiment.name}. "
                f"Got {self.folds}.",
                parameter="folds",
            )
        split = SPLIT_OF_PROTOCOL.get(self.protocol or "", experiment.split)
        if self.protocol is not None and (self.protocol == "pairs") != (
            experiment.split == "pairs"
        ):
            raise InvalidParameterError(
                f'protocol must be "pairs" for pairs of graphs, and for nothing else. Got '
                f"{self.protocol!r} for {experiment.name}.",
                parameter="protocol",
            )
        varied: dict[str, dict[Value, None]] = {}
        for row in rows:
            for dataset in (name for name in datasets if name in row.datasets):
                for key, values in experiment.axes(row, dataset).items():
                    if len(values) > 1:
                        varied.setdefault(key, {}).update(dict.fromkeys(values))
        _check_known("where", list(self.where), sorted(varied), experiment)
        for key, wanted in self.where.items():
            if unknown := [value for value in wanted if value not in varied[key]]:
                raise InvalidParameterError(
                    f"where {key} must be one of {', '.join(map(str, varied[key]))}. "
                    f"Got {unknown[0]!r}.",
                    parameter="where",
                )
        # A parameter of removed models would be an unknown key when the part is read again.
        known = {key for row in rows for key in model_named(row.model).rules}
        epochs: Axes = {"epochs": ()} if self.epochs else {}
        narrowed = replace(
            experiment,
            datasets=datasets,
            protocol=self.protocol or experiment.protocol,
            split=split,
            groups=self.groups or experiment.groups,
            seeds=experiment.seeds if self.seeds is None else self._checked_seeds(),
            first_folds=self.folds or experiment.first_folds,
            grid=self._kept(_among(known, {**experiment.grid, **epochs})),
            only={
                dataset: self._kept(_among(known, axes))
                for dataset, axes in experiment.only.items()
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
            extremes=tuple(dataset for dataset in experiment.extremes if dataset in datasets),
        )
        narrowed = _without_the_empty(narrowed)
        check_groups(narrowed.groups, narrowed.datasets)
        if not narrowed.cells:
            reasons = "".join(
                f" {row.name}: {row.not_applicable}" for row in rows if row.not_applicable
            )
            raise InvalidParameterError(
                f"Nothing of {experiment.name} is left: the chosen models are not measured on the "
                f"chosen data sets, or not with the chosen values.{reasons}"
            )
        return narrowed

    def _checked_seeds(self) -> tuple[int, ...]:
        seeds = tuple(self.seeds or ())
        valid = all(Rule(int, 0).accepts(seed) for seed in seeds)
        if not seeds or not valid or len(set(seeds)) < len(seeds):
            raise InvalidParameterError(
                f"seeds must be distinct integers of at least 0. Got {shown(list(seeds))}.",
                parameter="seeds",
            )
        return seeds

    def _kept(self, axes: Axes) -> Axes:
        kept = dict(axes)
        for key, wanted in self.where.items():
            values = axes.get(key, ())
            if len(values) > 1:
                kept[key] = tuple(value for value in values if value in wanted)
        if self.epochs is not None and "epochs" in axes:
            kept["epochs"] = (self.epochs,)
        return kept


def _without_the_empty(experiment: Experiment) -> Experiment:
    """Remove rows without configurations and parameters without values.

    A row that is not applicable to the chosen data sets is kept, since the report explains why.
    """

    def filled(axes: Axes) -> Axes:
        return {key: values for key, values in axes.items() if values}

    left = {(cell.row, cell.dataset) for cell in experiment.cells}
    rows = []
    for row in experiment.rows:
        datasets = tuple(dataset for dataset in row.datasets if (row.name, dataset) in left)
        only = {key: filled(axes) for key, axes in row.only.items() if key in datasets}
        if datasets or (row.not_applicable and not row.datasets):
            rows.append(replace(row, axes=filled(row.axes), datasets=datasets, only=only))
    only = {key: filled(axes) for key, axes in experiment.only.items()}
    return replace(experiment, rows=tuple(rows), grid=filled(experiment.grid), only=only)


def _among(known: set[str], axes: Axes) -> Axes:
    return {key: values for key, values in axes.items() if key in known}


def _check_known(
    parameter: str, given: Sequence[str], known: Sequence[str], experiment: Experiment
) -> None:
    for name in given:
        if name not in known:
            raise InvalidParameterError(
                f"{parameter} {name!r} is not in {experiment.name}, which has "
                f"{', '.join(known) or 'none'}.{suggestion(name, known)}",
                parameter=parameter,
            )
