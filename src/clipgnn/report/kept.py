"""Collection of the kept predictions of an experiment, for its report."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clipgnn.experiments.artifacts import load_predictions, predictions_path
from clipgnn.experiments.evaluation import MeasuredCell, chosen_trials
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.predictions import Predictions
from clipgnn.experiments.store import StoredResult
from clipgnn.experiments.trial import Trial
from clipgnn.report.predicted import PredictedClasses, summarize


def kept_predictions(
    experiment: Experiment,
    cells: Sequence[MeasuredCell],
    results: Mapping[str, StoredResult],
    store: Path,
) -> tuple[list[PredictedClasses], list[str]]:
    """Summarize the predictions of the chosen configuration of each cell.

    With the protocol "fair" they are those after the epoch with the best validation score, which
    the table uses. Other protocols have those after the last epoch only.

    Args:
        experiment: the experiment.
        cells: its measured cells.
        results: results of finished trials, by identity of the trial.
        store: path of the store, beside which the predictions are.

    Returns:
        The summaries, and sentences about files that could not be used.

    Raises:
        StoreError: if a file is damaged.
    """
    found, notes = [], []
    for cell in cells:
        trials = [trial for own in chosen_trials(experiment, cell).values() for trial in own]
        kept = {
            trial: load_predictions(store, trial)
            for trial in trials
            if predictions_path(store, trial.identity).is_file()
        }
        if not kept:
            continue
        name = f"{cell.row} on {cell.dataset}"
        best = cell.measurement.protocol == "fair"
        networks = [
            pair for trial, own in kept.items() if (pair := _classes(trial, own, best)) is not None
        ]
        if len(kept) < len(trials):
            notes.append(f"{name}: predictions of {len(kept)} of {len(trials)} networks were kept.")
        if any(own.targets is None for own in kept.values()):
            notes.append(
                f"{name}: files of an earlier version have no targets; run its trials again to "
                "keep them."
            )
        elif not networks:
            notes.append(f"{name}: the targets are not classes.")
        if networks:
            epoch = _epoch(cell, [results[trial.identity] for trial in kept], best)
            found.append(summarize(cell.row, cell.dataset, epoch, networks))
    return found, notes


def _classes(
    trial: Trial, own: Predictions, best: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Return targets and probabilities of classes; None if there are none."""
    probabilities = own.best if best else own.last
    if probabilities is None or own.targets is None:
        return None
    binary = trial.recipe.get("loss") == "binary-cross-entropy"
    targets = own.targets[:, 0] if own.targets.ndim == 2 and binary else own.targets
    if targets.ndim != 1 or not (binary or np.issubdtype(targets.dtype, np.integer)):
        return None
    if binary and probabilities.shape[1] != 1:
        return None
    if binary:
        probabilities = np.hstack([1 - probabilities, probabilities])
    return targets.astype(np.int64), probabilities


def _epoch(cell: MeasuredCell, results: Sequence[StoredResult], best: bool) -> str:
    """Name the epoch of the predictions, and that of the table if it is another one."""
    curves = [own.curves for own in results]
    epochs = {own.best_validation_epoch + 1 if best else own.epochs for own in curves}
    low, high = min(epochs), max(epochs)
    numbers = f"epoch {low}" if low == high else f"epochs {low} to {high}"
    if best:
        return f"after the epoch with the best validation score of each network ({numbers})"
    text = f"after the last epoch ({numbers})"
    chosen = {choice.epoch for choice in cell.measurement.choices}
    if chosen != epochs and len(chosen) == 1:
        text += f"; the table has the scores of epoch {chosen.pop()}"
    return text
