"""Kernels between graphs, and the support vector machine that learns from them."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs

MOST_STEPS = 1_000_000
"""Steps after which the solver is stopped: seconds on a thousand graphs. Without an end, a large C
on a kernel that does not separate the classes can run for hours."""

Numbers = NDArray[np.int64]


class Kernel(ABC):
    """A kernel between graphs: frozen dataclasses, whose fields are its parameters."""

    @abstractmethod
    def gram(self, graphs: PackedGraphs) -> NDArray[np.float64]:
        """The kernel between every two graphs, `[graphs, graphs]`, symmetric."""


@dataclass(frozen=True)
class Scores:
    """What a support vector machine does on one split.

    Attributes:
        train_error: share of the training graphs that it gets wrong.
        test: accuracy on the test graphs.
        validation: accuracy on the validation graphs; None if there are none.
    """

    train_error: float
    test: float
    validation: float | None


def fit_svm(
    gram: NDArray[np.float64],
    y: Numbers,
    train: Numbers,
    test: Numbers,
    validation: Numbers,
    C: float = 1.0,
) -> Scores:
    """Fit scikit-learn's SVC to the training graphs of one split.

    More than two classes are told apart two by two. The solver stops after `MOST_STEPS` steps; then
    the scores are those of what it has reached, and a RuntimeWarning says so.

    Args:
        gram: the kernel between all graphs of the data set.
        y: their classes.
        train: numbers of the graphs to learn from.
        test: numbers of the graphs to be tested on.
        validation: numbers of the graphs to choose by; may be empty.
        C: weight of the errors on training graphs against the margin; positive.

    Raises:
        InvalidParameterError: if C is not positive, a part is empty, or the training graphs are all
            of one class.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    if isinstance(C, bool) or not isinstance(C, int | float) or not 0 < C < np.inf:
        raise InvalidParameterError(
            "The 'C' parameter of a support vector machine must be a positive number. "
            f"Got {C!r} instead."
        )
    if np.unique(y[train]).size < 2 or test.size == 0:
        raise InvalidParameterError(
            "A split must have training graphs of at least two classes and one graph to test on. "
            f"Got {train.size} training graphs of {np.unique(y[train]).size} classes and "
            f"{test.size} test graphs."
        )
    machine = SVC(kernel="precomputed", C=C, max_iter=MOST_STEPS)
    with warnings.catch_warnings():
        # Its advice, to scale the data, is not for precomputed kernels.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(gram[np.ix_(train, train)], y[train])
    if machine.fit_status_ != 0:
        warnings.warn(
            f"A support vector machine with C={C:g} on {train.size} graphs was stopped after "
            f"{MOST_STEPS} steps; its scores are those of what it had reached. A smaller C or a "
            "normalized kernel ends sooner.",
            RuntimeWarning,
            stacklevel=2,
        )

    def accuracy(part: Numbers) -> float:
        return float(np.mean(machine.predict(gram[np.ix_(part, train)]) == y[part]))

    return Scores(
        train_error=1.0 - accuracy(train),
        test=accuracy(test),
        validation=accuracy(validation) if validation.size else None,
    )
