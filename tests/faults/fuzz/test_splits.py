"""Splits that may be anything: refused, or trained on exactly the graphs they name."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.fuzz.oracle import budget, judge
from tests.faults.fuzz.strategies import almost, odd_objects
from tests.training.examples import some_graphs

from clipgnn import ModelSpec, PackedGraphs, Recipe, Split, train
from clipgnn.training import History, TrainedModels

NUM_GRAPHS = 8
MODEL = ModelSpec("gin", {"hidden_channels": 2, "num_layers": 1})
RECIPE = Recipe(epochs=1, batch_size=4)
PARTS = ("train", "test", "validation")
Plain = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@cache
def graphs() -> PackedGraphs:
    return some_graphs(NUM_GRAPHS)


FORMS = (
    *("list", "tuple", "mask as list", "mask as tuple", "mask as array", "mask as tensor"),
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(np.uint8, np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64),
)
"""How the numbers of a part can be given: names, and dtypes of tensors and arrays."""


def given_as(form: Any, numbers: list[int]) -> Any:
    """The same part in another form; as a list if the form cannot hold the numbers."""
    if isinstance(form, str) and form.startswith("mask"):
        if sorted(numbers) != sorted(set(numbers) & set(range(NUM_GRAPHS))):
            return list(numbers)
        mask = [number in numbers for number in range(NUM_GRAPHS)]
        makers: dict[str, Callable[[list[bool]], Any]]
        makers = {"list": list, "tuple": tuple, "array": np.array, "tensor": torch.tensor}
        return makers[form.removeprefix("mask as ")](mask)
    if form == "tuple":
        return tuple(numbers)
    if form == "list" or any(not 0 <= number < 100 for number in numbers):
        return list(numbers)
    if isinstance(form, torch.dtype):
        return torch.tensor(numbers, dtype=form)
    return np.array(numbers, dtype=form)


@st.composite
def splits(draw: st.DrawFn) -> dict[str, Any]:
    """Parts that may be trained on in more than half of the cases, or almost."""
    order = draw(st.permutations(range(NUM_GRAPHS)))
    cut = draw(st.integers(2, NUM_GRAPHS - 2))
    middle = draw(st.integers(cut + 1, NUM_GRAPHS))
    end = draw(st.integers(middle, NUM_GRAPHS))
    numbers = {
        "train": list(order[:cut]),
        "test": list(order[cut:middle]),
        "validation": list(order[middle:end]),
    }
    kind = draw(st.sampled_from(["valid", "valid", "valid", "numbers", "lose", "object"]))
    part = draw(st.sampled_from(PARTS))
    if kind == "numbers":
        other = [*range(-2, NUM_GRAPHS + 2), -NUM_GRAPHS, 2**31, 2**62]
        place = draw(st.integers(0, len(numbers[part])))
        numbers[part].insert(place, draw(st.sampled_from(other)))
    elif kind == "lose":
        numbers[part] = numbers[part][: draw(st.sampled_from([0, 1]))]
    parts: dict[str, Any] = {
        name: given_as(draw(st.sampled_from(FORMS)), own) for name, own in numbers.items()
    }
    if kind == "object":
        parts[part] = draw(almost(torch.tensor(numbers[part], dtype=torch.int64)))
    elif not numbers["validation"] and draw(st.booleans()):
        del parts["validation"]
    return parts


def _plain(part: Any) -> tuple[int, ...]:
    """The numbers that a part names, in the order in which it is read."""
    if isinstance(part, torch.Tensor | np.ndarray):
        if part.ndim != 1:
            raise TypeError("a part has one axis")
        part = part.tolist()
    if not isinstance(part, list | tuple):
        raise TypeError("a part is a sequence")
    if part and all(isinstance(value, bool | np.bool_) for value in part):
        if len(part) != NUM_GRAPHS:
            raise ValueError("a mask has an entry for each graph")
        return tuple(number for number, chosen in enumerate(part) if chosen)
    if not all(
        isinstance(value, int | np.integer) and not isinstance(value, bool) for value in part
    ):
        raise TypeError("a part has integers")
    return tuple(int(value) for value in part)


def described(parts: dict[str, Any]) -> Plain | None:
    """The numbers of each part; None if they are not a split of the graphs, by sets."""
    try:
        plain = tuple(_plain(parts.get(part, ())) for part in PARTS)
    except (NotImplementedError, RuntimeError, TypeError, ValueError):
        return None
    learned, tested, validated = (set(own) for own in plain)
    together = learned | tested | validated
    if sum(map(len, plain)) != len(together):
        return None  # a graph is named twice, in one part or in two
    if not together <= set(range(NUM_GRAPHS)) or len(learned) < 2:
        return None
    return plain[0], plain[1], plain[2]


@cache
def _right(plain: Plain, seed: int) -> History:
    parts: list[Any] = [torch.tensor(part, dtype=torch.int64) for part in plain]
    [trained] = train(graphs(), MODEL, RECIPE, [Split(*parts)], [seed])
    return trained.history


def seeds() -> st.SearchStrategy[Any]:
    """A seed in most cases."""
    valid = st.sampled_from([3, 4, 5, np.int64(3)])
    return st.integers(0, 9).flatmap(lambda number: valid if number else odd_objects())


@budget("train")
@given(splits(), seeds())
def test_train(parts: dict[str, Any], seed: Any) -> None:
    accepted = []
    plain = described(parts)

    def check(models: TrainedModels) -> None:
        accepted.append(models)
        assert plain is not None, "the parts are not a split of the graphs"
        assert isinstance(seed, int | np.integer)
        [history] = models.histories
        right = _right(plain, int(seed))
        assert history.train_loss == right.train_loss
        assert history.test_score == right.test_score
        assert history.validation_score == right.validation_score
        _, tested, validated = plain
        assert len(history.validation_score) == bool(validated)
        assert len(history.test_score) == bool(tested)
        for score in history.test_score:
            share = score * len(tested)
            assert abs(share - round(share)) < 1e-4, "a share of the test graphs"

    judge(
        "train",
        (parts, seed),
        lambda: train(graphs(), MODEL, RECIPE, [Split(**parts)], [seed]),
        check,
    )
    simple = all(type(part) in (list, tuple, np.ndarray) for part in parts.values())
    if plain is not None and simple and type(seed) is int and 3 <= seed <= 5:
        assert accepted, f"nothing is wrong with {(parts, seed)}"


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_form_is_read_as_the_same_numbers(form: Any) -> None:
    part = given_as(form, [1, 4, 5])
    assert _plain(part) == (1, 4, 5)
    assert Split(train=part, test=[0]).train.tolist() == [1, 4, 5]


def test_the_reference_knows_a_split() -> None:
    assert described({"train": [0, 1], "test": [2]}) == ((0, 1), (2,), ())
    assert described({"train": [0, 1], "test": []}) == ((0, 1), (), ())
    for train_part, test, validation in (
        *(([0], [2], []), ([0, 0], [2], []), ([0, 1], [1], [])),
        *(([0, 1], [2], [2]), ([0, NUM_GRAPHS], [2], []), ([0, -1], [2], []), ([0, 1.0], [2], [])),
        ([True, True, False], [2], []),
    ):
        parts = {"train": train_part, "test": test, "validation": validation}
        assert described(parts) is None
