"""Training curves: the loss and the scores after each epoch, from training to tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.parameters import METRICS

Scores = NDArray[np.float64]
"""A number for each epoch."""

Numbers = Sequence[float | int] | NDArray[Any]
"""Numbers from which `Scores` are made."""


CURVES = ("train_loss", "test_score", "validation_score", "fresh_score")
"""Names of the curves, in the order of the arguments of `Curves`."""


@dataclass(frozen=True, eq=False, init=False)
class Curves:
    r"""The curves of one training run; all numbers are finite.

    Models without epochs, such as kernels, have curves of length 1.

    Args:
        train_loss: mean training loss of each epoch; for a kernel, the training error.
        test_score: score of the test graphs after each epoch; empty without them.
        validation_score: score of the validation graphs after each epoch; empty without them.
        fresh_score: score of a second test set after each epoch; empty without one.
        metric: name of the metric of the scores, one of `METRICS`.
        diverged: None, or the epoch and learning rate at which a loss or score was no longer
            finite; the curves then end before that epoch.

    Raises:
        InvalidParameterError: if a number is not finite, the curves have different lengths, or
            the metric is unknown.

    Shapes:
        train_loss: :math:`(\text{epochs})`.
        test_score, validation_score, fresh_score: :math:`(\text{epochs})` or :math:`(0)`.
    """

    train_loss: Scores
    test_score: Scores
    validation_score: Scores
    fresh_score: Scores
    metric: str
    diverged: str | None

    def __init__(
        self,
        train_loss: Numbers,
        test_score: Numbers = (),
        validation_score: Numbers = (),
        fresh_score: Numbers = (),
        *,
        metric: str = "accuracy",
        diverged: str | None = None,
    ) -> None:
        check_metric(metric)
        given = (train_loss, test_score, validation_score, fresh_score)
        for name, values in zip(CURVES, given, strict=True):
            object.__setattr__(self, name, _finite(name, values))
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "diverged", diverged)
        for name in CURVES:
            length = len(getattr(self, name))
            if length not in (0, self.epochs):
                raise InvalidParameterError(
                    f"{name} must have a value for each of the {self.epochs} epochs of train_loss. "
                    f"Got {length} values."
                )

    @property
    def epochs(self) -> int:
        """Number of epochs."""
        return len(self.train_loss)

    @property
    def maximize(self) -> bool:
        """Whether larger scores are better."""
        return METRICS[self.metric]

    @property
    def best_test_epoch(self) -> int:
        """Index of the first epoch with the best test score."""
        return self._best(self.test_score)

    @property
    def best_validation_epoch(self) -> int:
        """Index of the first epoch with the best validation score."""
        return self._best(self.validation_score)

    def merit(self, score: float) -> float:
        """Return the score with the sign for which larger is better."""
        return score if self.maximize else -score

    def test_score_at(self, epoch: int) -> float:
        """Return the test score after an epoch, or the last one if training stopped earlier."""
        return float(self.test_score[min(epoch, self.epochs - 1)])

    def fresh_score_at(self, epoch: int) -> float | None:
        """Return the score of the second test set likewise; None without one."""
        if not len(self.fresh_score):
            return None
        return float(self.fresh_score[min(epoch, self.epochs - 1)])

    def check_complete(self, *, validation: bool, fresh: bool = False) -> None:
        """Check that there are scores, unless training diverged.

        Args:
            validation: whether there must be validation scores.
            fresh: whether there must be scores of a second test set.

        Raises:
            InvalidParameterError: if scores are missing.
        """
        if self.diverged is not None:
            return
        if not len(self.test_score):
            raise InvalidParameterError("test_score must have a value for each epoch. Got none.")
        if validation and not len(self.validation_score):
            raise InvalidParameterError(
                "validation_score must have a value for each epoch of a nested split. Got none."
            )
        if fresh and not len(self.fresh_score):
            raise InvalidParameterError(
                "fresh_score must have a value for each epoch of a trial with fresh graphs. Got "
                "none."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Curves):
            return NotImplemented
        return (self.metric, self.diverged) == (other.metric, other.diverged) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in CURVES
        )

    __hash__ = None  # type: ignore[assignment]

    def _best(self, scores: Scores) -> int:
        return int(np.argmax(scores) if self.maximize else np.argmin(scores))


def mean_curves(curves: Sequence[Curves]) -> Curves:
    """Return the mean of curves of one metric; a curve that ends early keeps its last values.

    Args:
        curves: at least one `Curves`, each with at least one epoch.
    """
    return Curves(
        *(_mean([getattr(own, name) for own in curves]) for name in CURVES),
        metric=curves[0].metric,
    )


def check_metric(metric: str) -> None:
    """Check that a metric exists.

    Raises:
        InvalidParameterError: if it does not.
    """
    if metric not in METRICS:
        raise InvalidParameterError(
            f"metric must be one of {', '.join(METRICS)}. Got {shown(metric)}."
            f"{suggestion(metric, METRICS)}"
        )


def _finite(name: str, values: Numbers) -> Scores:
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidParameterError(
            f"{name} must have one axis, the epochs. Got an array of shape {array.shape}."
        )
    if not np.isfinite(array).all():
        epoch = int(np.argmin(np.isfinite(array)))
        raise InvalidParameterError(
            f"{name} must be finite. Got {array[epoch]} in epoch {epoch + 1}. End the curves "
            "before that epoch and set diverged."
        )
    array.flags.writeable = False
    return array


def _mean(curves: Sequence[Scores]) -> Scores:
    """Return the mean of curves; empty if one of them is."""
    if not all(len(curve) for curve in curves):
        return np.empty(0)
    mean: Scores = aligned(curves).mean(axis=0)
    return mean


def aligned(curves: Sequence[Scores]) -> Scores:
    """Stack curves as rows, padded with their last values: `[curves, epochs]`."""
    length = max(len(curve) for curve in curves)
    return np.stack([np.pad(curve, (0, length - len(curve)), mode="edge") for curve in curves])
