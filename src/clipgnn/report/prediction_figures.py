"""Figures of predicted classes: confusion matrix and calibration."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from clipgnn.report.figures import GRAY, PALETTE, lighten, plain
from clipgnn.report.predicted import NUM_BINS, PredictedClasses

_DARKEST = 0.6
"""Opacity of the largest share, on which text can be read in a light and in a dark page."""

_MAX_CLASSES = 20
"""Largest number of classes whose counts are written into the matrix."""


def draw_confusion(own: PredictedClasses) -> Figure:
    """Draw the numbers of test graphs by true and predicted class, shaded by share of the row."""
    size = len(own.confusion)
    figure = Figure(figsize=(3.9, 3.9), layout="constrained")
    axes = figure.subplots()
    for true, row in enumerate(own.confusion):
        total = max(1, int(row.sum()))
        for predicted, count in enumerate(row):
            place = (predicted - 0.5, true - 0.5)
            opacity = _DARKEST * int(count) / total
            axes.add_patch(Rectangle(place, 1, 1, color=PALETTE[0], alpha=opacity, linewidth=0))
            if size <= _MAX_CLASSES:
                axes.text(
                    predicted,
                    true,
                    str(int(count)),
                    ha="center",
                    va="center",
                    fontsize=max(5, 11 - size // 2),
                )
    axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
    step = -(-size // 10)
    axes.set_xticks(range(0, size, step))
    axes.set_yticks(range(0, size, step))
    axes.set(xlabel="predicted class", ylabel="true class")
    axes.set_title(plain(f"{own.row} on {own.dataset}"))
    return figure


def draw_calibration(own: PredictedClasses) -> Figure:
    """Draw accuracy by confidence, with the diagonal, and the numbers of predictions below."""
    figure = Figure(figsize=(3.9, 4.6), layout="constrained")
    upper, lower = figure.subplots(2, height_ratios=(3, 1), sharex=True)
    upper.plot([0, 1], [0, 1], "--", color=GRAY, linewidth=1, label="perfect calibration")
    upper.bar(
        [one.low for one in own.bins],
        [one.accuracy for one in own.bins],
        width=1 / NUM_BINS,
        align="edge",
        color=PALETTE[0],
        alpha=0.35,
        label="share of correct predictions",
    )
    upper.plot(
        [one.confidence for one in own.bins],
        [one.accuracy for one in own.bins],
        "o",
        color=PALETTE[1],
        clip_on=False,
        zorder=3,
        label="at their mean confidence",
    )
    lower.bar(
        [one.low for one in own.bins],
        [one.count for one in own.bins],
        width=1 / NUM_BINS,
        align="edge",
        color=PALETTE[0],
        alpha=0.35,
    )
    upper.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy")
    upper.set_title(plain(f"{own.row} on {own.dataset}"))
    lower.set(xlabel="confidence (largest probability)", ylabel="graphs")
    for axes in (upper, lower):
        lighten(axes)
    figure.legend(loc="outside lower center", fontsize=8, frameon=False)
    return figure
