"""Figure of learning curves: test score and training loss by epoch, with the spread over folds."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clipgnn.curves import Curves, Scores, aligned
from clipgnn.report.figures import color_of, grid_of, label_decades, lighten, plain
from clipgnn.report.series import CurveLine

SPREAD = (10, 90)
"""Percentiles of the folds between which the area is shaded."""

_FEW_LINES = 3
"""Number of lines whose legend is inside the axes."""

_STYLES = ("-", "--", "-.", ":")


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
    for place, line in enumerate(lines):
        number = place if line.row is None else line.row
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
    upper.set_title(plain(name))
    upper.tick_params(labelbottom=False)
    lower.set(xlabel="epoch", yscale="log")
    label_decades(lower, "y")
    if len(lines) <= _FEW_LINES:
        upper.legend(loc="lower right", fontsize=8)
    else:
        handles, labels = upper.get_legend_handles_labels()
        lower.legend(
            handles,
            labels,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2),
            ncols=2,
            fontsize=8,
            frameon=False,
        )
    for axes in (upper, lower):
        lighten(axes)


def _draw(axes: Axes, line: CurveLine, number: int, values: Callable[[Curves], Scores]) -> None:
    # [folds, epochs]
    rows = aligned([values(own) for own in line.folds])
    epochs = np.arange(1, rows.shape[1] + 1)
    low, high = np.percentile(rows, SPREAD, axis=0)
    color, style = color_of(number), _STYLES[number % len(_STYLES)]
    axes.fill_between(epochs, low, high, color=color, alpha=0.2, linewidth=0)
    axes.plot(epochs, rows.mean(axis=0), style, color=color, linewidth=1.2, label=plain(line.label))
