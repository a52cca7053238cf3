"""Recipes: metrics of losses, refused values, learning rates."""

from typing import Any

import pytest

from clipgnn.errors import InvalidParameterError
from clipgnn.parameters import (
    LOSSES,
    METRICS,
    Recipe,
)

pytestmark = pytest.mark.usefixtures("without_shape_checks")


@pytest.mark.parametrize(
    ("loss", "metric", "score", "maximize"),
    [
        ("cross-entropy", None, "accuracy", True),
        ("binary-cross-entropy", None, "accuracy", True),
        ("squared-error", None, "rmse", False),
        ("absolute-error", None, "mae", False),
        ("cross-entropy", "roc-auc", "roc-auc", True),
        (abs, "mae", "mae", False),
    ],
)
def test_the_metric_of_a_recipe(loss: Any, metric: Any, score: str, maximize: bool) -> None:
    recipe = Recipe(loss=loss, metric=metric)
    assert (recipe.score, recipe.maximize) == (score, maximize)


def test_every_metric_suits_a_loss() -> None:
    assert {metric for suited in LOSSES.values() for metric in suited} == set(METRICS)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"loss": abs}, "'metric' parameter of Recipe must be given if the loss is a function"),
        ({"metric": "mae"}, "\"average-precision\" for the loss 'cross-entropy'. Got 'mae'"),
        ({"loss": "squared-error", "metric": "accuracy"}, 'one of "rmse", "mae" for the loss'),
        ({"loss": "squared-error", "class_weights": "balanced"}, "'class_weights' .* be None for"),
        ({"class_weights": (1.0, -1.0)}, '"balanced", a tuple of positive finite numbers or None'),
        ({"batch_size": 1}, "'batch_size' parameter of Recipe must be an integer from 2 to"),
        ({"epochs": 2.5}, "'epochs' parameter of Recipe must be an integer from 1 to"),
        ({"learning_rate": 0}, "'learning_rate' .* must be a finite number above 0"),
        ({"patience": 0}, "'patience' .* an integer from 1 to 1000000 or None"),
        ({"loss": "squared-eror"}, "Did you mean 'squared-error'"),
    ],
)
def test_recipes_that_make_no_sense(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Recipe(**wrong)


def test_the_learning_rate_is_halved_at_intervals() -> None:
    recipe = Recipe(learning_rate=1, halve_every=2)
    assert [recipe.rate(epoch) for epoch in range(5)] == [1.0, 1.0, 0.5, 0.5, 0.25]


def test_a_cosine_lowers_the_rate_in_every_epoch() -> None:
    recipe = Recipe(learning_rate=2, epochs=4, schedule="cosine")
    rates = [recipe.rate(epoch) for epoch in range(4)]
    assert rates == pytest.approx([2, 1 + 0.5**0.5, 1, 1 - 0.5**0.5])
