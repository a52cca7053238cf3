"""All figures of a report: drawn once for its page and for files, with descriptions and numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from clipgnn.curves import aligned
from clipgnn.errors import listed
from clipgnn.report.curve_figure import SPREAD, draw_learning_curves
from clipgnn.report.predicted import PredictedClasses
from clipgnn.report.prediction_figures import draw_calibration, draw_confusion
from clipgnn.report.report import Report
from clipgnn.report.score_figure import draw_scores
from clipgnn.report.series import CurvePanel, ScorePanel, TimePanel, score_factor, score_label
from clipgnn.report.significance import confidence_interval
from clipgnn.report.time_figure import draw_times

_EPOCHS = 10
"""Number of epochs in the numbers of learning curves."""


@dataclass(frozen=True)
class Drawing:
    """A figure with its text alternatives.

    Attributes:
        kind: what it shows: "curves", "scores", "times", "confusion" or "calibration".
        name: a name that no other drawing of the report has, for files and elements of a page.
        description: description of what it shows, in a sentence.
        figure: the figure.
        headings: headings of its numbers.
        rows: its numbers, as text.
    """

    kind: str
    name: str
    description: str
    figure: Figure
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def drawings(report: Report) -> list[Drawing]:
    """Draw the figures of a report."""
    names: set[str] = set()
    found = []
    for drawing in _all(report):
        words = re.sub(r"[^A-Za-z0-9]+", "-", drawing.name).strip("-")[:80].lower()
        name, number = words, 1
        while name in names:
            number += 1
            name = f"{words}-{number}"
        names.add(name)
        found.append(Drawing(**{**vars(drawing), "name": name}))
    return found


def _all(report: Report) -> Iterator[Drawing]:
    yield from map(_curves, report.curves)
    yield from map(_scores, report.scores)
    yield from map(_times, report.times)
    for own in report.predicted:
        yield _confusion(own)
        yield _calibration(own)


def _curves(panel: CurvePanel) -> Drawing:
    factor = score_factor(panel.metric)
    rows = []
    for line in panel.lines:
        # [folds, epochs]
        scores = factor * aligned([own.test_score for own in line.folds])
        losses = aligned([own.train_loss for own in line.folds])
        low, high = np.percentile(scores, SPREAD, axis=0)
        count = scores.shape[1]
        shown = {round(place) for place in np.linspace(1, count, min(_EPOCHS, count))}
        for epoch in sorted(shown | ({min(line.epoch, count)} if line.epoch else set())):
            place = epoch - 1
            mark = " (chosen)" if epoch == line.epoch else ""
            numbers = [scores[:, place].mean(), low[place], high[place], losses[:, place].mean()]
            rows.append((line.label, f"{epoch}{mark}", *(f"{value:.4g}" for value in numbers)))
    label = score_label(panel.metric)
    return Drawing(
        "curves",
        f"curves {panel.dataset}",
        f"Learning curves on {panel.dataset}: {label} and training loss by epoch of "
        f"{listed([line.label for line in panel.lines])}.",
        draw_learning_curves({panel.dataset: panel.lines}, score=label, factor=factor),
        ("model", "epoch", f"{label}, mean", "10th percentile", "90th percentile", "training loss"),
        tuple(rows),
    )


def _scores(panel: ScorePanel) -> Drawing:
    label = score_label(panel.metric)
    rows = []
    for number in sorted(panel.scores.keys() | panel.published.keys()):
        scores = panel.scores.get(number)
        own = [float(np.mean(scores)), *confidence_interval(scores)] if scores else [None] * 3
        values = [*own, panel.published.get(number)]
        rows.append((str(number), *("–" if value is None else f"{value:.4g}" for value in values)))
    return Drawing(
        "scores",
        f"colorings {panel.title}",
        f"{label[0].upper()}{label[1:]} by number k of colorings on {panel.title}, for k = "
        f"{', '.join(map(str, sorted(panel.scores)))}.",
        draw_scores([panel], parameter="number k of colorings", score=label),
        ("k", f"{label}, mean", "95 % interval from", "to", "paper"),
        tuple(rows),
    )


def _times(panel: TimePanel) -> Drawing:
    label = score_label(panel.metric)
    return Drawing(
        "times",
        f"time {panel.dataset}",
        f"{label[0].upper()}{label[1:]} by seconds of training on {panel.dataset}, of "
        f"{listed([point.label for point in panel.points])}.",
        draw_times(panel),
        ("model", "seconds for a fold", f"{label}, mean", "95 % interval from", "to", "device"),
        tuple(
            (
                point.label,
                f"{point.seconds:.3g}",
                f"{np.mean(point.scores):.4g}",
                *(f"{value:.4g}" for value in confidence_interval(point.scores)),
                ", ".join(point.devices),
            )
            for point in panel.points
        ),
    )


def _confusion(own: PredictedClasses) -> Drawing:
    classes = range(len(own.confusion))
    return Drawing(
        "confusion",
        f"confusion {own.row} {own.dataset}",
        f"Confusion matrix of {own.row} on {own.dataset}, {own.epoch}: "
        f"{100 * own.accuracy:.1f} % of {own.confusion.sum()} predictions are correct.",
        draw_confusion(own),
        ("true class", *(f"predicted {number}" for number in classes)),
        tuple((str(true), *map(str, own.confusion[true].tolist())) for true in classes),
    )


def _calibration(own: PredictedClasses) -> Drawing:
    return Drawing(
        "calibration",
        f"calibration {own.row} {own.dataset}",
        f"Calibration of {own.row} on {own.dataset}, {own.epoch}: accuracy by confidence, "
        f"expected calibration error {own.calibration_error:.3f}.",
        draw_calibration(own),
        ("confidence", "graphs", "mean confidence", "accuracy"),
        tuple(
            (
                f"{one.low:.1f} to {one.high:.1f}",
                str(one.count),
                f"{one.confidence:.3f}",
                f"{one.accuracy:.3f}",
            )
            for one in own.bins
        ),
    )
