"""Batches of fixed capacity: positions of nodes and edges, padding, sums and their gradients."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.graphs.examples import assembler_of, packed
from torch import Tensor

from clipgnn import CLIP
from clipgnn.coloring import color_groups
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.random import HashedSampler
from clipgnn.graphs.assembly import Assembler, Capacity
from clipgnn.graphs.capacity import FixedBatch, FixedEdges
from clipgnn.graphs.packed import PackedGraphs

MEMBERS = 3
KINDS: dict[str, dict[str, Any]] = {
    "undirected": {},
    "directed": {"directed": True},
    "weights": {"weights": True},
    "edge attributes": {"edge_channels": 2},
    "all": {"directed": True, "weights": True, "edge_channels": 2, "graph_channels": 3},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())


def chosen_for(assembler: Assembler) -> Tensor:
    """Three members with batches of different sizes; one member has a graph twice."""
    none = assembler.padding
    return torch.tensor([[3, 0, 5, none], [1, 2, none, none], [4, 4, 6, 7]])


def padded_batch(graphs: PackedGraphs, extra: int = 5) -> tuple[FixedBatch, Tensor]:
    assembler = assembler_of(graphs)
    chosen = chosen_for(assembler)
    capacity = assembler.capacity_for(chosen)
    return assembler.batch(chosen, Capacity(*(size + extra for size in capacity))), chosen


def positions(graphs: PackedGraphs, chosen: Tensor, capacity: int) -> list[tuple[int, int, int]]:
    """Position in the batch, graph of the data set and first node there, of each chosen graph."""
    sizes = graphs.node_pointers.diff().tolist()
    found = []
    for member, numbers in enumerate(chosen.tolist()):
        position = member * capacity
        for graph in numbers:
            if graph < len(graphs):
                found.append((position, graph, int(graphs.node_pointers[graph])))
                position += sizes[graph]
    return found


def adjacency(graphs: PackedGraphs, chosen: Tensor, nodes: int) -> Tensor:
    """The matrix `[targets, sources]` of a batch, from the definition."""
    matrix = torch.zeros(nodes, nodes, dtype=torch.float64)
    weight = graphs.edge_weight
    for position, graph, _ in positions(graphs, chosen, nodes // MEMBERS):
        own = slice(*graphs.edge_pointers[graph : graph + 2].tolist())
        source, target = graphs.edge_index[:, own] + position
        values = torch.ones(source.numel(), dtype=torch.float64) if weight is None else weight[own]
        matrix.index_put_((target, source), values, accumulate=True)
    return matrix


@every_kind
def test_nodes_and_graphs(options: dict[str, Any]) -> None:
    graphs = packed(**options)
    batch, chosen = padded_batch(graphs)
    sizes = torch.cat([graphs.node_pointers.diff(), torch.tensor([0])])
    assert batch.num_members == MEMBERS
    assert torch.equal(batch.graph_ids, chosen)
    assert torch.equal(batch.nodes.counts.view(MEMBERS, -1), sizes[chosen])
    assert batch.node_mask is not None
    assert batch.graph_mask is not None
    assert batch.node_mask.sum(1).tolist() == sizes[chosen].sum(1).tolist()
    assert torch.equal(batch.graph_mask, chosen < len(graphs))
    for position, graph, first in positions(graphs, chosen, batch.num_nodes // MEMBERS):
        own = slice(position, position + int(sizes[graph]))
        expected = torch.arange(first, first + int(sizes[graph]))
        assert torch.equal(batch.node_ids[own], expected)
        assert torch.equal(batch.x[own], graphs.x[expected])
    assert bool((batch.node_ids[~batch.node_mask.flatten()] == graphs.x.shape[0]).all())
    assert batch.largest_graph == int(sizes.max())
    if graphs.graph_attr is not None:
        assert batch.graph_attr is not None
        attr = batch.graph_attr.view(*chosen.shape, -1)[batch.graph_mask]
        assert torch.equal(attr, graphs.graph_attr[chosen[batch.graph_mask]])


@every_kind
def test_sums_over_neighbors_and_their_gradients(options: dict[str, Any]) -> None:
    graphs = packed(**options)
    batch, chosen = padded_batch(graphs, extra=2)
    matrix = adjacency(graphs, chosen, batch.num_nodes)
    x = torch.randn(batch.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    backward = batch.edges.reversed()
    torch.testing.assert_close(batch.edges.sum(x), matrix @ x)
    torch.testing.assert_close(backward.sum(x), matrix.t() @ x)
    torch.testing.assert_close(backward.reversed().sum(x), matrix @ x)
    assert torch.autograd.gradcheck(batch.edges.sum, x)
    assert torch.autograd.gradcheck(backward.sum, x)
    ones = adjacency(replace(graphs, edge_weight=None), chosen, batch.num_nodes)
    assert torch.equal(batch.edges.in_degrees, ones.sum(1).long())


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_rows_of_edges_and_their_gradients(directed: bool, weights: bool) -> None:
    """Reading at the sources and summing at the targets is the sum over neighbors."""
    graphs = packed(directed=directed, weights=weights, edge_channels=2)
    batch, chosen = padded_batch(graphs, extra=2)
    matrix = adjacency(graphs, chosen, batch.num_nodes)
    x = torch.randn(batch.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    for edges, expected in ((batch.edges, matrix), (batch.edges.reversed(), matrix.t())):
        assert edges.mask is not None
        inside = edges.mask.flatten()[:, None]

        def through_rows(x: Tensor, edges: Any = edges, inside: Tensor = inside) -> Tensor:
            total: Tensor = edges.sum_at_targets(torch.where(inside, edges.at_sources(x), 0))
            return total

        torch.testing.assert_close(through_rows(x), expected @ x)
        assert torch.autograd.gradcheck(through_rows, x)
        rows = torch.randn(inside.shape[0], 2, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(edges.sum_at_targets, rows)


@pytest.mark.parametrize("directed", [False, True])
def test_edge_attributes_stay_with_their_edges(directed: bool) -> None:
    graphs = packed(directed=directed, weights=True, edge_channels=2)
    batch, chosen = padded_batch(graphs)
    assert graphs.edge_attr is not None
    assert graphs.edge_weight is not None
    expected = []
    for position, graph, _ in positions(graphs, chosen, batch.num_nodes // MEMBERS):
        own = slice(*graphs.edge_pointers[graph : graph + 2].tolist())
        ends = (graphs.edge_index[:, own] + position).t().tolist()
        attr, weight = graphs.edge_attr[own].tolist(), graphs.edge_weight[own].tolist()
        expected += [(*e, *a, w) for e, a, w in zip(ends, attr, weight, strict=True)]
    for edges, order in ((batch.edges, (0, 1)), (batch.edges.reversed(), (1, 0))):
        assert isinstance(edges, FixedEdges)
        rows = edges.rows
        assert rows is not None
        assert rows.mask is not None
        assert rows.weight is not None
        mask = rows.mask.flatten()
        ends = torch.stack([rows.source, rows.targets.segment])[list(order)][:, mask].t().tolist()
        attr, weight = rows.attr[mask].tolist(), rows.weight[mask].tolist()
        found = [(*e, *a, w) for e, a, w in zip(ends, attr, weight, strict=True)]
        assert sorted(found) == sorted(expected)
        targets = rows.targets.segment.view(MEMBERS, -1)
        for own, inside in zip(targets, rows.mask, strict=True):
            assert bool((own[inside].diff() >= 0).all()), "edges must be sorted by target"


def test_sums_over_graphs_and_their_gradients() -> None:
    graphs = packed()
    batch, chosen = padded_batch(graphs)
    x = torch.randn(batch.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    total = batch.nodes.sum(x)
    starts = batch.nodes.starts.tolist()
    counts = batch.nodes.counts.tolist()
    for segment, (start, count) in enumerate(zip(starts, counts, strict=True)):
        torch.testing.assert_close(total[segment], x[start : start + count].sum(0))
    assert batch.node_mask is not None
    torch.testing.assert_close(total.sum(0), x[batch.node_mask.flatten()].sum(0))
    assert torch.autograd.gradcheck(batch.nodes.sum, x)
    assert len(counts) == chosen.numel()


def test_padding_does_not_change_the_sums() -> None:
    """Also where padding rows hold infinity, as they may after a division."""
    graphs = packed(weights=True, edge_channels=2)
    batch, _ = padded_batch(graphs)
    assert batch.node_mask is not None
    assert batch.edges.mask is not None
    x = torch.randn(batch.num_nodes, 3, dtype=torch.float64)
    spoiled = torch.where(batch.node_mask.flatten()[:, None], x, torch.inf)
    assert torch.equal(batch.edges.sum(spoiled), batch.edges.sum(x))
    assert torch.equal(batch.nodes.sum(spoiled), batch.nodes.sum(x))
    rows = batch.edges.at_sources(x)
    spoiled = torch.where(batch.edges.mask.flatten()[:, None], rows, torch.inf)
    assert torch.equal(batch.edges.sum_at_targets(spoiled), batch.edges.sum_at_targets(rows))


@every_kind
def test_exact_capacity_needs_no_masks(options: dict[str, Any]) -> None:
    graphs = packed(**options)
    assembler = assembler_of(graphs)
    chosen = torch.tensor([[5, 2, 3]])
    batch = assembler.batch(chosen, assembler.capacity_for(chosen), padded=False)
    exact = graphs.batch(chosen[0])
    assert batch.node_mask is batch.graph_mask is batch.edges.mask is None
    assert torch.equal(batch.x, exact.x)
    x = torch.randn(batch.num_nodes, 2, dtype=torch.float64)
    torch.testing.assert_close(batch.edges.sum(x), exact.edges.sum(x))
    torch.testing.assert_close(batch.nodes.sum(x), exact.nodes.sum(x))
    assert torch.equal(batch.edges.in_degrees, exact.edges.in_degrees)
    if exact.edges.attr is not None:
        assert batch.edges.attr is not None
        assert torch.equal(batch.edges.attr, exact.edges.attr)


def test_capacity_is_that_of_the_largest_member() -> None:
    graphs = packed()
    assembler = assembler_of(graphs)
    chosen = chosen_for(assembler)
    nodes, edges = graphs.node_pointers.diff(), graphs.edge_pointers.diff()
    members = [own[own < len(graphs)] for own in chosen]
    expected = max(int(nodes[own].sum()) for own in members)
    assert assembler.capacity_for(chosen) == Capacity(
        expected, max(int(edges[own].sum()) for own in members)
    )
    assert Capacity(33, 64).rounded_up(32) == Capacity(64, 64)


def test_a_batch_of_graphs_without_nodes_has_padding_only() -> None:
    graphs = packed([3, 0, 4, 0])
    assembler = assembler_of(graphs)
    chosen = torch.tensor([[1, 3]])
    batch = assembler.batch(chosen, assembler.capacity_for(chosen), padded=False)
    assert batch.num_nodes > 0
    assert batch.node_mask is not None
    assert not batch.node_mask.any()
    assert not batch.nodes.sum(torch.ones(batch.num_nodes, 1)).any()


def test_groups_are_those_of_the_graphs() -> None:
    graphs = packed()
    batch, chosen = padded_batch(graphs)
    groups = color_groups(graphs.x, graphs.graph_of_node)
    same = batch.same_group
    for position, graph, first in positions(graphs, chosen, batch.num_nodes // MEMBERS):
        own = groups[first : first + int(graphs.node_pointers.diff()[graph])]
        for node, group in enumerate(own.tolist()):
            slot = position + node
            entries = same.col[same.begin[slot] :][: same.count[slot]] + same.first[slot]
            expected = (own == group).nonzero()[:, 0] + position
            assert torch.equal(entries, expected)
    assert batch.node_mask is not None
    assert not same.count[~batch.node_mask.flatten()].any()
    assert batch.largest_group == int(Partition.of(groups, graphs.graph_of_node).sizes.max())


@every_kind
def test_padded_and_exact_outputs_agree(options: dict[str, Any]) -> None:
    """Outputs and running statistics of each member, in training and in evaluation."""
    graphs = packed(**options)
    batch, chosen = padded_batch(graphs)
    torch.manual_seed(0)
    model = CLIP.from_graphs(graphs, hidden_channels=8, num_members=MEMBERS).double()
    seeds = torch.tensor([11, 12, 13])
    colorings = HashedSampler().sample(batch, 4, seeds, torch.tensor(7))
    capacity = batch.num_nodes // MEMBERS
    for training in (False, True):
        model.train(training)
        members = [model.member(member) for member in range(MEMBERS)]
        outputs = model.forward_batch(batch, colorings)
        for member, alone in enumerate(members):
            own = chosen[member][chosen[member] < len(graphs)]
            exact = graphs.batch(own)
            nodes = slice(member * capacity, member * capacity + exact.num_nodes)
            expected = alone.forward_batch(exact, colorings[:, nodes])[0]
            torch.testing.assert_close(
                outputs[member, : own.numel()], expected, rtol=1e-10, atol=1e-10
            )
            for name, value in alone.state_dict().items():
                mine = model.state_dict()[name][member : member + 1]
                torch.testing.assert_close(mine, value, rtol=1e-10, atol=1e-10)
