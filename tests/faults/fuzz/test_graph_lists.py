"""Arbitrary lists of graphs: refused, or packed and unpacked without loss."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.fuzz.oracle import budget, judge
from tests.faults.fuzz.strategies import almost, asks_for_memory, odd_objects
from torch import Tensor
from torch_geometric.data import Data

from clipgnn import PackedGraphs

FIELDS = ("x", "edge_index", "edge_attr", "y", "num_nodes", "edge_weight", "graph_attr")


@st.composite
def graph_lists(draw: st.DrawFn) -> list[Any]:
    """Graphs of one kind, some of them almost."""
    kind = draw(st.sampled_from(["labels", "attributes", "none"]))
    targets = draw(st.sampled_from(["classes", "numbers", "several", "none"]))
    attributes = draw(st.sets(st.sampled_from(["edge_attr", "edge_weight", "graph_attr"])))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    graphs: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        nodes = draw(st.integers(0, 4))
        edges = draw(st.integers(0, 4)) if nodes else 0
        fields: dict[str, Any] = {
            "edge_index": torch.randint(max(1, nodes), (2, edges), generator=generator)
        }
        if kind == "labels":
            fields["x"] = torch.randint(3, (nodes,), generator=generator)
        elif kind == "attributes":
            fields["x"] = torch.rand(nodes, 2, generator=generator)
        else:
            fields["num_nodes"] = nodes
        shapes = {"edge_attr": (edges, 2), "edge_weight": (edges,), "graph_attr": (1, 2)}
        for name in sorted(attributes):
            fields[name] = torch.rand(shapes[name], generator=generator)
        if targets == "classes":
            fields["y"] = torch.randint(3, (1,), generator=generator)
        elif targets != "none":
            fields["y"] = torch.rand(1, 1 if targets == "numbers" else 2, generator=generator)
        graphs.append(fields)
    for _ in range(draw(st.sampled_from([0, 1, 1, 2]))):
        fields = draw(st.sampled_from(graphs))
        name = draw(st.sampled_from(FIELDS))
        value = draw(almost(fields.get(name, torch.ones(2))))
        if not asks_for_memory(value):
            fields[name] = value
    made: list[Any] = [_made(fields) for fields in graphs]
    if draw(st.integers(0, 19)) == 0:
        made[draw(st.integers(0, len(made) - 1))] = draw(odd_objects())
    return made


def _made(fields: dict[str, Any]) -> Data:
    data = Data()
    for name, value in fields.items():
        data[name] = value
    return data


def _described(graphs: list[Any]) -> list[Any]:
    return [graph.to_dict() if isinstance(graph, Data) else graph for graph in graphs]


def _rows(x: Tensor | None, nodes: int, channels: int) -> list[list[float]]:
    """Attributes as rows of floats; a label is a row with a one, and nothing is label 0."""
    if x is None:
        return [[1.0] for _ in range(nodes)]
    if x.dim() == 1:
        return [[float(label == column) for column in range(channels)] for label in x.tolist()]
    return x.tolist()


def _target(y: Any) -> list[Any]:
    values = y.flatten().tolist() if isinstance(y, Tensor) else y
    if hasattr(values, "tolist"):
        values = values.tolist()
    flat = values if isinstance(values, list) else [values]
    listed = [value for part in flat for value in (part if isinstance(part, list) else [part])]
    return ["missing" if value != value else value for value in listed]  # NaN is a missing target


@pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes'")  # PyG's
@budget("from_data_list")
@given(graph_lists())
def test_from_data_list(graphs: list[Any]) -> None:
    def check(packed: PackedGraphs) -> None:
        assert len(packed) == len(graphs)
        if packed.x.dim() == 1 and packed.in_channels > 10**4:  # too many for one-hot rows
            assert packed.x.tolist() == [label for graph in graphs for label in graph.x.tolist()]
            return
        for graph, back in zip(graphs, packed.to_data_list(), strict=True):
            assert graph.edge_index.tolist() == back.edge_index.tolist()
            nodes = int(graph.num_nodes)
            assert back.x.tolist() == _rows(graph.x, nodes, packed.in_channels)
            assert len(back.x) == nodes
            assert _target(graph.y) == _target(back.y)
            for name in ("edge_attr", "edge_weight", "graph_attr"):
                given, found = getattr(graph, name, None), getattr(back, name, None)
                assert (given is None) == (found is None), f"{name} is lost"
                if given is not None and found is not None:
                    assert given.tolist() == found.tolist()

    judge(
        "from_data_list",
        _described(graphs),
        lambda: PackedGraphs.from_data_list(graphs),
        check,
    )
