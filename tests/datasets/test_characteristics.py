from typing import Any

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

from clipgnn.datasets.characteristics import characteristics
from clipgnn.datasets.properties import circular_skip_links, triangle_freeness
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.testing import permute_nodes


def graph(edges: list[tuple[int, int]], num_nodes: int, x: torch.Tensor | None = None) -> Data:
    both = torch.tensor([*edges, *[(b, a) for a, b in edges]]).view(-1, 2).t()
    return Data(x=x, edge_index=both, num_nodes=num_nodes, y=torch.tensor([num_nodes % 2]))


def cycle(size: int) -> list[tuple[int, int]]:
    return [(node, (node + 1) % size) for node in range(size)]


def test_numbers() -> None:
    triangle, path = graph(cycle(3), 3), graph([(0, 1), (1, 2), (2, 3)], 4)
    found = characteristics(PackedGraphs.from_data_list([triangle, path], "two"))
    assert found.name == "two"
    assert (found.num_graphs, found.num_classes) == (2, 2)
    assert found.mean_nodes == 3.5
    assert found.mean_degree == pytest.approx(12 / 7)
    assert (found.max_nodes, found.num_labels, found.largest_group) == (4, 1, 4)
    assert found.num_distinguishable == 2


def test_groups_are_counted_inside_a_graph() -> None:
    labels = [torch.tensor([0, 0, 1]), torch.tensor([1, 1, 1, 0])]
    graphs = [graph(cycle(len(x)), len(x), x) for x in labels]
    assert characteristics(PackedGraphs.from_data_list(graphs)).largest_group == 3
    rows = [graph(cycle(3), 3, torch.tensor([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))]
    assert characteristics(PackedGraphs.from_data_list(rows)).largest_group == 2


def test_targets_to_regress_have_no_classes() -> None:
    data = graph(cycle(3), 3)
    data.y = torch.tensor([0.5])
    assert characteristics(PackedGraphs.from_data_list([data])).num_classes is None


def test_message_passing_is_blind_to_a_hexagon_and_two_triangles() -> None:
    hexagon = graph(cycle(6), 6)
    triangles = graph([*cycle(3), *[(a + 3, b + 3) for a, b in cycle(3)]], 6)
    packed = PackedGraphs.from_data_list([hexagon, triangles])
    assert characteristics(packed).num_distinguishable == 1
    assert characteristics(circular_skip_links(0)).num_distinguishable == 1


def test_relabeled_graphs_are_not_distinct_and_labels_count() -> None:
    path = [(0, 1), (1, 2), (2, 3)]
    ends, inner = torch.tensor([1, 0, 0, 1]), torch.tensor([0, 1, 1, 0])
    order = torch.tensor([2, 0, 3, 1])
    first = graph(path, 4, ends)
    x, edge_index = permute_nodes(first.x, first.edge_index, order)
    again = Data(x=x, edge_index=edge_index, y=torch.tensor([1]))
    packed = PackedGraphs.from_data_list([first, again, graph(path, 4, inner)])
    assert characteristics(packed).num_distinguishable == 2


def test_distinct_graphs_as_networkx_refines_them() -> None:
    data = triangle_freeness(0, num_pairs=150, num_nodes=6, probability=0.3)
    kinds = set()
    for own in data.to_data_list():
        plain: Any = nx.Graph(own.edge_index.t().tolist())
        plain.add_nodes_from(range(own.num_nodes), label=0)
        kinds.add(nx.weisfeiler_lehman_graph_hash(plain, node_attr="label", iterations=7))
    assert 10 < len(kinds) < 300
    assert characteristics(data).num_distinguishable == len(kinds)
