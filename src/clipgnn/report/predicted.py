"""Confusion matrix and calibration of kept predictions of classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NUM_BINS = 10
"""Number of bins of equal width between the confidences 0 and 1."""


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence.

    Attributes:
        low: smallest confidence of the bin.
        high: largest confidence of the bin.
        count: number of predictions.
        confidence: their mean confidence.
        accuracy: share of correct ones among them.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class PredictedClasses:
    """Predictions of a model for the test graphs of all folds.

    Attributes:
        row: name of the model.
        dataset: name of the data set.
        epoch: description of the epoch of the predictions.
        networks: number of networks, one for each fold and seed.
        confusion: numbers of test graphs, `[true class, predicted class]`.
        bins: predictions by confidence, which is the largest probability; without empty bins.
    """

    row: str
    dataset: str
    epoch: str
    networks: int
    confusion: NDArray[np.int64]
    bins: tuple[Bin, ...]

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return float(np.trace(self.confusion) / self.confusion.sum())

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: the mean of |accuracy - confidence| over the predictions."""
        total = sum(own.count for own in self.bins)
        return sum(own.count * abs(own.accuracy - own.confidence) for own in self.bins) / total


def confusion_matrix(
    targets: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Count graphs by true and predicted class; of equal probabilities the first class counts."""
    size = max(probabilities.shape[1], int(targets.max(initial=-1)) + 1)
    counts = np.zeros((size, size), dtype=np.int64)
    np.add.at(counts, (targets, probabilities.argmax(1)), 1)
    return counts


def calibration_bins(
    targets: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> tuple[Bin, ...]:
    """Group predictions by confidence in bins of equal width; a bin includes its upper limit."""
    confidence = probabilities.max(1)
    correct = probabilities.argmax(1) == targets
    limits = np.arange(1, NUM_BINS) / NUM_BINS
    number = np.searchsorted(limits, confidence)
    return tuple(
        Bin(
            place / NUM_BINS,
            (place + 1) / NUM_BINS,
            int(inside.sum()),
            float(confidence[inside].mean()),
            float(correct[inside].mean()),
        )
        for place in range(NUM_BINS)
        if (inside := number == place).any()
    )


def summarize(
    row: str,
    dataset: str,
    epoch: str,
    networks: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]],
) -> PredictedClasses:
    """Summarize the predictions of networks, each as targets and probabilities of its test graphs.

    Args:
        row: name of the model.
        dataset: name of the data set.
        epoch: description of the epoch of the predictions.
        networks: targets `[graphs]` and probabilities `[graphs, classes]` of at least one network.
    """
    targets = np.concatenate([own for own, _ in networks])
    probabilities = np.concatenate([own for _, own in networks])
    return PredictedClasses(
        row,
        dataset,
        epoch,
        len(networks),
        confusion_matrix(targets, probabilities),
        calibration_bins(targets, probabilities),
    )
