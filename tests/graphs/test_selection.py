"""Selection of graphs as in an array, which scikit-learn uses."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.graphs.examples import packed

from clipgnn.errors import InvalidParameterError


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (2, [2]),
        (-1, [7]),
        (np.int64(3), [3]),
        (slice(1, 6, 2), [1, 3, 5]),
        ([4, 0, 4], [4, 0, 4]),
        (np.array([5, 1]), [5, 1]),
        (torch.tensor([True] + [False] * 6 + [True]), [0, 7]),
        ((np.array([2, 3]), ...), [2, 3]),
    ],
)
def test_graphs_are_selected_as_in_an_array(chosen: Any, expected: list[int]) -> None:
    graphs = packed()
    assert graphs.shape == (8,)
    assert graphs[chosen].fingerprint == graphs.subset(torch.tensor(expected)).fingerprint


@pytest.mark.usefixtures("without_shape_checks")
def test_selections_that_are_refused() -> None:
    graphs = packed()
    for number in (8, -9):
        with pytest.raises(IndexError, match=f"There is no graph {number} of 8"):
            graphs[number]
    with pytest.raises(InvalidParameterError, match=r"for each of the 8 graphs\. Got 2"):
        graphs[[True, False]]
    nothing: Any
    for nothing in ([], slice(0, 0), True, 1.5):
        with pytest.raises(InvalidParameterError):
            graphs[nothing]
