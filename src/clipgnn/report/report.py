"""Reports: the table of an experiment, and the numbers behind its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clipgnn.experiments.evaluation import MeasuredCell, chosen_curves, chosen_trials, evaluate
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.store import Store, StoredResult
from clipgnn.report.by_number import scores_by_number
from clipgnn.report.kept import kept_predictions
from clipgnn.report.missing import missing
from clipgnn.report.predicted import PredictedClasses
from clipgnn.report.provenance import device_name, provenance
from clipgnn.report.series import (
    CurveLine,
    CurvePanel,
    ScorePanel,
    TimePanel,
    TimePoint,
    score_factor,
)
from clipgnn.report.table import Table, make_table


@dataclass(frozen=True)
class Report:
    """A report of an experiment.

    Attributes:
        table: its table, with provenance.
        curves: learning curves by data set.
        scores: scores by number of colorings.
        times: training times and scores by data set.
        predicted: kept predictions of the chosen configurations.
        notes: sentences about what figures do not show, by name of the attribute.
    """

    table: Table
    curves: tuple[CurvePanel, ...] = ()
    scores: tuple[ScorePanel, ...] = ()
    times: tuple[TimePanel, ...] = ()
    predicted: tuple[PredictedClasses, ...] = ()
    notes: Mapping[str, tuple[str, ...]] | None = None


def make_report(
    experiment: Experiment, store: Store, protocol: str, *, full: bool = False, figures: bool = True
) -> Report:
    """Build the report of an experiment from its store.

    Args:
        experiment: the experiment, or the part of it that was asked for.
        store: store of its results.
        protocol: name of the protocol of its numbers.
        full: whether the provenance has all commands, values, versions and machines.
        figures: whether to collect the numbers of figures; otherwise there is only the table.

    Raises:
        InvalidParameterError: if the protocol does not suit the trials.
        StoreError: if the store or a file of predictions is damaged.
    """
    results, diverged = store.results(), store.diverged()
    cells = evaluate(experiment, results, protocol, diverged)
    table = make_table(
        experiment,
        cells,
        protocol,
        provenance(experiment, store, results, full=full),
        missing(experiment, results.keys(), diverged.keys(), store.failures().keys()),
    )
    if not figures or experiment.split == "pairs":
        return Report(table)
    measured = [cell for cell in cells if cell.measurement.values]
    scores, incomplete = scores_by_number(experiment, results, protocol, diverged)
    predicted, unusable = kept_predictions(experiment, measured, results, store.path)
    environments = store.environments()
    devices = {number: device_name(own) for number, own in environments.items()}
    return Report(
        table,
        tuple(_curves(experiment, measured, results)),
        tuple(scores),
        tuple(_times(experiment, measured, results, devices)),
        tuple(predicted),
        {"scores": tuple(incomplete), "predicted": tuple(unusable)},
    )


def _by_dataset(
    experiment: Experiment, cells: Sequence[MeasuredCell]
) -> list[tuple[str, list[MeasuredCell]]]:
    """Return the cells of each data set in the order of the rows; without data sets of no cell."""
    numbers = _row_numbers(experiment)
    ordered = sorted(cells, key=lambda cell: numbers[cell.row])
    columns = [(name, [c for c in ordered if c.dataset == name]) for name in experiment.datasets]
    return [(name, own) for name, own in columns if own]


def _row_numbers(experiment: Experiment) -> dict[str, int]:
    return {row.name: number for number, row in enumerate(experiment.rows)}


def _curves(
    experiment: Experiment, cells: Sequence[MeasuredCell], results: Mapping[str, StoredResult]
) -> list[CurvePanel]:
    """Collect curves of models with several epochs; a circle marks an epoch of all folds."""
    panels, numbers = [], _row_numbers(experiment)
    for dataset, own in _by_dataset(experiment, cells):
        lines = []
        for cell in own:
            folds = list(chosen_curves(experiment, cell, results).values())
            choice = cell.measurement.choices[0]
            if choice.epoch is not None and max(curves.epochs for curves in folds) > 1:
                epoch = choice.epoch if choice.fold is None else None
                lines.append(CurveLine(cell.row, folds, epoch, numbers[cell.row]))
        if lines:
            panels.append(CurvePanel(dataset, own[0].metric, tuple(lines)))
    return panels


def _times(
    experiment: Experiment,
    cells: Sequence[MeasuredCell],
    results: Mapping[str, StoredResult],
    devices: Mapping[int, str],
) -> list[TimePanel]:
    panels, numbers = [], _row_numbers(experiment)
    for dataset, own in _by_dataset(experiment, cells):
        points = []
        for cell in own:
            trials = [t for fold in chosen_trials(experiment, cell).values() for t in fold]
            found = [results[trial.identity] for trial in trials]
            factor = score_factor(cell.metric)
            points.append(
                TimePoint(
                    cell.row,
                    float(np.mean([result.seconds for result in found])),
                    tuple(factor * value for value in cell.measurement.values.values()),
                    tuple(sorted({devices[result.environment] for result in found})),
                    numbers[cell.row],
                )
            )
        panels.append(TimePanel(dataset, own[0].metric, tuple(points)))
    return panels
