"""Lists of graphs, and flat tensors, that are not a data set.

No row is taken for one of the next graph. Each error names the graph at fault.
"""

import dataclasses
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.faults.refusals import INFINITY, NAN, assert_refused, odd_tensors
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData

from clipgnn import PackedGraphs
from clipgnn.errors import InvalidGraphError

pytestmark = pytest.mark.usefixtures("without_shape_checks")

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def three(number: int | None = None, **changes: Any) -> list[Data]:
    """Three paths of three nodes; one of them, or all, changed."""
    graphs = [
        Data(x=torch.rand(3, 2), edge_index=PATH, edge_attr=torch.rand(4, 2), y=torch.tensor([y]))
        for y in range(3)
    ]
    for graph in graphs if number is None else [graphs[number]]:
        for name, value in changes.items():
            graph[name] = value
    return graphs


def labeled(number: int, labels: list[int]) -> list[Data]:
    """Three paths with labels, all 0 but those of one graph."""
    graphs = three(None, x=torch.zeros(3).long())
    graphs[number].x = torch.tensor(labels)
    return graphs


def moved(name: str, rows: tuple[int, int, int]) -> list[Data]:
    """Rows that belong to another graph: the totals are right, and no graph is."""
    graphs = three()
    for graph, count in zip(graphs, rows, strict=True):
        graph[name] = torch.rand(count, 2) if name != "y" else torch.zeros(count).long()
        if name == "x":
            graph.num_nodes = 3
    return graphs


MISPLACED: dict[str, tuple[list[Data], tuple[str, ...]]] = {
    "rows of x": (moved("x", (3, 2, 4)), ("Graph 1: x", "each of the 3 nodes", "Got 2 rows")),
    "edge attributes": (
        moved("edge_attr", (4, 5, 3)),
        ("Graph 1: edge_attr", "[4, ", "[5, 2]"),
    ),
    "targets": (moved("y", (2, 0, 1)), ("Graph 0: y must have one row", "Got 2 rows")),
    "edges": (
        three(1, edge_index=PATH + 1),
        ("Graph 1: edge_index", "nodes from 0 to 2", "Got node 3"),
    ),
}
LISTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    **MISPLACED,
    "edge weights of one graph": (
        three(2, edge_weight=torch.ones(4)),
        ("Graph 0", "edge_weight must be given for all graphs or for none", "Got None"),
    ),
    "edge weights have two axes": (
        three(1, edge_weight=torch.ones(4, 1)),
        ("Graph 1: edge_weight must have shape [4]", "Got [4, 1]"),
    ),
    "edge weights are infinite": (
        three(None, edge_weight=torch.full((4,), INFINITY)),
        ("Graph 0: edge_weight must be finite", "infinite", "row 0"),
    ),
    "edge weights are a list": (
        three(1, edge_weight=[1.0] * 4),
        ("Graph 1: edge_weight must be a floating-point tensor", "list"),
    ),
    "graph attributes of one graph": (
        three(2, graph_attr=torch.ones(1, 2)),
        ("Graph 0", "graph_attr must be given for all graphs or for none", "Got None"),
    ),
    "graph attributes have two rows": (
        three(1, graph_attr=torch.ones(2, 2)),
        ("Graph 1: graph_attr must have shape [1, channels]", "Got [2, 2]"),
    ),
    "graph attributes are NaN": (
        three(None, graph_attr=torch.tensor([[NAN]])),
        ("graph_attr must be finite", "NaN", "row 0"),
    ),
    "y is a number": (three(1, y=1), ("Graph 1: y must be a tensor", "torch.tensor([1])", "int")),
    "y is a float": (three(1, y=0.5), ("Graph 1: y must be a tensor", "float")),
    "y is a list": (three(1, y=[1]), ("Graph 1: y must be a tensor", "list")),
    "y is NumPy's": (three(1, y=np.ones(1)), ("Graph 1: y must be a tensor", "ndarray")),
    "y is text": (three(1, y="one"), ("Graph 1: y must be a tensor", "str")),
    "y is missing": (
        three(1, y=None),
        ("Graph 1: y must be given for all graphs or for none",),
    ),
    "y is complex": (three(None, y=torch.ones(1) * 1j), ("Graph 0: y", "complex64")),
    "y is float8": (
        three(None, y=torch.ones(1).to(torch.float8_e5m2)),
        ("Graph 0: y", "float8_e5m2"),
    ),
    "y is sparse": (three(0, y=torch.ones(1).to_sparse()), ("Graph 0: y", "sparse", ".to_dense()")),
    "y is infinite": (
        three(None, y=torch.tensor([-INFINITY])),
        ("Graph 0: y must be finite", "infinite"),
    ),
    "y is negative": (three(2, y=torch.tensor([-3])), ("Graph 2: y", "from 0", "Got -3")),
    "y is far too large": (
        three(2, y=torch.tensor([2**40])),
        ("Graph 2: y", f"Got {2**40}", "torch.unique"),
    ),
    "y has two integers": (three(None, y=torch.ones(1, 2).long()), ("y must be", "[3, 2]")),
    "y has other types": (three(1, y=torch.ones(1)), ("Graph 1: y", "one dtype", "float32")),
    "x is a list": (three(1, x=[[1.0, 2.0]] * 3), ("Graph 1: x", "list")),
    "x is a number": (three(1, x=torch.tensor(1.0)), ("Graph 1: x", "[nodes, channels]", "[]")),
    "x is infinite": (
        three(2, x=torch.tensor([[0.0, 0.0], [0.0, -INFINITY], [0.0, 0.0]])),
        ("Graph 2: x must be finite", "infinite", "row 1"),
    ),
    "x has no channels": (three(None, x=torch.rand(3, 0)), ("in_channels", "at least 1", "Got 0")),
    "labels far too large": (
        three(None, x=torch.tensor([0, 1, 2**50])),
        ("Labels", f"Got label {2**50}", "torch.unique"),
    ),
    "negative labels": (
        labeled(1, [0, 2, -7]),
        ("Graph 1: Labels must not be negative", "Got -7 in row 2"),
    ),
    "x of integers": (three(1, x=torch.ones(3, 2).int()), ("Graph 1: x must be", "int32")),
    "x has three axes": (three(1, x=torch.ones(3, 2, 1)), ("Graph 1: x must be", "[3, 2, 1]")),
    "x of floats has one axis": (three(None, x=torch.ones(3)), ("Graph 0: x must be", "[3]")),
    "edge attributes have one axis": (
        three(1, edge_attr=torch.ones(4)),
        ("Graph 1: edge_attr must have shape", "Got [4]"),
    ),
    "y has no targets": (
        three(None, y=torch.ones(1, 0)),
        ("Graph 0: y", "one target", "[1, 0]"),
    ),
    "y is beyond int64": (
        three(None, y=torch.tensor([2**63 + 7], dtype=torch.uint64)),
        ("Graph 0: y", f"Got {2**63 + 7}"),
    ),
    "edges are sparse": (
        three(1, edge_index=torch.eye(3).to_sparse()),
        ("Graph 1: edge_index", "sparse", "to_edge_index"),
    ),
    "edges are meta": (three(1, edge_index=PATH.to("meta")), ("Graph 1: edge_index", "meta")),
    "edges of no nodes": (
        three(1, x=torch.rand(0, 2)),
        ("Graph 1: edge_index must be empty", "no nodes"),
    ),
    "no edges": (three(1, edge_index=None), ("Graph 1: edge_index must be given", "torch.zeros(2")),
    "edge attributes are NaN": (
        three(1, edge_attr=torch.full((4, 2), NAN)),
        ("Graph 1: edge_attr must be finite", "row 0"),
    ),
    "edge attributes are integers": (
        three(2, edge_attr=torch.ones(4, 2).long()),
        ("Graph 2: edge_attr must be a floating-point",),
    ),
    "num_nodes is a float": (three(1, num_nodes=3.0), ("Graph 1: num_nodes", "integer", "3.0")),
    "num_nodes is negative": (three(1, num_nodes=-1), ("Graph 1: num_nodes", "-1")),
    "num_nodes is text": (three(1, num_nodes="3"), ("Graph 1: num_nodes", "'3'")),
    "a networkx graph": (nx.path_graph(3), ("list of torch_geometric.data.Data", "single Graph")),
    "networkx graphs": ([nx.path_graph(3)], ("Got Graph as graph 0", "from_networkx")),
    "one graph": (three()[0], ("list of torch_geometric.data.Data", "single Data")),
    "a batch of all": ([Batch.from_data_list(three())], ("Graph 0: it must be one graph",)),
    "other data": ([HeteroData()], ("Got HeteroData as graph 0",)),
    "None": (None, ("list of torch_geometric.data.Data", "NoneType")),
    "text": ("MUTAG", ("list of torch_geometric.data.Data", "str")),
    "a hole": ([*three(), None], ("Got NoneType as graph 3",)),
    "tuples": ([(torch.rand(3, 2), PATH)], ("Got tuple as graph 0",)),
}


@pytest.mark.parametrize(("graphs", "said"), LISTS.values(), ids=LISTS.keys())
def test_lists_that_are_no_data_set(graphs: Any, said: tuple[str, ...]) -> None:
    assert_refused(InvalidGraphError, lambda: PackedGraphs.from_data_list(graphs), said)


@pytest.mark.parametrize("form", odd_tensors(torch.rand(3, 2)))
def test_attributes_that_torch_does_not_compute_with(form: str) -> None:
    x, said = odd_tensors(torch.rand(3, 2))[form]
    fragments = ("x must be", said)
    assert_refused(InvalidGraphError, lambda: PackedGraphs.from_data_list(three(x=x)), fragments)
    x, graphs = odd_tensors(torch.rand(9, 2))[form][0], good()
    assert_refused(InvalidGraphError, lambda: dataclasses.replace(graphs, x=x), (said,))


def test_graphs_as_they_should_be() -> None:
    """What the cases above are changed from, also from a generator, and with empty graphs."""
    graphs = three()
    empty = Data(
        x=torch.rand(0, 2),
        edge_index=torch.zeros(2, 0).long(),
        edge_attr=torch.rand(0, 2),
        y=torch.tensor([1]),
    )
    packed = PackedGraphs.from_data_list(graph for graph in [empty, *graphs, empty])
    assert packed.node_pointers.tolist() == [0, 0, 3, 6, 9, 9]
    for number, graph in enumerate(packed.to_data_list()[1:4]):
        for name in ("x", "edge_index", "edge_attr", "y"):
            assert torch.equal(graph[name], graphs[number][name])
    graphs[0].num_nodes = np.int64(3)
    graphs[1].edge_weight = None
    assert PackedGraphs.from_data_list(graphs).edge_weight is None


def good() -> PackedGraphs:
    return PackedGraphs.from_data_list(three())


def changed(values: Tensor, place: tuple[int, ...], value: float) -> Tensor:
    copy = values.clone()
    copy[place] = value
    return copy


FIELDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "nodes missing": ({"node_pointers": torch.tensor([0, 3, 6, 8])}, ("node_pointers", "9", "8")),
    "nodes from 1": ({"node_pointers": torch.tensor([1, 3, 6, 9])}, ("node_pointers", "Got 1")),
    "nodes descend": (
        {"node_pointers": torch.tensor([0, 6, 3, 9])},
        ("node_pointers must ascend", "smallest step -3"),
    ),
    "a pointer missing": (
        {"node_pointers": torch.tensor([0, 3, 9])},
        ("same length", "Got 3 and 4"),
    ),
    "no graphs": (
        {"node_pointers": torch.tensor([0]), "edge_pointers": torch.tensor([0])},
        ("at least one graph",),
    ),
    "edges missing": ({"edge_pointers": torch.tensor([0, 4, 8, 11])}, ("edge_pointers", "12")),
    "edges descend": ({"edge_pointers": torch.tensor([0, 8, 4, 12])}, ("edge_pointers must asc",)),
    "pointers in int32": ({"node_pointers": torch.tensor([0, 3, 6, 9]).int()}, ("int64", "int32")),
    "pointers are a list": ({"edge_pointers": [0, 4, 8, 12]}, ("edge_pointers", "int64", "list")),
    "an edge outside": (
        {"edge_index": changed(torch.cat([PATH] * 3, 1), (1, 5), 3)},
        ("Graph 1: edge_index must have nodes from 0 to 2", "Got node 3"),
    ),
    "a negative edge": (
        {"edge_index": changed(torch.cat([PATH] * 3, 1), (0, 11), -1)},
        ("Graph 2: edge_index", "Got node -1"),
    ),
    "edges of the whole set": (
        {"edge_index": torch.cat([PATH, PATH + 3, PATH + 6], 1)},
        ("Graph 1: edge_index", "Got node 3"),
    ),
    "too few targets": ({"y": torch.tensor([0, 1])}, ("y", "3 graphs", "Got 2")),
    "too many targets": ({"y": torch.zeros(4)}, ("y", "3 graphs", "Got 4")),
    "targets in int32": ({"y": torch.zeros(3).int()}, ("y must be int64", "int32")),
    "rows of no targets": ({"y": torch.zeros(3, 0)}, ("y must be int64", "[3, 0]")),
    "targets are a list": ({"y": [0, 1, 0]}, ("y must be int64", "list")),
    "targets are meta": ({"y": torch.zeros(3, device="meta")}, ("one device", "cpu and meta")),
    "channels": ({"in_channels": 3}, ("in_channels=3", "Got 2")),
    "channels as text": ({"in_channels": "2"}, ("in_channels", "'2'")),
    "labels": (
        {"x": torch.tensor([0, 1, 2] * 3), "in_channels": 2},
        ("Labels must be less than in_channels", "label 2"),
    ),
    "rows of edge attributes": ({"edge_attr": torch.rand(11, 2)}, ("edge_attr", "[11, 2]")),
    "x is None": ({"x": None}, ("x must be a torch.Tensor", "NoneType")),
    "x is NaN": (
        {"x": changed(torch.rand(9, 2), (7, 1), NAN)},
        ("Graph 2: x must be finite", "NaN in row 1"),
    ),
    "y is infinite": (
        {"y": torch.tensor([NAN, INFINITY, 1.0])},
        ("Graph 1: y must be finite", "infinite"),
    ),
    "edge weights of other edges": (
        {"edge_weight": torch.ones(11)},
        ("edge_weight must have shape [12]", "Got [11]"),
    ),
    "edge weights are NaN": (
        {"edge_weight": changed(torch.ones(12), (5,), NAN)},
        ("Graph 1: edge_weight must be finite", "NaN in row 1"),
    ),
    "graph attributes of other graphs": (
        {"graph_attr": torch.ones(2, 1)},
        ("graph_attr must have shape [3, channels]", "Got [2, 1]"),
    ),
    "graph attributes are integers": (
        {"graph_attr": torch.ones(3, 1).long()},
        ("graph_attr must be a floating-point tensor", "int64"),
    ),
    "colorings of other nodes": (
        {"colorings": torch.zeros(2, 8).long()},
        ("colorings must be an int64 tensor [colorings, 9]", "[2, 8]"),
    ),
    "colorings in int32": (
        {"colorings": torch.zeros(2, 9).int()},
        ("colorings must be an int64 tensor", "int32"),
    ),
    "no colorings": ({"colorings": torch.zeros(0, 9).long()}, ("at least one row", "[0, 9]")),
    "negative colors": (
        {"colorings": changed(torch.zeros(2, 9).long(), (1, 4), -2)},
        ("colors of at least 0", "Got -2"),
    ),
    "colorings are a list": ({"colorings": [[0] * 9]}, ("colorings must be an int64", "list")),
}


@pytest.mark.parametrize(("wrong", "said"), FIELDS.values(), ids=FIELDS.keys())
def test_fields_that_do_not_agree(wrong: dict[str, Any], said: tuple[str, ...]) -> None:
    graphs = good()
    assert_refused(InvalidGraphError, lambda: dataclasses.replace(graphs, **wrong), said)
