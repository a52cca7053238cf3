"""Curves as they are stored: single precision, a few bytes for each epoch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipgnn.experiments.compact import compact, expanded


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=40))
def test_single_precision_comes_back(values: list[float]) -> None:
    assert expanded(compact(np.array(values, dtype=np.float64))).tolist() == values


def test_numbers_beyond_single_precision() -> None:
    largest = float(np.finfo(np.float32).max)
    stored = expanded(compact(np.array([1e300, -1e300, 0.1])))
    assert stored.tolist() == [largest, -largest, float(np.float32(0.1))]


@pytest.mark.parametrize("graphs", [19, 111])
def test_size(graphs: int) -> None:
    """A trial and epoch need at most 5 bytes: a smooth loss with noise, and an accuracy."""
    generator = np.random.default_rng(0)
    epochs = np.arange(350)
    loss = 0.7 * np.exp(-epochs / 80) * generator.uniform(0.8, 1.2, 350)
    scores = generator.binomial(graphs, 0.9, 350) / graphs
    assert len(compact(loss)) + len(compact(scores)) <= 5 * 350
