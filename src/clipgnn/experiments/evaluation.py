"""Evaluation of an experiment: the measurement of every table cell under a protocol."""

from collections.abc import Mapping
from dataclasses import dataclass

from clipgnn.curves import Curves, mean_curves
from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.attempts import Failure
from clipgnn.experiments.experiment import Cell, Configuration, Experiment
from clipgnn.experiments.protocol import PROTOCOLS, Candidate, Measurement, check_protocol
from clipgnn.experiments.store import StoredResult
from clipgnn.experiments.trial import Trial, metric_of
from clipgnn.parameters import Value, model_named


@dataclass(frozen=True)
class MeasuredCell:
    """A table cell with its measurement.

    Attributes:
        row: name of the row.
        dataset: name of the data set.
        measurement: the measurement, which may be incomplete.
        metric: name of the metric of its scores.
    """

    row: str
    dataset: str
    measurement: Measurement
    metric: str = "accuracy"


def evaluate(
    experiment: Experiment,
    results: Mapping[str, StoredResult],
    protocol: str | None = None,
    diverged: Mapping[str, Failure] | None = None,
) -> list[MeasuredCell]:
    """Evaluate every cell of an experiment under a protocol.

    Args:
        experiment: the experiment.
        results: results of finished trials, by identity of the trial.
        protocol: name of the protocol; by default the experiment's own.
        diverged: failures of diverged trials, by identity; without it, such trials count as
            missing.

    Raises:
        InvalidParameterError: if the protocol is unknown or does not suit the trials, or the
            configurations of a cell have different metrics.
    """
    name = protocol or experiment.protocol
    check_protocol(name)
    if (name == "pairs") != (experiment.split == "pairs"):
        raise InvalidParameterError(
            f'protocol must be "pairs" for pairs of graphs, and for nothing else. Got {name!r}.',
            parameter="protocol",
        )
    if name == "fair" and experiment.split != "nested":
        raise InvalidParameterError(
            'protocol must be "gin" or "last" for trials without validation graphs. Got "fair". '
            'Run the experiment with split = "nested" or protocol = "fair" first.',
            parameter="protocol",
        )
    measured = []
    for cell in experiment.cells:
        candidates = [
            _candidate(experiment, cell, configuration, results, diverged or {})
            for configuration in cell.configurations
        ]
        num_folds = experiment.num_seeds(cell) if name == "pairs" else experiment.folds
        measurement = PROTOCOLS[name](candidates, num_folds)
        measured.append(MeasuredCell(cell.row, cell.dataset, measurement, _metric(cell)))
    return measured


def chosen_trials(experiment: Experiment, cell: MeasuredCell) -> dict[int, list[Trial]]:
    """Return the trials that the scores of a cell were read from, by number of the fold.

    They are those of the configuration that a protocol has chosen, one for each seed.

    Args:
        experiment: the experiment.
        cell: one of its measured cells.
    """
    [own] = [own for own in experiment.cells if (own.row, own.dataset) == (cell.row, cell.dataset)]
    trials: dict[int, list[Trial]] = {}
    for choice in cell.measurement.choices:
        configuration = next(
            one for one in own.configurations if _values(one) == choice.configuration
        )
        for trial in experiment.trials_of(own, configuration):
            if choice.fold in (None, trial.fold) and trial.fold in cell.measurement.values:
                trials.setdefault(trial.fold, []).append(trial)
    return trials


def chosen_curves(
    experiment: Experiment, cell: MeasuredCell, results: Mapping[str, StoredResult]
) -> dict[int, Curves]:
    """Return the curves of `chosen_trials` by number of the fold: means over the seeds.

    Args:
        experiment: the experiment.
        cell: one of its measured cells.
        results: the results that it was measured from.
    """
    return {
        fold: mean_curves([results[trial.identity].curves for trial in trials])
        for fold, trials in chosen_trials(experiment, cell).items()
    }


def _metric(cell: Cell) -> str:
    metrics = {metric_of(configuration.recipe) for configuration in cell.configurations}
    if len(metrics) > 1:
        raise InvalidParameterError(
            f"Configurations of {cell.row} on {cell.dataset} must have one metric to be compared. "
            f"Got {', '.join(sorted(metrics))}. Use one loss and one metric in each row."
        )
    return metrics.pop()


def _values(configuration: Configuration) -> dict[str, Value]:
    return {**configuration.parameters, **configuration.recipe}


def _candidate(
    experiment: Experiment,
    cell: Cell,
    configuration: Configuration,
    results: Mapping[str, StoredResult],
    diverged: Mapping[str, Failure],
) -> Candidate:
    """Collect the curves of a configuration.

    A fold is finished when all its seeds are, and diverged when one of them is. Pairs of graphs
    have no folds, and each seed is counted instead.
    """
    by_seed = experiment.split == "pairs"
    num_seeds = experiment.num_seeds(cell)
    folds: dict[int, list[Curves]] = {}
    reasons: dict[int, str] = {}
    for trial in experiment.trials_of(cell, configuration):
        fold = trial.seed if by_seed else trial.fold
        if trial.identity in diverged:
            reasons.setdefault(fold, diverged[trial.identity].error)
        elif trial.identity in results:
            folds.setdefault(fold, []).append(results[trial.identity].curves)
    return Candidate(
        configuration=_values(configuration),
        folds={
            fold: mean_curves(found)
            for fold, found in folds.items()
            if by_seed or len(found) == num_seeds
        },
        trained=model_named(configuration.model).trained,
        diverged=reasons,
    )
