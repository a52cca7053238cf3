"""The interface of graph kernels, and a support vector machine on them."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import Parameters, SVMParameters

MAX_STEPS = 1_000_000
"""Largest number of solver steps, which takes seconds on a thousand graphs. Without a limit, the
solver can run for hours with a large C and a kernel that does not separate the classes."""

Indices = NDArray[np.int64]


class Kernel(Parameters, ABC):
    """A kernel between graphs. Subclasses are frozen dataclasses of their parameters."""

    @abstractmethod
    def gram(self, graphs: PackedGraphs) -> NDArray[np.float64]:
        """Kernel between every two graphs, `[graphs, graphs]`, symmetric."""


@dataclass(frozen=True)
class Fitted:
    """Scores of a support vector machine on one split.

    Attributes:
        train_error: share of the training graphs that are misclassified.
        scores: accuracy on each evaluated part; None if it has no graphs.
    """

    train_error: float
    scores: tuple[float | None, ...]


def fit_svm(
    gram: NDArray[np.float64],
    y: Indices,
    train: Indices,
    evaluated: Sequence[Indices],
    C: float = SVMParameters.C,
) -> Fitted:
    """Fit scikit-learn's SVC to the training graphs of one split.

    More than two classes are classified one against one. The solver stops after `MAX_STEPS` steps
    with a RuntimeWarning; the scores are then those of an approximate solution.

    Args:
        gram: the kernel between all graphs of the data set.
        y: their classes.
        train: indices of the training graphs.
        evaluated: indices of the graphs of each part to evaluate; the first one, the test graphs,
            must not be empty.
        C: weight of training errors relative to the margin.

    Raises:
        InvalidParameterError: if C is not positive, there are no test graphs, or training graphs
            have fewer than two classes.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    C = SVMParameters.check("C", C)
    if np.unique(y[train]).size < 2 or evaluated[0].size == 0:
        raise InvalidParameterError(
            "A split must have training graphs of at least two classes and one graph to test on. "
            f"Got {train.size} training graphs of {np.unique(y[train]).size} classes and "
            f"{evaluated[0].size} test graphs."
        )
    machine = SVC(kernel="precomputed", C=C, max_iter=MAX_STEPS)
    with warnings.catch_warnings():
        # The warning recommends scaling the data, which does not apply to precomputed kernels.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(gram[np.ix_(train, train)], y[train])
    if machine.fit_status_ != 0:
        warnings.warn(
            f"A support vector machine with C={C:g} on {train.size} graphs was stopped after "
            f"{MAX_STEPS} steps; its scores are those of an approximate solution. Use a smaller C "
            "or a normalized kernel.",
            RuntimeWarning,
            stacklevel=2,
        )

    def accuracy(part: Indices) -> float:
        return float(np.mean(machine.predict(gram[np.ix_(part, train)]) == y[part]))

    return Fitted(
        train_error=1.0 - accuracy(train),
        scores=tuple(accuracy(part) if part.size else None for part in evaluated),
    )
