"""Removal of self-loops and duplicate edges, and their effect where they are kept."""

import networkx as nx
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.nn.examples import random_model
from torch_geometric.data import Data

from clipgnn.graphs.packed import PackedGraphs

Edge = tuple[int, int]
edges_of_graph = st.integers(1, 5).flatmap(
    lambda nodes: st.tuples(
        st.just(nodes),
        st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=12),
    )
)


def packed(graphs: list[tuple[int, list[Edge]]]) -> PackedGraphs:
    """Graphs whose edges carry their own number, through all graphs, as attribute."""
    data, start = [], 0
    for nodes, edges in graphs:
        index = torch.tensor(edges, dtype=torch.int64).view(-1, 2).t()
        numbers = torch.arange(start, start + len(edges)).float()[:, None]
        data.append(Data(edge_index=index, edge_attr=numbers, y=torch.tensor([0]), num_nodes=nodes))
        start += len(edges)
    return PackedGraphs.from_data_list(data)


@given(st.lists(edges_of_graph, min_size=1, max_size=5))
def test_edges_are_those_of_networkx(graphs: list[tuple[int, list[Edge]]]) -> None:
    whole = packed(graphs)
    simple = whole.simplify()
    assert torch.equal(simple.node_pointers, whole.node_pointers)
    for data, (nodes, edges) in zip(simple.to_data_list(), graphs, strict=True):
        expected = nx.DiGraph(edges)
        expected.remove_edges_from(list(nx.selfloop_edges(expected)))
        found = [tuple(edge) for edge in data.edge_index.t().tolist()]
        assert len(found) == len(set(found))
        assert set(found) == set(expected.edges)
        assert data.num_nodes == nodes
    # The first of duplicates stays, with its attributes, and the order does not change.
    everything = [(graph, edge) for graph, (_, edges) in enumerate(graphs) for edge in edges]
    first = [
        place
        for place, (graph, edge) in enumerate(everything)
        if edge[0] != edge[1] and everything.index((graph, edge)) == place
    ]
    assert simple.edge_attr is not None
    assert simple.edge_attr[:, 0].tolist() == first


def test_simple_graphs_stay_as_they_are() -> None:
    whole = packed([(3, [(0, 1), (1, 0), (1, 2), (2, 1)]), (1, []), (2, [(1, 0), (0, 1)])])
    simple = whole.simplify()
    for name in ("edge_index", "edge_pointers", "edge_attr"):
        assert torch.equal(getattr(simple, name), getattr(whole, name))


def test_duplicates_are_added_twice_and_a_loop_makes_a_node_its_own_neighbor() -> None:
    """As documented: weight 2 for a duplicate; a loop differs from no loop."""
    model = random_model(num_colorings=0).eval()
    x = torch.rand(3, 3, dtype=torch.float64)
    path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    twice = torch.cat([path, path[:, :2]], dim=1)
    weights = torch.tensor([2.0, 2.0, 1.0, 1.0], dtype=torch.float64)
    torch.testing.assert_close(model(x, twice), model(x, path, edge_weight=weights))
    assert not torch.allclose(model(x, twice), model(x, path))
    loop = torch.cat([path, torch.tensor([[1], [1]])], dim=1)
    zero = torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0], dtype=torch.float64)
    torch.testing.assert_close(model(x, loop, edge_weight=zero), model(x, path))
    assert not torch.allclose(model(x, loop), model(x, path))
