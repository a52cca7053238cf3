"""Figure of scores by the value of a parameter, such as accuracy by number of colorings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clipgnn.report.figures import COLUMNS, GRAY, PALETTE, lighten, panels, plain
from clipgnn.report.series import ScorePanel
from clipgnn.report.significance import confidence_interval


def draw_scores(
    data_sets: Sequence[ScorePanel], *, parameter: str, score: str, level: float = 0.95
) -> Figure:
    """Draw the mean over folds with its confidence interval, for each data set.

    Values of the parameter have equal distances, because they often are powers of two and zero.

    Args:
        data_sets: the panels, at least one.
        parameter: label of the horizontal axis.
        score: label of the vertical axis.
        level: confidence level of the intervals; see `confidence_interval`.
    """
    figure = panels(len(data_sets))
    values = sorted({value for own in data_sets for value in (*own.scores, *own.published)})
    for number, (axes, own) in enumerate(zip(figure.axes, data_sets, strict=True)):
        _draw(axes, own, values, level)
        axes.set(title=plain(own.title), xlabel=parameter)
        if number % COLUMNS == 0:
            axes.set_ylabel(score)
        lighten(axes)
    figure.legend(handles=_handles(figure.axes), loc="outside upper right", ncols=2, frameon=False)
    return figure


def _draw(axes: Axes, own: ScorePanel, values: Sequence[int], level: float) -> None:
    place = {value: position for position, value in enumerate(values)}
    shown = sorted(own.scores)
    means = np.array([np.mean(own.scores[value]) for value in shown])
    intervals = np.array([confidence_interval(own.scores[value], level) for value in shown])
    axes.errorbar(
        [place[value] for value in shown],
        means,
        yerr=np.abs(intervals.reshape(-1, 2).T - means),
        fmt="o-",
        color=PALETTE[0],
        capsize=3,
        label="measured",
    )
    if own.published:
        published = sorted(own.published)
        axes.plot(
            # Beside the measured ones, so that neither covers the other.
            [place[value] + 0.15 for value in published],
            [own.published[value] for value in published],
            "D",
            color=PALETTE[1],
            markerfacecolor="white",
            label="paper",
        )
    axes.set_xticks(range(len(values)), [str(value) for value in values])
    axes.set_xlim(-0.4, len(values) - 0.6)
    axes.tick_params(color=GRAY)


def _handles(all_axes: Sequence[Axes]) -> list[Any]:
    """Return one entry of each kind for the legend: artists, or containers of artists."""
    found: dict[str, Any] = {}
    for axes in all_axes:
        handles, labels = axes.get_legend_handles_labels()
        found.update(zip(labels, handles, strict=True))
    return [found[label] for label in sorted(found)]
