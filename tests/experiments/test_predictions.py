"""Predictions: files that are read back exactly, and refused files."""

from dataclasses import replace

import numpy as np
import pytest

from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.predictions import VERSION, Predictions

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


@pytest.mark.parametrize("targets", [np.array([1, 0]), np.array([[0.5], [2.0]])])
def test_targets_are_kept(targets):
    back = Predictions.from_bytes(replace(PREDICTIONS, targets=targets).to_bytes())
    assert back.targets is not None
    assert back.targets.dtype == targets.dtype
    np.testing.assert_array_equal(back.targets, targets)


def test_files_of_version_1_are_read(tmp_path):
    np.savez(tmp_path / "a.npz", graphs=PREDICTIONS.graphs, last=PREDICTIONS.last)
    back = Predictions.from_bytes((tmp_path / "a.npz").read_bytes())
    assert back.targets is None
    np.testing.assert_array_equal(back.last, PREDICTIONS.last)


def test_files_of_a_newer_version_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", graphs=PREDICTIONS.graphs, other=0, version=VERSION + 1)
    with pytest.raises(InvalidParameterError, match=r"Got version 3\. Use a newer version"):
        Predictions.from_bytes((tmp_path / "a.npz").read_bytes())


def test_shapes_of_predictions_are_checked():
    with pytest.raises(InvalidParameterError, match="targets must have one row for each of the 2"):
        replace(PREDICTIONS, targets=np.array([1]))
    with pytest.raises(InvalidParameterError, match=r"must have shape \[graphs, classes\]"):
        Predictions(np.array([1, 2, 3]), PREDICTIONS.last)
