"""Rules: accepted values, canonical forms, messages."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipgnn.errors import InvalidParameterError
from clipgnn.parameters.recipe import Recipe
from clipgnn.parameters.rules import LARGEST_INTEGER, PythonValues, Rule

CHANNELS = Rule(int, 1, 8)
SHARE = Rule(float, minimum=0, below=1)
POSITIVE = Rule(float, above=0)
NORM = Rule(str, words=("batch",), optional=True)
ACTIVATION = Rule(str, words=("relu", "sin"), any_case=True, refused={"step": "It has a jump."})
LOSS = Rule(
    str, words=("mae", "mse"), python=PythonValues("a function", callable, lambda value: value)
)
WEIGHTS = Recipe.rules()["class_weights"]
RULES = (CHANNELS, SHARE, POSITIVE, NORM, ACTIVATION, LOSS, WEIGHTS, Rule(bool), Rule(int, 0))


class Strange:
    """A value that refuses to be compared, printed and converted."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError

    def __float__(self) -> float:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


STRANGE = [
    *(np.array([0, 1]), np.array(["batch"]), np.array(1), Strange(), [Strange()], {}, b"batch"),
    *(10**400, -(10**400), Fraction(10**400), float("inf"), float("-inf"), float("nan"), 1j),
    *(-(2**63) - 1, object, np.float64("nan"), np.datetime64("now")),
]


@pytest.mark.parametrize(
    ("rule", "value", "normal"),
    [
        (CHANNELS, 1, 1),
        (CHANNELS, 8, 8),
        (CHANNELS, np.int64(3), 3),
        (CHANNELS, np.uint8(3), 3),
        (SHARE, 0, 0.0),
        (SHARE, 0.999, 0.999),
        (SHARE, np.float64(0.5), 0.5),
        (SHARE, Fraction(1, 2), 0.5),
        (POSITIVE, 3, 3.0),
        (POSITIVE, 1e308, 1e308),
        (NORM, "batch", "batch"),
        (NORM, np.str_("batch"), "batch"),
        (NORM, None, None),
        (ACTIVATION, "ReLU", "relu"),
        (LOSS, "mae", "mae"),
        (LOSS, abs, abs),
        (WEIGHTS, [1, np.float64(2.5)], (1.0, 2.5)),
        (WEIGHTS, "balanced", "balanced"),
        (Rule(bool), False, False),
        (Rule(str), "any", "any"),
        (Rule(int, 0), LARGEST_INTEGER, LARGEST_INTEGER),
    ],
)
def test_accepted_values_become_built_in_types(rule: Rule, value: Any, normal: object) -> None:
    found = rule.check("CLIP", "width", value)
    assert found == normal
    assert type(found) is type(normal)


@pytest.mark.parametrize(
    ("rule", "value", "text"),
    [
        (CHANNELS, 0, "an integer from 1 to 8. Got 0 instead."),
        (CHANNELS, 9, "an integer from 1 to 8. Got 9 instead."),
        (CHANNELS, 2.0, "an integer from 1 to 8. Got 2.0 instead."),
        (CHANNELS, True, "an integer from 1 to 8. Got True instead."),
        (CHANNELS, None, "an integer from 1 to 8. Got None instead."),
        (CHANNELS, 10**400, "an integer from 1 to 8. Got an integer of 1329 bits instead."),
        (Rule(int, 0), 2**63, f"an integer from 0 to {LARGEST_INTEGER}. Got {2**63} instead."),
        (SHARE, 1, "a number of at least 0 and below 1. Got 1 instead."),
        (SHARE, False, "a number of at least 0 and below 1. Got False instead."),
        (POSITIVE, 0, "a finite number above 0. Got 0 instead."),
        (POSITIVE, float("inf"), "a finite number above 0. Got inf instead."),
        (NORM, "Batch", "\"batch\" or None. Got 'Batch' instead. Did you mean 'batch'?"),
        (ACTIVATION, "rellu", "\"relu\", \"sin\". Got 'rellu' instead. Did you mean 'relu'?"),
        (ACTIVATION, "Step", 'one of "relu", "sin". Got \'Step\' instead. It has a jump.'),
        (LOSS, 3, 'one of "mae", "mse" or a function. Got 3 instead.'),
        (WEIGHTS, (), '"balanced", a tuple of positive finite numbers or None. Got () instead.'),
        (WEIGHTS, (1, 0), "finite numbers or None. Got (1, 0) instead."),
        (Rule(bool), 1, "True or False. Got 1 instead."),
        (Rule(str), 1, "a string. Got 1 instead."),
    ],
)
def test_messages_state_requirement_and_value(rule: Rule, value: object, text: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        rule.check("CLIP", "width", value)
    assert str(caught.value).startswith("The 'width' parameter of CLIP must be ")
    assert str(caught.value).endswith(text)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("value", STRANGE, ids=lambda value: type(value).__name__)
def test_strange_values_give_the_same_clear_error(rule: Rule, value: object) -> None:
    if rule is LOSS and callable(value):
        return
    with pytest.raises(InvalidParameterError, match="The 'width' parameter of CLIP must be "):
        rule.check("CLIP", "width", value)


@given(st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.none()))
def test_canonical_values_are_accepted_and_stay(value: object) -> None:
    for rule in RULES:
        if rule.accepts(value):
            normal = rule.normal(value)
            assert rule.accepts(normal)
            assert rule.normal(normal) == normal


def test_toml_spells_none_as_a_word() -> None:
    assert NORM.accepts_toml("none")
    assert NORM.from_toml("none") is None
    assert NORM.in_toml() == '"batch" or "none"'
    assert Rule(int, 1, 5, optional=True).in_toml() == 'an integer from 1 to 5 or "none"'
    assert Rule(bool).in_toml() == "true or false"
    assert not ACTIVATION.accepts_toml("none")
    assert Rule(str).from_toml("none") == "none"


def test_values_of_python_alone_are_not_in_files() -> None:
    assert not WEIGHTS.accepts_toml([1.0, 2.0])
    assert not LOSS.accepts_toml(abs)
    assert not NORM.accepts_toml(None)
    assert WEIGHTS.in_toml() == '"balanced" or "none"'
