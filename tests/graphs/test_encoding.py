"""Named attributes as tensors: kinds, vocabularies, unknown values and errors."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from clipgnn import PackedGraphs
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.attributes import Categories, Numbers
from clipgnn.graphs.encoding import AttributeEncoding


def path(*values: Any, name: str = "value", edge: dict[str, Any] | None = None) -> "nx.Graph[Any]":
    """A path whose nodes have an attribute; None for none."""
    graph: nx.Graph[Any] = nx.path_graph(len(values))
    for node, value in enumerate(values):
        if value is not None:
            graph.nodes[node][name] = value
    for pair in graph.edges:
        graph.edges[pair].update(edge or {})
    return graph


def encoding_of(*values: Any, **options: Any) -> AttributeEncoding:
    encoding = PackedGraphs.from_networkx([path(*values)], **options).encoding
    assert encoding is not None
    return encoding


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("O", "C", "C"), Categories("value", ("C", "O"))),
        ((True, False), Categories("value", (False, True))),
        ((10, 2, 10), Categories("value", (2, 10))),
        (tuple(range(65)), Numbers("value", 1)),
        ((1.5, 2), Numbers("value", 1)),
        (([1, 2.5], [3, 4]), Numbers("value", 2)),
        ((np.float32(1.5), np.float64(2)), Numbers("value", 1)),
        ((np.array([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 3.0])), Numbers("value", 3)),
        (("C", None), Categories("value", (None, "C"))),
        ((1, True, "1"), Categories("value", (True, 1, "1"))),
    ],
)
def test_kinds_are_found(values: tuple[Any, ...], expected: Any) -> None:
    assert encoding_of(*values).nodes == (expected,)


def test_kinds_can_be_given() -> None:
    assert encoding_of(1, 2, kinds={"value": "number"}).nodes == (Numbers("value", 1),)
    assert encoding_of(1.5, 2.5, kinds={"value": "category"}).nodes == (
        Categories("value", (1.5, 2.5)),
    )


def test_one_category_is_a_label_and_several_attributes_are_channels() -> None:
    one = PackedGraphs.from_networkx([path("b", "a", "b")])
    assert torch.equal(one.x, torch.tensor([1, 0, 1]))
    assert one.in_channels == 2
    graph = path("b", "a")
    nx.set_node_attributes(graph, {0: 0.5, 1: 1.5}, "charge")
    two = PackedGraphs.from_networkx([graph])
    assert torch.equal(two.x, torch.tensor([[0.5, 0.0, 1.0], [1.5, 1.0, 0.0]]))
    assert two.in_channels == 3


def test_without_attributes_all_nodes_have_one_label() -> None:
    graphs = PackedGraphs.from_networkx([path(None, None)])
    assert torch.equal(graphs.x, torch.zeros(2, dtype=torch.int64))
    assert graphs.in_channels == 1


def test_weights_and_attributes_of_edges() -> None:
    graph = path("a", "b", edge={"weight": 2.5, "bond": "double"})
    other = path("a", "b", edge={"weight": 1, "bond": "single"})
    graphs = PackedGraphs.from_networkx([graph, other])
    assert graphs.edge_weight is not None
    assert graphs.edge_weight.tolist() == [2.5, 2.5, 1.0, 1.0]
    assert graphs.edge_attr is not None
    assert graphs.edge_attr.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert not graphs.directed
    asked = PackedGraphs.from_networkx([graph, other], kinds={"weight": "category"})
    assert asked.edge_weight is None
    assert asked.edge_channels == 4


def test_attributes_can_be_chosen() -> None:
    graph = path("a", "b", edge={"weight": 2.0})
    graph.graph["temperature"] = 300.0
    assert PackedGraphs.from_networkx([graph]).graph_attr is None
    graphs = PackedGraphs.from_networkx(
        [graph], node_attributes=[], edge_attributes=[], graph_attributes=["temperature"]
    )
    assert graphs.in_channels == 1
    assert graphs.edge_weight is None
    assert graphs.graph_attr is not None
    assert graphs.graph_attr.tolist() == [[300.0]]


def test_unknown_values_are_zeros_with_a_warning() -> None:
    known = PackedGraphs.from_networkx([path("a", "b")])
    with pytest.warns(UserWarning, match="1 of 2 nodes have a value of 'value' .* such as 'z'"):
        other = PackedGraphs.from_networkx([path("b", "z")], encoding=known.encoding)
    assert torch.equal(other.x, torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    assert other.in_channels == 2
    labels = PackedGraphs.from_networkx([path("b", "b")], encoding=known.encoding)
    assert torch.equal(labels.x, torch.tensor([1, 1]))


def test_subsets_keep_the_encoding() -> None:
    graphs = PackedGraphs.from_networkx([path("a", "b"), path("b", "c")])
    assert graphs.subset(torch.tensor([1])).encoding is graphs.encoding
    assert graphs.to("cpu").encoding is graphs.encoding
    assert graphs.with_floats(torch.float64).encoding is graphs.encoding


def test_targets() -> None:
    graphs = [path("a"), path("a")]
    assert PackedGraphs.from_networkx(graphs, y=[1, 0]).targets.tolist() == [1, 0]
    assert PackedGraphs.from_networkx(graphs, y=np.array([True, False])).targets.tolist() == [1, 0]
    assert PackedGraphs.from_networkx(graphs, y=[0.5, 1.5]).targets.dtype == torch.float32
    assert PackedGraphs.from_networkx(graphs, y=[[0.5, 1], [1.5, 2]]).num_targets == 2
    with pytest.raises(
        InvalidGraphError, match=r"Got 'yes' in an array of <U3. Number the classes"
    ):
        PackedGraphs.from_networkx(graphs, y=["yes", "no"])


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (
            (1.5, None),
            {},
            "'value' of the nodes must be a finite number, at most 3.4e.38. Got None in gr",
        ),
        ((1.5, float("nan")), {}, "must be a finite number, .* Got nan in graph 0, node 1"),
        (
            ([1.0], [1.0, 2.0]),
            {},
            r"must be a finite number, .* Got \[1.0, 2.0\] in graph 0, node 1",
        ),
        ((10**400, 1.5), {}, "Got an integer of 1329 bits in graph 0, node 0"),
        ((1.5, 1e300), {}, "Got 1e.300 in graph 0, node 1"),
        (([], []), {}, r"lists of numbers of one length. Got \[\] in graph 0, node 0"),
        ((np.ones((2, 2)),), {}, r"must be 2 finite numbers, .* Got \[\[1.0, 1.0\]"),
        (
            ("a", float("inf")),
            {},
            "must be strings, .*finite numbers, .* Got inf in graph 0, node 1",
        ),
        ((2**64, 1), {}, "integers of at most 64 bits, .* Got 18446744073709551616 in graph 0"),
        (({"a"}, {"b"}), {}, r"must be strings, booleans, finite numbers, .* in graph 0, node 0"),
        (
            (1.5, float("nan")),
            {"kinds": {"value": "category"}},
            "must be strings, .*. Got nan in graph 0, node 1",
        ),
    ],
)
def test_values_that_cannot_be_encoded(
    values: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        PackedGraphs.from_networkx([path(*values)], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"node_attributes": ["valeu"]}, "names of attributes .* Did you mean 'value'"),
        ({"node_attributes": "value"}, r"must be a list of names. Got 'value'. Use \['value'\]"),
        ({"kinds": {"valeu": "number"}}, "Did you mean 'value'"),
        ({"kinds": {"value": "ordinal"}}, "must be 'category' or 'number'. Got 'ordinal'"),
        ({"encoding": AttributeEncoding(), "node_attributes": []}, "Either encoding or node_attr"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        PackedGraphs.from_networkx([path("a", "b")], **options)


def test_a_missing_attribute_is_named() -> None:
    known = PackedGraphs.from_networkx([path("a", "b")])
    with pytest.raises(
        InvalidGraphError, match=r"nodes must have the attribute 'value'\. Got 'kind'"
    ):
        PackedGraphs.from_networkx([path("a", name="kind")], encoding=known.encoding)
    with pytest.raises(InvalidGraphError, match=r"Names of attributes must be strings\. Got 3"):
        PackedGraphs.from_networkx([path("a", name=3)])  # type: ignore[arg-type]
