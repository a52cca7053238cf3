"""Figure of scores by training time."""

import numpy as np
from matplotlib.figure import Figure

from clipgnn.report.figures import color_of, label_decades, lighten, plain
from clipgnn.report.series import TimePanel, score_label
from clipgnn.report.significance import confidence_interval

_MARKERS = "osD^vPX*"


def draw_times(panel: TimePanel, *, level: float = 0.95) -> Figure:
    """Draw the mean score of each model with its confidence interval, by time of training.

    Args:
        panel: times and scores of the models, at least one.
        level: confidence level of the intervals; see `confidence_interval`.
    """
    figure = Figure(figsize=(3.9, 3.8), layout="constrained")
    axes = figure.subplots()
    for point in panel.points:
        mean = float(np.mean(point.scores))
        low, high = confidence_interval(point.scores, level)
        axes.errorbar(
            point.seconds,
            mean,
            yerr=[[mean - low], [high - mean]],
            fmt=_MARKERS[point.row % len(_MARKERS)],
            color=color_of(point.row),
            capsize=3,
            label=plain(point.label),
        )
    axes.set(xscale="log", xlabel="seconds of training for a fold", title=plain(panel.dataset))
    axes.set_ylabel(score_label(panel.metric))
    label_decades(axes, "x")
    lighten(axes)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure
