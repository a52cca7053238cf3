"""Numbers that figures show: learning curves, scores by k, and scores by training time."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clipgnn.curves import Curves
from clipgnn.parameters import METRICS


@dataclass(frozen=True)
class CurveLine:
    """The curves of a model on one data set.

    Attributes:
        label: description of the model.
        folds: its curves, one for each fold.
        epoch: the epoch that is marked, from 1; None for none.
        row: number of the model, which determines its color; None for the number of the line.
    """

    label: str
    folds: Sequence[Curves]
    epoch: int | None = None
    row: int | None = None


@dataclass(frozen=True)
class CurvePanel:
    """Learning curves on one data set, of the configurations that the protocol has chosen.

    Attributes:
        dataset: name of the data set.
        metric: name of the metric of its scores.
        lines: the curves of each model.
    """

    dataset: str
    metric: str
    lines: tuple[CurveLine, ...]


@dataclass(frozen=True)
class ScorePanel:
    """Scores on one data set, by value of a parameter.

    Attributes:
        title: name of the data set.
        scores: scores of the folds, by value of the parameter.
        published: means of the paper, by value of the parameter.
        metric: name of the metric of the scores.
    """

    title: str
    scores: dict[int, list[float]] = field(default_factory=dict)
    published: dict[int, float] = field(default_factory=dict)
    metric: str = "accuracy"


@dataclass(frozen=True)
class TimePoint:
    """Time and score of a model on one data set.

    Attributes:
        label: name of the model.
        seconds: mean duration of the training of a fold, without compilation.
        scores: scores of the folds.
        devices: devices that it was trained on.
        row: number of the model, which determines its color.
    """

    label: str
    seconds: float
    scores: tuple[float, ...]
    devices: tuple[str, ...]
    row: int


@dataclass(frozen=True)
class TimePanel:
    """Times and scores on one data set.

    Attributes:
        dataset: name of the data set.
        metric: name of the metric of the scores.
        points: the models.
    """

    dataset: str
    metric: str
    points: tuple[TimePoint, ...]


def score_factor(metric: str) -> float:
    """Return the factor of scores in tables and figures: 100 for percent, 1 for errors."""
    return 100.0 if METRICS[metric] else 1.0


def score_label(metric: str) -> str:
    """Return the label of an axis of test scores."""
    return f"test {metric}{' (%)' if METRICS[metric] else ''}"
