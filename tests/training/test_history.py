"""The history of a training: finite curves and divergence."""

import math

import numpy as np
import pytest

from clipgnn.curves import Curves
from clipgnn.training import History, Recipe
from clipgnn.training.history import finite_curves


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_curves_end_before_the_first_value_that_is_not_finite(place: int, value: float) -> None:
    given = [np.full(4, 0.5) for _ in range(3)]
    given[place][2] = value
    curves = finite_curves(given[0], given[1], given[2], Recipe())
    assert curves.diverged == "diverged in epoch 3, learning rate 0.001"
    for curve in (curves.train_loss, curves.test_score, curves.validation_score):
        assert curve.tolist() == [0.5, 0.5]


def test_the_learning_rate_is_that_of_the_epoch() -> None:
    recipe = Recipe(learning_rate=0.4, halve_every=1, loss="squared-error")
    curves = finite_curves(np.array([1.0, math.nan]), np.ones(2), np.empty(0), recipe)
    assert curves.diverged == "diverged in epoch 2, learning rate 0.2"
    assert curves.metric == "rmse"


def test_finite_curves_are_unchanged() -> None:
    loss, test = np.array([3.0, 2.0]), np.array([0.25, 0.5])
    curves = finite_curves(loss, test, np.empty(0), Recipe(metric="roc-auc"))
    assert curves == Curves(loss, test, metric="roc-auc")


def test_a_history_reads_its_curves() -> None:
    curves = Curves([3.0], [0.5], [0.75], metric="mae", diverged="diverged")
    history = History(curves, best_epoch=1, seconds=2.0)
    assert (history.train_loss, history.test_score, history.validation_score) == (
        [3.0],
        [0.5],
        [0.75],
    )
    assert (history.metric, history.diverged, history.compile_seconds) == ("mae", "diverged", 0.0)
