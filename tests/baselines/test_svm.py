"""The support vector machine on a precomputed kernel."""

import numpy as np
import pytest

from clipgnn.baselines import svm
from clipgnn.baselines.svm import fit_svm
from clipgnn.errors import InvalidParameterError

POINTS = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, -1.5, 1.5])
GRAM = np.outer(POINTS, POINTS)
Y = (POINTS > 0).astype(np.int64)
TRAIN, TEST, NOTHING = np.arange(6), np.array([6, 7]), np.empty(0, dtype=np.int64)


def test_it_learns_what_can_be_learned() -> None:
    fitted = fit_svm(GRAM, Y, TRAIN, [TEST, NOTHING])
    assert (fitted.train_error, fitted.scores) == (0.0, (1.0, None))
    assert fit_svm(GRAM, Y, TRAIN[1:], [TEST, TRAIN[:1]]).scores == (1.0, 1.0)


def test_shares_of_errors() -> None:
    # of three equal points one is not like the others, and one that is tested is not either
    y = Y.copy()
    y[[0, 6]] = 1
    fitted = fit_svm(np.outer(4.0 * Y - 2, 4.0 * Y - 2), y, TRAIN, [TEST])
    assert fitted.train_error == pytest.approx(1 / 6)
    assert fitted.scores == (0.5,)


def test_three_classes() -> None:
    points = np.array([[1, 0], [0, 1], [-1, -1]]).repeat(3, axis=0) * 1.0
    gram, y = points @ points.T, np.arange(3).repeat(3)
    numbers = np.arange(9)
    fitted = fit_svm(gram, y, numbers[numbers % 3 > 0], [numbers[numbers % 3 == 0]])
    assert (fitted.train_error, fitted.scores) == (0.0, (1.0,))


def test_a_solver_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm, "MAX_STEPS", 1)
    points = np.random.default_rng(0).normal(size=(40, 3))
    gram, y, numbers = points @ points.T, np.arange(40) % 2, np.arange(40)
    with pytest.warns(RuntimeWarning, match="C=100 on 30 graphs was stopped after 1 steps"):
        fitted = fit_svm(gram, y, numbers[:30], [numbers[30:]], C=100.0)
    assert 0 <= fitted.train_error <= 1


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("C", [0.0, -1.0, float("inf"), "1"])
def test_bad_weights(C: object) -> None:
    with pytest.raises(InvalidParameterError, match="'C' parameter"):
        fit_svm(GRAM, Y, TRAIN, [TEST], C=C)  # type: ignore[arg-type]


def test_bad_splits() -> None:
    for train, test in ((TRAIN[:3], TEST), (TRAIN, NOTHING), (NOTHING, TEST)):
        with pytest.raises(InvalidParameterError, match="at least two classes"):
            fit_svm(GRAM, Y, train, [test])
