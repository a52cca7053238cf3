"""Predictions: files that are read back exactly, and refused files."""

from dataclasses import replace

import numpy as np
import pytest

from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.predictions import Predictions

PREDICTIONS = Predictions(np.array([3, 1]), np.array([[0.25, 0.75], [1.0, 0.0]]))


@pytest.mark.parametrize("best", [None, np.array([[0.5, 0.5], [0.1, 0.9]])])
def test_predictions_come_back_to_the_last_bit(best):
    back = Predictions.from_bytes(replace(PREDICTIONS, best=best).to_bytes())
    np.testing.assert_array_equal(back.graphs, PREDICTIONS.graphs)
    np.testing.assert_array_equal(back.last, PREDICTIONS.last)
    assert (back.best is None) == (best is None)
    if best is not None:
        np.testing.assert_array_equal(back.best, best)


@pytest.mark.parametrize("content", [b"", b"text", PREDICTIONS.to_bytes()[:-30]])
def test_damaged_predictions_are_refused(content):
    with pytest.raises(InvalidParameterError, match="must be a file of predictions"):
        Predictions.from_bytes(content)


def test_pickled_predictions_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, graphs=np.array([0]), last=np.array([[object()]], dtype=object))
    with pytest.raises(InvalidParameterError, match="must be a file of predictions"):
        Predictions.from_bytes(path.read_bytes())


def test_shapes_of_predictions_are_checked():
    with pytest.raises(InvalidParameterError, match=r"must have shape \[graphs, classes\]"):
        Predictions(np.array([1, 2, 3]), PREDICTIONS.last)
