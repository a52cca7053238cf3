"""Graphs in the encoding of other graphs."""

import random
import warnings

import networkx
import pytest
import torch

from clipgnn import PackedGraphs
from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.recoding import recoded


def _graph(elements: str, seed: int, *, weighted: bool = False) -> "networkx.Graph[int]":
    draw = random.Random(seed)
    graph = networkx.cycle_graph(6)
    for _, values in graph.nodes(data=True):
        values.update(element=draw.choice(elements), charge=draw.random())
    for *_, values in graph.edges(data=True):
        values["bond"] = draw.choice("sd")
        if weighted:
            values["weight"] = draw.random()
    graph.graph["pH"] = draw.random()
    return graph


def _graphs(elements: str, **options: bool) -> "list[networkx.Graph[int]]":
    return [_graph(elements, seed, **options) for seed in range(8)]


def _packed(elements: str, attributes: list[str] | None = None) -> PackedGraphs:
    return PackedGraphs.from_networkx(
        _graphs(elements), node_attributes=attributes, graph_attributes=["pH"]
    )


@pytest.mark.parametrize("attributes", [None, ["element"], ["charge", "element"], []])
@pytest.mark.parametrize(("trained", "given"), [("CNO", "CNO"), ("CNOF", "CN"), ("CN", "CNOF")])
def test_the_same_as_reading_with_the_encoding(
    trained: str, given: str, attributes: list[str] | None
) -> None:
    encoding = _packed(trained, attributes).encoding
    assert encoding is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = recoded(_packed(given), encoding, strict=False)
        expected = PackedGraphs.from_networkx(_graphs(given), encoding=encoding)
    assert found.fingerprint == expected.fingerprint
    assert found.encoding == encoding


def test_unknown_categories_are_a_warning_or_an_error() -> None:
    encoding = _packed("CN").encoding
    assert encoding is not None
    with pytest.warns(UserWarning, match="'element' that the encoding does not know, 'O'"):
        recoded(_packed("CNO"), encoding, strict=False)
    with pytest.raises(InvalidGraphError, match=r"'element' of the nodes must be .* Got 'O'"):
        recoded(_packed("CNO"), encoding, strict=True)


def test_missing_attributes_are_an_error() -> None:
    encoding = _packed("CN").encoding
    assert encoding is not None
    with pytest.raises(
        InvalidGraphError, match=r"nodes must have the attribute 'charge' .*element"
    ):
        recoded(_packed("CN", ["element"]), encoding, strict=False)


def test_weights_and_attributes_are_not_exchanged() -> None:
    weighted = PackedGraphs.from_networkx(_graphs("CN", weighted=True)).encoding
    assert weighted is not None
    assert weighted.weighted
    with pytest.raises(InvalidGraphError, match="edges must have the attribute 'weight'"):
        recoded(_packed("CN"), weighted, strict=False)


def test_a_number_does_not_become_a_category() -> None:
    encoding = PackedGraphs.from_networkx(_graphs("CN"), kinds={"charge": "category"}).encoding
    assert encoding is not None
    with pytest.raises(InvalidGraphError, match="'charge' of the nodes must be of the kind"):
        recoded(_packed("CN"), encoding, strict=False)


def test_the_own_encoding_changes_nothing() -> None:
    graphs = _packed("CNO")
    assert graphs.encoding is not None
    assert recoded(graphs, graphs.encoding, strict=True) is graphs
    assert torch.is_tensor(graphs.x)
