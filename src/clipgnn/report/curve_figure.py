"""Figure of learning curves: test score and training loss by epoch, with the spread over folds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from clipgnn.curves import Curves, Scores, aligned
from clipgnn.report.figures import color_of, grid_of, lighten

SPREAD = (10, 90)
"""Percentiles of the folds between which the area is shaded."""

_STYLES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class CurveLine:
    """The curves of a model on one data set.

    Attributes:
        label: description of the model.
        folds: its curves, one for each fold.
        epoch: the epoch that is marked, from 1; None for none.
    """

    label: str
    folds: Sequence[Curves]
    epoch: int | None = None


def draw_learning_curves(
    data_sets: Mapping[str, Sequence[CurveLine]],
    *,
    score: str = "test accuracy (%)",
    factor: float = 100.0,
) -> Figure:
    """Draw two axes for each data set: scores above, losses on a logarithmic scale below.

    Lines are means over folds, and shaded areas reach from the 10th to the 90th percentile of the
    folds. A marked epoch has a circle in the upper drawing.

    Args:
        data_sets: the lines to draw, by name of the data set.
        score: label of the scores.
        factor: factor of the scores, such as 100 for percent.
    """
    rows, columns = grid_of(len(data_sets))
    figure = Figure(figsize=(3.9 * columns, 5.8 * rows), layout="constrained")
    # [rows * (upper, lower), columns] -> [data sets, (upper, lower)]
    grid = figure.subplots(2 * rows, columns, squeeze=False).reshape(rows, 2, columns)
    pairs = grid.swapaxes(1, 2).reshape(-1, 2)
    for number, ((name, lines), (upper, lower)) in enumerate(
        zip(data_sets.items(), pairs[: len(data_sets)], strict=True)
    ):
        _draw_data_set(upper, lower, name, lines, factor)
        if number % columns == 0:
            upper.set_ylabel(score)
            lower.set_ylabel("training loss")
    for axes in pairs[len(data_sets) :].flat:
        axes.remove()
    return figure


def _draw_data_set(
    upper: Axes, lower: Axes, name: str, lines: Sequence[CurveLine], factor: float
) -> None:
    for number, line in enumerate(lines):
        _draw(upper, line, number, lambda own: factor * own.test_score)
        _draw(lower, line, number, lambda own: own.train_loss)
        if line.epoch is not None:
            mean = aligned([own.test_score for own in line.folds]).mean(axis=0)
            point = factor * mean[min(line.epoch, len(mean)) - 1]
            upper.plot(
                line.epoch,
                point,
                "o",
                color=color_of(number),
                markerfacecolor="white",
                zorder=4,
            )
    upper.set_title(name)
    upper.tick_params(labelbottom=False)
    lower.set(xlabel="epoch", yscale="log")
    _label_decades(lower)
    upper.legend(loc="lower right", fontsize=8)
    for axes in (upper, lower):
        lighten(axes)


def _label_decades(axes: Axes) -> None:
    """Label a logarithmic axis with plain numbers; also inside a decade, if there is only one."""
    low, high = axes.get_ylim()
    several = high > 10 * low
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if several else MaxNLocator(5))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())


def _draw(axes: Axes, line: CurveLine, number: int, values: Callable[[Curves], Scores]) -> None:
    # [folds, epochs]
    rows = aligned([values(own) for own in line.folds])
    epochs = np.arange(1, rows.shape[1] + 1)
    low, high = np.percentile(rows, SPREAD, axis=0)
    color, style = color_of(number), _STYLES[number % len(_STYLES)]
    axes.fill_between(epochs, low, high, color=color, alpha=0.2, linewidth=0)
    axes.plot(epochs, rows.mean(axis=0), style, color=color, linewidth=1.2, label=line.label)
