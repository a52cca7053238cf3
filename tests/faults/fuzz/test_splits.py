"""Splits that may be anything: refused, or trained on exactly the graphs they name."""

from functools import cache
from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.fuzz.oracle import budget, judge
from tests.faults.fuzz.strategies import almost, odd_objects
from tests.training.examples import some_graphs

from clipgnn import History, ModelSpec, PackedGraphs, Recipe, Split, train

NUM_GRAPHS = 8
MODEL = ModelSpec("gin", {"hidden_channels": 2, "num_layers": 1})
RECIPE = Recipe(epochs=1, batch_size=4)
PARTS = ("train", "test", "validation")
Plain = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@cache
def graphs() -> PackedGraphs:
    return some_graphs(NUM_GRAPHS)


def _forms(numbers: list[int]) -> list[Any]:
    """The same part as a tensor, list, tuple, NumPy array or mask."""
    mask = [number in numbers for number in range(NUM_GRAPHS)]
    return [
        torch.tensor(numbers, dtype=torch.int64),
        torch.tensor(numbers, dtype=torch.int64).to(torch.int32),
        list(numbers),
        tuple(numbers),
        np.array(numbers, dtype=np.int64),
        torch.tensor(mask),
        np.array(mask),
        mask,
    ]


@st.composite
def splits(draw: st.DrawFn) -> dict[str, Any]:
    """Parts that may be trained on, or almost."""
    order = draw(st.permutations(range(NUM_GRAPHS)))
    cut = draw(st.sampled_from([0, 1, 2, 3, 4, 5, 5, 6]))
    middle = draw(st.integers(cut, NUM_GRAPHS))
    end = draw(st.integers(middle, NUM_GRAPHS))
    numbers = {
        "train": list(order[:cut]),
        "test": list(order[cut:middle]),
        "validation": list(order[middle:end]),
    }
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        part = draw(st.sampled_from(PARTS))
        index = draw(st.sampled_from([*range(-2, NUM_GRAPHS + 2), -NUM_GRAPHS, 2**31, 2**62]))
        numbers[part] = [*numbers[part], index]
    parts: dict[str, Any] = {
        part: draw(st.sampled_from(_forms(own))) for part, own in numbers.items()
    }
    if draw(st.integers(0, 3)) == 0:
        part = draw(st.sampled_from(PARTS))
        parts[part] = draw(almost(torch.tensor(numbers[part], dtype=torch.int64)))
    return parts


def _plain(part: Any) -> tuple[int, ...]:
    """The numbers that a part names, in its order."""
    if isinstance(part, torch.Tensor | np.ndarray):
        assert part.ndim == 1, "a part has one axis"
        part = part.tolist()
    values = list(part)
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        assert len(values) == NUM_GRAPHS, "a mask has an entry for each graph"
        return tuple(number for number, chosen in enumerate(values) if chosen)
    assert all(isinstance(value, int | np.integer) for value in values)
    assert not any(isinstance(value, bool) for value in values)
    return tuple(int(value) for value in values)


@cache
def _right(plain: Plain, seed: int) -> History:
    parts = [torch.tensor(part, dtype=torch.int64) for part in plain]
    [history] = train(graphs(), MODEL, RECIPE, [Split(*parts)], [seed])
    return history


@budget("train")
@given(splits(), st.one_of(st.just(3), st.just(4), st.just(5), odd_objects()))
def test_train(parts: dict[str, Any], seed: Any) -> None:
    def check(histories: list[History]) -> None:
        plain: Any = tuple(_plain(parts[part]) for part in PARTS)
        for own in plain:
            assert all(0 <= number < NUM_GRAPHS for number in own), "there is no such graph"
            assert len(set(own)) == len(own), "a graph is named twice"
        learned, tested, validated = map(set, plain)
        assert not learned & tested
        assert not learned & validated
        assert not tested & validated
        assert len(learned) >= 2
        assert tested
        assert isinstance(seed, int | np.integer)
        [history] = histories
        right = _right(plain, int(seed))
        assert history.train_loss == right.train_loss
        assert history.test_score == right.test_score
        assert history.validation_score == right.validation_score
        assert len(history.validation_score) == bool(validated)
        share = history.test_score[0] * len(tested)
        assert abs(share - round(share)) < 1e-4, "a share of the test graphs"

    judge(
        "train",
        (parts, seed),
        lambda: train(graphs(), MODEL, RECIPE, [Split(**parts)], [seed]),
        check,
    )
