"""Batches of exact size: read from PyG's tensors, subsets, and copies for members."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from clipgnn.graphs.exact import ExactBatch, ExactEdges

SIZES = [3, 0, 2, 4]
PAIRS = [(0, 1), (1, 2), (2, 0), (4, 3), (8, 5), (5, 6), (7, 5), (5, 6)]


def example() -> ExactBatch:
    """Four graphs, the second without nodes; all values are distinct."""
    return ExactBatch.from_tensors(
        x=torch.arange(9.0)[:, None],
        edge_index=torch.tensor(PAIRS).t(),
        batch=torch.arange(4).repeat_interleave(torch.tensor(SIZES)),
        edge_weight=torch.arange(8.0) + 100,
        edge_attr=torch.arange(16.0).view(8, 2) + 200,
        graph_attr=torch.arange(4.0)[:, None] + 300,
        batch_size=4,
    )


def described(batch: ExactBatch) -> set[tuple[float, float, float, float, int]]:
    """Each edge as source, target, weight, attribute and graph."""
    edges = batch.edges
    assert edges.weight is not None
    assert edges.attr is not None
    rows = zip(
        batch.x[edges.pattern.col, 0].tolist(),
        batch.x[edges.pattern.row, 0].tolist(),
        edges.weight.tolist(),
        edges.attr[:, 0].tolist(),
        batch.graph_of_node[edges.pattern.row].tolist(),
        strict=True,
    )
    return set(rows)


EDGES = {
    (float(source), float(target), 100.0 + number, 200.0 + 2 * number, graph)
    for number, ((source, target), graph) in enumerate(
        zip(PAIRS, [0, 0, 0, 2, 3, 3, 3, 3], strict=True)
    )
}


def test_sorting_keeps_weights_and_attributes_with_their_edges() -> None:
    batch = example()
    assert described(batch) == EDGES
    assert batch.edges.pattern.row.tolist() == sorted(target for _, target in PAIRS)
    assert batch.num_nodes == 9
    assert batch.num_graphs == 4


def test_reversed_edges_keep_their_weights_and_attributes() -> None:
    batch = example()
    turned = batch.edges.reversed()
    back = ExactBatch.of(batch.x, turned, batch.graph_of_node, 4, batch.graph_attr)
    assert described(back) == {
        (target, source, *carried) for source, target, *carried in described(batch)
    }
    assert bool((turned.pattern.row.diff() >= 0).all())


def test_reversed_twice_is_the_same() -> None:
    edges = example().edges
    again = edges.reversed().reversed()
    assert torch.equal(again.pattern.row, edges.pattern.row)
    assert torch.equal(again.pattern.col, edges.pattern.col)
    assert edges.weight is not None
    assert again.weight is not None
    assert torch.equal(again.weight, edges.weight)


def test_edges_without_weights_and_attributes() -> None:
    bare = ExactEdges.from_edge_index(torch.tensor([1, 0]), torch.tensor([0, 1]), 2, None, None)
    assert bare.weight is bare.attr is None
    assert bare.reversed().weight is bare.reversed().attr is None


def test_segments_hold_the_nodes_of_each_graph() -> None:
    nodes = example().nodes
    assert nodes.counts.tolist() == SIZES
    assert nodes.starts.tolist() == [0, 3, 3, 5]
    assert nodes.sum(torch.arange(9.0)[:, None])[:, 0].tolist() == [3.0, 0.0, 7.0, 26.0]


@pytest.mark.parametrize(
    "kept", [[0, 1, 2, 3], [0], [3], [0, 2], [1, 2], [2, 3], [0, 1, 3]], ids=str
)
def test_subset_keeps_whole_graphs_and_renumbers_them(kept: list[int]) -> None:
    keep = torch.zeros(4, dtype=torch.bool)
    keep[kept] = True
    batch = example().subset(keep)
    number = {graph: new for new, graph in enumerate(kept)}
    nodes = [node for node, graph in enumerate([0] * 3 + [2] * 2 + [3] * 4) if graph in number]
    assert batch.num_graphs == len(kept)
    assert batch.x[:, 0].tolist() == nodes
    assert batch.graph_of_node.tolist() == [number[g] for g in kept for _ in range(SIZES[g])]
    assert described(batch) == {
        (*carried, number[graph]) for *carried, graph in EDGES if graph in number
    }
    assert batch.graph_attr is not None
    assert batch.graph_attr[:, 0].tolist() == [300.0 + graph for graph in kept]
    assert batch.graph_ids.tolist() == [kept]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_repeat_concatenates_copies(times: int) -> None:
    batch = example()
    repeated = batch.repeat(times)
    assert repeated.num_graphs == 4 * times
    assert torch.equal(repeated.x, batch.x.repeat(times, 1))
    assert repeated.nodes.counts.tolist() == SIZES * times
    assert repeated.num_members == times
    assert repeated.graph_ids.tolist() == [[0, 1, 2, 3]] * times
    copies = [(*edge, graph + 4 * copy) for copy in range(times) for *edge, graph in sorted(EDGES)]
    assert described(repeated) == set(copies)
    assert repeated.edges.num_edges == len(PAIRS) * times
    # Copy by copy, so that a view with a leading axis of copies separates them.
    rows = repeated.edges.pattern.row.view(times, -1)
    assert torch.equal(rows, batch.edges.pattern.row + 9 * torch.arange(times)[:, None])
    assert repeated.graph_attr is not None
    assert batch.graph_attr is not None
    assert torch.equal(repeated.graph_attr, batch.graph_attr.repeat(times, 1))


def test_the_same_graphs_of_each_member() -> None:
    keep = torch.tensor([True, False, False, True])
    subset = example().repeat(3).subset(keep.repeat(3))
    expected = example().subset(keep).repeat(3)
    assert subset.graph_ids.tolist() == expected.graph_ids.tolist() == [[0, 3]] * 3
    assert described(subset) == described(expected)
    assert torch.equal(subset.x, expected.x)
    assert subset.nodes.counts.tolist() == expected.nodes.counts.tolist() == [3, 4] * 3


def test_what_the_network_prepared_is_kept() -> None:
    prepared = (torch.arange(5.0),)
    batch = replace(example(), prepared=prepared)
    assert batch.repeat(2).prepared is prepared
    assert batch.subset(torch.tensor([True, False, True, True])).prepared is prepared


def test_labels_are_repeated_along_their_only_axis() -> None:
    labels = torch.tensor([2, 0, 1])
    batch = ExactBatch.from_tensors(labels, torch.tensor([[0], [1]]))
    assert batch.repeat(2).x.tolist() == [2, 0, 1, 2, 0, 1]
    assert batch.num_graphs == 1


@pytest.mark.parametrize(("batch_size", "expected"), [(None, 3), (3, 3), (5, 5)])
def test_number_of_graphs(batch_size: int | None, expected: int) -> None:
    edge_index: Tensor = torch.zeros(2, 0, dtype=torch.int64)
    batch = ExactBatch.from_tensors(
        torch.ones(4, 1), edge_index, torch.tensor([0, 0, 2, 2]), batch_size=batch_size
    )
    assert batch.num_graphs == expected
    assert batch.nodes.counts.numel() == expected


def test_a_batch_of_pyg_is_accepted_unchanged() -> None:
    graphs = [
        Data(x=torch.full((2, 1), 5.0), edge_index=torch.tensor([[0, 1], [1, 0]])),
        Data(x=torch.full((3, 1), 6.0), edge_index=torch.tensor([[0, 1], [1, 2]])),
    ]
    packed = Batch.from_data_list(graphs)
    batch = ExactBatch.from_tensors(packed.x, packed.edge_index, packed.batch)
    assert batch.num_graphs == 2
    assert batch.nodes.counts.tolist() == [2, 3]
    assert batch.edge_index.tolist() == [[1, 0, 2, 3], [0, 1, 3, 4]]
