"""Curves are finite, aligned and compared in the direction of their metric."""

import pickle
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from clipgnn.curves import Curves, mean_curves
from clipgnn.errors import InvalidParameterError
from clipgnn.parameters import METRICS

CURVES = Curves([3, 2, 1], [0.5, 0.9, 0.9], [0.2, 0.1, 0.4])
WITHOUT_VALIDATION = Curves([3, 2, 1], [0.5, 0.9, 0.9])


def test_values_are_float64_and_read_only() -> None:
    assert CURVES.train_loss.dtype == np.float64
    assert CURVES.epochs == 3
    with pytest.raises(ValueError, match="read-only"):
        CURVES.test_score[0] = 1.0


def test_the_given_values_are_copied() -> None:
    given = np.array([1.0, 2.0])
    curves = Curves(given, given)
    given[0] = 5.0
    assert curves.train_loss.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["train_loss", "test_score", "validation_score"])
@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_values_must_be_finite(name: str, value: float) -> None:
    changes: dict[str, Any] = {name: [0.5, value, 0.5]}
    with pytest.raises(InvalidParameterError, match=rf"{name} must be finite. Got {value} in epo"):
        replace(CURVES, **changes)


@pytest.mark.parametrize("name", ["test_score", "validation_score"])
def test_curves_must_have_the_same_length(name: str) -> None:
    changes: dict[str, Any] = {name: [0.5, 0.5]}
    with pytest.raises(InvalidParameterError, match=f"{name} must have a value for each of the 3"):
        replace(CURVES, **changes)


def test_more_axes_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"Got an array of shape \(1, 3\)"):
        Curves(np.ones((1, 3)), [1, 2, 3])


def test_an_unknown_metric_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InvalidParameterError, match=r"Got 'acuracy'. Did you mean 'accuracy'\?"):
        Curves([1], [1], metric="acuracy")


@pytest.mark.parametrize("metric", METRICS)
def test_the_best_epoch_follows_the_metric(metric: str) -> None:
    curves = replace(CURVES, metric=metric)
    assert curves.maximize == (metric in ("accuracy", "roc-auc", "average-precision"))
    assert curves.best_test_epoch == (1 if curves.maximize else 0), "the first of equals"
    assert curves.best_validation_epoch == (2 if curves.maximize else 1)
    assert curves.merit(0.7) == (0.7 if curves.maximize else -0.7)


def test_equality_and_pickling() -> None:
    assert pickle.loads(pickle.dumps(CURVES)) == CURVES
    assert replace(CURVES) == CURVES
    assert replace(CURVES, metric="rmse") != CURVES
    assert replace(CURVES, diverged="in epoch 4") != CURVES
    assert WITHOUT_VALIDATION != CURVES
    assert CURVES != "curves"


def test_a_curve_that_ends_early_keeps_its_last_values() -> None:
    short = Curves([5], [0.3])
    mean = mean_curves([WITHOUT_VALIDATION, short])
    assert mean.train_loss.tolist() == [4, 3.5, 3]
    np.testing.assert_allclose(mean.test_score, [0.4, 0.6, 0.6])
    assert mean.validation_score.shape == (0,)
    assert short.test_score_at(2) == 0.3
    assert mean_curves([CURVES]) == CURVES


def test_scores_must_be_there_unless_training_diverged() -> None:
    CURVES.check_complete(validation=True)
    Curves([], [], diverged="in epoch 1").check_complete(validation=True)
    with pytest.raises(InvalidParameterError, match="test_score must have a value"):
        Curves([], []).check_complete(validation=False)
    with pytest.raises(InvalidParameterError, match="validation_score must have a value"):
        Curves([1], [1]).check_complete(validation=True)
