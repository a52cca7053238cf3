"""Data sets that functions of users return."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from clipgnn import PackedGraphs
from clipgnn.datasets.own import load_own
from clipgnn.errors import InvalidParameterError

PATHS = [nx.path_graph(nodes) for nodes in (3, 4)]
EDGES = torch.tensor([[0, 1], [1, 0]])
PYG = [Data(edge_index=EDGES, num_nodes=2, y=torch.tensor([own])) for own in (0, 1)]


class Stored(InMemoryDataset):  # type: ignore[misc]
    """A data set of PyTorch Geometric."""

    def __init__(self) -> None:
        super().__init__(None)
        self.data, self.slices = self.collate(PYG)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], PackedGraphs]:
    """Load a data set from a function in a module."""

    def loaded(function: object) -> PackedGraphs:
        module = ModuleType("own_data")
        module.load = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "own_data", module)
        return load_own("own_data:load")

    return loaded


PACKED = PackedGraphs.from_networkx(PATHS, y=[0, 1])


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (PACKED, PACKED),
        ((PATHS, [0, 1]), PACKED),
        ((tuple(PATHS), torch.tensor([0.5, 1.5])), PackedGraphs.from_networkx(PATHS, y=[0.5, 1.5])),
        (PYG, PackedGraphs.from_data_list(PYG)),
        (tuple(PYG), PackedGraphs.from_data_list(PYG)),
        (Stored(), PackedGraphs.from_data_list(PYG)),
    ],
    ids=["packed", "networkx", "regression", "pyg", "tuple of pyg", "data set of pyg"],
)
def test_what_a_function_can_return(
    given: Callable[[object], PackedGraphs], returned: Any, expected: PackedGraphs
) -> None:
    assert given(lambda: returned).fingerprint == expected.fingerprint


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "Got None"),
        ([], r"Got \[\]"),
        (PATHS, "a pair of graphs and targets. Got "),
        (PYG[0], r"Got Data\("),
        (PackedGraphs.from_networkx(PATHS), "The graphs must have targets"),
        ((PATHS, None), "The graphs must have targets"),
        ((PATHS, [0]), "targets"),
        ((PATHS, [b"a", b"b"]), "targets"),
        (([], []), "at least one graph"),
        ([Data(edge_index=EDGES, num_nodes=2)], "The graphs must have targets"),
    ],
)
def test_what_it_must_not_return(
    given: Callable[[object], PackedGraphs], returned: Any, message: str
) -> None:
    with pytest.raises(
        InvalidParameterError, match=rf"^'own_data:load' must return.*{message}"
    ) as caught:
        given(lambda: returned)
    assert len(str(caught.value).splitlines()) == 1


def broken() -> None:
    raise KeyError("column")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3, "must be a function without arguments that returns graphs. Got 3"),
        (broken, r"It raised KeyError: 'column' \(test_own.py, line \d+\)\.$"),
        (lambda path: PACKED, r"It raised TypeError: .*missing 1 required positional argument"),
        (sys.exit, "It raised SystemExit"),
    ],
)
def test_functions_that_fail(
    given: Callable[[object], PackedGraphs], function: object, message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=f"'own_data:load' .*{message}"):
        given(function)


def test_classes_can_be_strings(given: Callable[[object], PackedGraphs]) -> None:
    names = ["b" if number % 2 else "a" for number in range(len(PATHS))]
    assert given(lambda: (PATHS, names)).targets.tolist() == [
        number % 2 for number in range(len(PATHS))
    ]
