"""Scores of predictions for known targets, and how they are printed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.table import Table
from rich.text import Text

MOST_CLASSES_SHOWN = 10
"""Largest number of classes of a confusion matrix that is printed."""


def classification_scores(
    classes: Sequence[Any], known: NDArray[Any], probabilities: NDArray[np.float64]
) -> dict[str, float]:
    """Scores of probabilities `[graphs, classes]`; ROC AUC only if all classes occur."""
    from sklearn.metrics import (
        accuracy_score,
        balanced_accuracy_score,
        f1_score,
        log_loss,
        roc_auc_score,
    )

    predicted = np.asarray(classes)[probabilities.argmax(axis=1)]
    scores = {
        "accuracy": float(accuracy_score(known, predicted)),
        "balanced accuracy": _quiet(balanced_accuracy_score, known, predicted),
        "macro F1": float(f1_score(known, predicted, average="macro", zero_division=0)),
        "log loss": float(log_loss(known, probabilities, labels=classes)),
    }
    if len(set(known.tolist())) == len(classes):
        chosen = probabilities[:, 1] if len(classes) == 2 else probabilities
        scores["ROC AUC"] = float(
            roc_auc_score(known, chosen, multi_class="ovr", labels=list(classes))
        )
    return scores


def _quiet(score: Any, known: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Score without the warning that a predicted class does not occur."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(score(known, predicted))


def regression_scores(
    known: NDArray[np.float64], predicted: NDArray[np.float64]
) -> dict[str, float]:
    """Scores of numbers `[graphs]`; missing ones are left out, and R² of equal numbers."""
    present = ~np.isnan(known)
    errors = predicted[present] - known[present]
    scores = {
        "RMSE": float(np.sqrt((errors**2).mean())),
        "MAE": float(np.abs(errors).mean()),
    }
    variance = known[present].var()
    if variance > 0:
        scores["R2"] = float(1 - (errors**2).mean() / variance)
    return scores


def score_table(
    rows: Mapping[str, Mapping[str, float]],
    heading: str,
    spreads: Mapping[str, Mapping[str, float]] | None = None,
) -> Table:
    """Return a table of scores, with standard deviations if they are given.

    A single row is printed as a column.

    Args:
        rows: scores by name, for each row.
        heading: heading of the first column.
        spreads: standard deviation of scores, for some of the rows.
    """
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    cells = {
        title: [_cell(row, (spreads or {}).get(title, {}), name) for name in names]
        for title, row in rows.items()
    }
    if len(rows) == 1:
        [(title, column)] = cells.items()
        return _table(["score", title], zip(names, column, strict=True))
    return _table([heading, *names], ([title, *row] for title, row in cells.items()))


def _cell(row: Mapping[str, float], spread: Mapping[str, float], name: str) -> str:
    if name not in row:
        return ""
    return f"{row[name]:.4f}" + (f" ± {spread[name]:.4f}" if name in spread else "")


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """Return a table whose first column has names, and whose others have numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, name in enumerate(header):
        table.add_column(Text(name), justify="right" if number else "left", no_wrap=number > 0)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def confusion_table(
    classes: Sequence[Any], known: NDArray[Any], predicted: Sequence[Any]
) -> Table | None:
    """Return the confusion matrix; None if there are too many classes to print."""
    from sklearn.metrics import confusion_matrix

    if len(classes) > MOST_CLASSES_SHOWN:
        return None
    counts = confusion_matrix(known, predicted, labels=list(classes)).tolist()
    return _table(
        ["true class", *(f"predicted {own}" for own in classes)],
        ([str(own), *map(str, row)] for own, row in zip(classes, counts, strict=True)),
    )
