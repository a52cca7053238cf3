"""Optional fields of a data set: weights, graph attributes, colorings, missing targets."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.graphs.examples import SIZES, data_list, packed
from torch import Tensor
from torch_geometric.data import Data

from clipgnn import PackedGraphs
from clipgnn.errors import InvalidParameterError

FULL: dict[str, Any] = {
    "directed": True,
    "weights": True,
    "edge_channels": 2,
    "graph_channels": 3,
    "labels": False,
}
FIELDS = ("x", "edge_index", "edge_weight", "edge_attr", "graph_attr", "y")


def full_set() -> PackedGraphs:
    """A data set with every field; the colors of a node tell where it is."""
    graphs = packed(**FULL)
    return replace(graphs, colorings=torch.arange(2 * graphs.x.shape[0]).view(2, -1))


def assert_equal_graphs(found: list[Data], expected: list[Data]) -> None:
    for one, other in zip(found, expected, strict=True):
        for name in FIELDS:
            given, wanted = getattr(one, name, None), getattr(other, name, None)
            assert (given is None) == (wanted is None), name
            if wanted is not None:
                torch.testing.assert_close(given, wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "left_out", [(), ("y",), ("edge_weight",), ("graph_attr",), ("edge_attr", "edge_weight")]
)
def test_to_pyg_and_back(left_out: tuple[str, ...]) -> None:
    graphs = data_list(**FULL)
    for graph in graphs:
        for name in left_out:
            del graph[name]
    whole = PackedGraphs.from_data_list(graphs)
    for name in ("edge_weight", "graph_attr", "edge_attr", "y"):
        assert (getattr(whole, name) is None) == (name in left_out)
    assert_equal_graphs(whole.to_data_list(), graphs)
    again = PackedGraphs.from_data_list(whole.to_data_list())
    assert again.fingerprint == whole.fingerprint


def test_channels() -> None:
    graphs = full_set()
    assert (graphs.edge_channels, graphs.graph_channels) == (2, 3)
    bare = packed()
    assert (bare.edge_channels, bare.graph_channels) == (0, 0)


@pytest.mark.parametrize("directed", [False, True])
def test_direction(directed: bool) -> None:
    assert packed(directed=directed).directed is directed


def test_an_edge_that_is_stored_more_often_in_one_direction_is_directed() -> None:
    graph = Data(edge_index=torch.tensor([[0, 1, 0], [1, 0, 1]]), num_nodes=2)
    assert PackedGraphs.from_data_list([graph]).directed
    loop = Data(edge_index=torch.tensor([[0, 1, 1], [1, 0, 1]]), num_nodes=2)
    assert not PackedGraphs.from_data_list([loop]).directed


@pytest.mark.parametrize("chosen", [[0], [7, 2, 2], [5, 1, 0, 3], list(range(8))], ids=str)
def test_subset(chosen: list[int]) -> None:
    graphs = full_set()
    subset = graphs.subset(torch.tensor(chosen))
    listed = graphs.to_data_list()
    assert_equal_graphs(subset.to_data_list(), [listed[graph] for graph in chosen])
    pointers = graphs.node_pointers.tolist()
    nodes = [node for graph in chosen for node in range(pointers[graph], pointers[graph + 1])]
    assert graphs.colorings is not None
    assert subset.colorings is not None
    assert torch.equal(subset.colorings, graphs.colorings[:, nodes])
    assert (subset.name, subset.in_channels) == (graphs.name, graphs.in_channels)
    # The fields agree with each other: a checked copy has the same content.
    assert replace(subset).fingerprint == subset.fingerprint


def test_a_subset_has_at_least_one_graph() -> None:
    with pytest.raises(InvalidParameterError, match="at least one graph"):
        full_set().subset(torch.tensor([], dtype=torch.int64))


def test_edges_know_their_graphs() -> None:
    graphs = full_set()
    listed = data_list(**FULL)
    counts = torch.tensor([graph.edge_index.shape[1] for graph in listed])
    assert torch.equal(graphs.graph_of_edge, torch.arange(len(SIZES)).repeat_interleave(counts))
    first = torch.tensor(SIZES).cumsum(0) - torch.tensor(SIZES)
    shifted = [graph.edge_index + start for graph, start in zip(listed, first, strict=True)]
    assert torch.equal(graphs.global_edge_index, torch.cat(shifted, dim=1))


def test_to_a_batch_and_back() -> None:
    """The edges of a batch are sorted by target, and nothing else changes."""
    graphs = full_set()
    batch = graphs.to_batch()
    again = PackedGraphs.from_batch(batch, graphs.in_channels)
    assert again.y is again.colorings is None
    for name in ("x", "node_pointers", "edge_pointers", "graph_attr"):
        assert torch.equal(getattr(again, name), getattr(graphs, name)), name
    order = torch.argsort(graphs.global_edge_index[1], stable=True)
    assert torch.equal(again.edge_index, graphs.edge_index[:, order])
    assert graphs.edge_weight is not None
    assert graphs.edge_attr is not None
    assert torch.equal(again.edge_weight, graphs.edge_weight[order])  # type: ignore[arg-type]
    assert torch.equal(again.edge_attr, graphs.edge_attr[order])  # type: ignore[arg-type]
    assert replace(again).fingerprint == again.fingerprint


def test_simplify_keeps_the_weight_of_the_first_of_duplicates() -> None:
    edges = torch.tensor([[0, 1, 0, 1], [1, 0, 1, 1]])
    graph = Data(edge_index=edges, edge_weight=torch.arange(4.0), num_nodes=2)
    simple = PackedGraphs.from_data_list([graph]).simplify()
    assert simple.edge_weight is not None
    assert simple.edge_weight.tolist() == [0.0, 1.0]


def targets_of(*targets: Tensor) -> PackedGraphs:
    edges = torch.zeros(2, 0, dtype=torch.int64)
    return PackedGraphs.from_data_list(
        [Data(edge_index=edges, num_nodes=1, y=target) for target in targets]
    )


def test_missing_targets_are_nan() -> None:
    missing = float("nan")
    graphs = targets_of(torch.tensor([[1.0, missing]]), torch.tensor([[missing, 2.0]]))
    assert graphs.num_targets == 2
    assert graphs.targets.isnan().tolist() == [[False, True], [True, False]]
    assert_equal_graphs(
        graphs.to_data_list(),
        PackedGraphs.from_data_list(graphs.to_data_list()).to_data_list(),
    )
    assert targets_of(torch.tensor([missing]), torch.tensor([1.0])).num_targets == 1


def test_targets_that_are_not_known() -> None:
    graphs = replace(full_set(), y=None)
    for read in ("targets", "num_classes", "num_targets"):
        with pytest.raises(InvalidParameterError, match="'random graphs' without y"):
            getattr(graphs, read)
    assert graphs.batch(torch.tensor([0, 1])).num_graphs == 2
    assert graphs.subset(torch.tensor([1])).y is None


def test_floats_are_converted_and_integers_are_not() -> None:
    graphs = replace(full_set(), y=torch.arange(8.0, dtype=torch.float64)).with_floats(
        torch.float32
    )
    for name in ("x", "edge_weight", "edge_attr", "graph_attr", "y"):
        assert getattr(graphs, name).dtype == torch.float32, name
    assert graphs.colorings is not None
    assert graphs.colorings.dtype == torch.int64
    assert full_set().with_floats(torch.float32).targets.dtype == torch.int64


def test_to_moves_every_field() -> None:
    moved = full_set().to("meta")
    for name in (*FIELDS, "node_pointers", "edge_pointers", "colorings"):
        assert getattr(moved, name).device.type == "meta", name
