"""Positions of the nodes of drawn graphs: in rows, on rings if a line would be too long, turned."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from clipgnn.report.placement import SMALLEST_ROOM, place_alike, place_nodes, room, turned


@pytest.mark.parametrize("number", [2, 3, 40])
def test_many_components_are_in_rows(number: int) -> None:
    graph = nx.disjoint_union_all([nx.cycle_graph(3)] * number)
    places = place_nodes(graph)
    width, height = np.ptp([places[node] for node in graph], axis=0)
    if number < 4:
        assert width == pytest.approx(2 * number - 1, abs=0.5)
        assert height < 1.1
    else:
        assert 0.5 < width / height < 2
    centers = [np.mean([places[3 * own + node] for node in range(3)], 0) for own in range(number)]
    for one, other in pairwise(centers):
        assert np.linalg.norm(one - other) > 1.5


def test_a_path_is_on_a_ring_only_if_its_nodes_would_be_too_small() -> None:
    [short] = place_alike(nx.path_graph(20))
    assert np.linalg.norm(short[0] - short[-1]) > 10
    [long] = place_alike(nx.path_graph(100))
    assert np.linalg.norm(long[0] - long[-1]) < 1.5
    assert room(long) > SMALLEST_ROOM


def test_a_line_is_turned() -> None:
    line = np.stack([np.arange(10.0), np.zeros(10)], axis=1)
    found = turned(line)
    assert np.ptp(found, axis=0) == pytest.approx([9 / 2**0.5] * 2)
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert turned(square) is square
    assert room(np.zeros((1, 2))) == np.inf
