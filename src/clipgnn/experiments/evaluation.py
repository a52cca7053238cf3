"""From a store to measurements: the curves of every cell, under a protocol."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.experiments.catalog import MODELS
from clipgnn.experiments.protocol import PROTOCOLS, Candidate, Curve, Measurement, aligned
from clipgnn.experiments.spec import Cell, Configuration, Spec
from clipgnn.experiments.store import Failure, StoredResult


@dataclass(frozen=True)
class MeasuredCell:
    """A cell of the table with its number.

    Attributes:
        row: name of the row.
        dataset: name of the data set.
        measurement: the number, and how much of it is there.
        maximize: whether larger scores are better.
    """

    row: str
    dataset: str
    measurement: Measurement
    maximize: bool


def evaluate(
    spec: Spec,
    results: Mapping[str, StoredResult],
    protocol: str | None = None,
    diverged: Mapping[str, Failure] | None = None,
) -> list[MeasuredCell]:
    """Every cell of an experiment under a protocol.

    Args:
        spec: the experiment.
        results: what is finished, by identity of the trial.
        protocol: name of the protocol; by default the experiment's own.
        diverged: what diverged, likewise; without it, such trials count as missing.

    Raises:
        InvalidParameterError: if there is no such protocol, or the trials do not suit it.
    """
    name = protocol or spec.protocol
    if name not in PROTOCOLS:
        raise InvalidParameterError(
            f"The protocol must be one of {', '.join(PROTOCOLS)}. Got {name!r}."
            f"{suggestion(name, PROTOCOLS)}"
        )
    if name == "fair" and spec.split != "nested":
        raise InvalidParameterError(
            'The protocol "fair" needs validation graphs, and these trials have none. '
            'Run the experiment with split = "nested", or with --protocol fair.'
        )
    measured = []
    for cell in spec.cells:
        candidates = [
            _candidate(spec, cell, configuration, results, diverged or {})
            for configuration in cell.configurations
        ]
        losses = {str(configuration.recipe.get("loss")) for configuration in cell.configurations}
        maximize = "squared-error" not in losses
        measurement = PROTOCOLS[name](candidates, spec.folds, maximize=maximize)
        measured.append(MeasuredCell(cell.row, cell.dataset, measurement, maximize))
    return measured


def _candidate(
    spec: Spec,
    cell: Cell,
    configuration: Configuration,
    results: Mapping[str, StoredResult],
    diverged: Mapping[str, Failure],
) -> Candidate:
    """The curves of a configuration.

    A fold is finished when all its seeds are, and diverged when one of them is.
    """
    folds: dict[int, list[StoredResult]] = {}
    reasons: dict[int, str] = {}
    for trial in spec.trials_of(cell, configuration):
        if trial.identity in diverged:
            reasons.setdefault(trial.fold, diverged[trial.identity].error)
        elif trial.identity in results:
            folds.setdefault(trial.fold, []).append(results[trial.identity])
    whole = {fold: found for fold, found in folds.items() if len(found) == len(spec.seeds)}
    nested = spec.split == "nested"
    return Candidate(
        configuration={**configuration.parameters, **configuration.recipe},
        test={fold: _mean([run.test_score for run in runs]) for fold, runs in whole.items()},
        validation={
            fold: _mean([run.validation_score for run in runs])
            for fold, runs in whole.items()
            if nested
        },
        trained=MODELS[configuration.model].trained,
        diverged=reasons,
    )


def _mean(curves: list[Curve]) -> Curve:
    mean: Curve = np.mean(aligned(curves), axis=0)
    return mean
