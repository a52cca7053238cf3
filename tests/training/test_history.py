"""The history of a training: finite curves and divergence."""

import math

import numpy as np
import pytest

from clipgnn.curves import CURVES, Curves
from clipgnn.training import History, Recipe
from clipgnn.training.history import finite_curves

PARTS = ("train", "test", "validation", "fresh")


@pytest.mark.parametrize("place", PARTS)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_curves_end_before_the_first_value_that_is_not_finite(place: str, value: float) -> None:
    given = {part: np.full(4, 0.5) for part in PARTS}
    given[place][2] = value
    curves = finite_curves(given, Recipe())
    assert curves.diverged == "diverged in epoch 3, learning rate 0.001"
    for name in CURVES:
        assert getattr(curves, name).tolist() == [0.5, 0.5]


def test_the_learning_rate_is_that_of_the_epoch() -> None:
    recipe = Recipe(learning_rate=0.4, halve_every=1, loss="squared-error")
    curves = finite_curves({"train": np.array([1.0, math.nan]), "test": np.ones(2)}, recipe)
    assert curves.diverged == "diverged in epoch 2, learning rate 0.2"
    assert curves.metric == "rmse"


def test_finite_curves_are_unchanged() -> None:
    loss, test = np.array([3.0, 2.0]), np.array([0.25, 0.5])
    curves = finite_curves({"train": loss, "test": test}, Recipe(metric="roc-auc"))
    assert curves == Curves(loss, test, metric="roc-auc")


def test_a_history_reads_its_curves() -> None:
    curves = Curves([3.0], [0.5], [0.75], [0.25], metric="mae", diverged="diverged")
    history = History(curves, best_epoch=1, seconds=2.0)
    assert (history.train_loss, history.test_score) == ([3.0], [0.5])
    assert (history.validation_score, history.fresh_score) == ([0.75], [0.25])
    assert (history.metric, history.diverged, history.compile_seconds) == ("mae", "diverged", 0.0)
