"""The contract of batches: both kinds of storage hold the same graphs and compute the same sums."""

from dataclasses import dataclass

import pytest
import torch
from tests.contracts.graph_sets import ALL_KINDS, graph_set
from torch import Tensor

from clipgnn.coloring.groups import color_groups
from clipgnn.graphs.assembly import Assembler, Capacity
from clipgnn.graphs.batch import Batch, Edges
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.gather_sum import gather_sum

pytestmark = pytest.mark.usefixtures("double")

CHOSEN = torch.tensor([[6, 0, 2], [4, 1, 5]])
"""The graphs of two members."""


@dataclass(frozen=True)
class Stored:
    """A batch, and the positions of its nodes, edges and graphs that are not padding.

    Positions are in the order of the chosen graphs, for each member.
    """

    batch: Batch
    nodes: Tensor
    graphs: Tensor


def _exact(graphs: PackedGraphs, chosen: Tensor) -> Stored:
    batch = graphs.batch(chosen.flatten())
    return Stored(batch, torch.arange(batch.num_nodes), torch.arange(chosen.numel()))


def _fixed(graphs: PackedGraphs, chosen: Tensor, spare: int) -> Stored:
    groups = color_groups(graphs.x, graphs.graph_of_node)
    assembler = Assembler(graphs, groups)
    needed = assembler.capacity_for(chosen)
    capacity = Capacity(needed.nodes + spare, needed.edges + spare)
    batch = assembler.batch(chosen, capacity)
    assert batch.node_mask is not None
    return Stored(batch, batch.node_mask.flatten().nonzero()[:, 0], torch.arange(chosen.numel()))


def _storages(graphs: PackedGraphs) -> list[Stored]:
    stored = [_exact(graphs, CHOSEN), _fixed(graphs, CHOSEN, 0), _fixed(graphs, CHOSEN, 9)]
    one = CHOSEN.view(1, -1)
    groups = color_groups(graphs.x, graphs.graph_of_node)
    assembler = Assembler(graphs, groups)
    unpadded = assembler.batch(one, assembler.capacity_for(one), padded=False)
    return [*stored, Stored(unpadded, torch.arange(unpadded.num_nodes), torch.arange(6))]


every_kind = pytest.mark.parametrize(
    "kinds", ALL_KINDS, ids=lambda kinds: ", ".join(sorted(kinds)) or "plain"
)


def _rows(stored: Stored, values: Tensor) -> Tensor:
    """Values of the nodes, distributed over the slots of the batch; padding has large numbers."""
    rows = values.new_full((stored.batch.num_nodes, values.shape[1]), 1e6)
    return rows.index_put((stored.nodes,), values)


@every_kind
def test_sums_over_neighbors_and_their_gradients(kinds: frozenset[str]) -> None:
    _compare(graph_set(kinds), lambda edges, x: edges.sum(x))


@every_kind
def test_sums_over_reversed_edges_and_their_gradients(kinds: frozenset[str]) -> None:
    _compare(graph_set(kinds), lambda edges, x: edges.reversed().sum(x))


@every_kind
def test_edges_reversed_twice_are_the_same(kinds: frozenset[str]) -> None:
    graphs = graph_set(kinds)
    for stored in _storages(graphs):
        edges, x = stored.batch.edges, torch.randn(stored.batch.num_nodes, 2)
        torch.testing.assert_close(edges.reversed().reversed().sum(x), edges.sum(x))


@pytest.mark.parametrize("direction", ["forward", "reversed"])
@every_kind
def test_sums_of_rows_of_edges_and_their_gradients(kinds: frozenset[str], direction: str) -> None:
    if "edge attributes" not in kinds:
        return

    def through_edges(edges: Edges, x: Tensor) -> Tensor:
        edges = edges.reversed() if direction == "reversed" else edges
        assert edges.attr is not None
        # Not linear, so that the rows of one edge cannot be mistaken for those of another.
        return edges.sum_at_targets(torch.sin(edges.at_sources(x) * edges.attr[:, :1]))

    _compare(graph_set(kinds), through_edges)


def _compare(graphs: PackedGraphs, compute: object) -> None:
    """Compute with all storages and compare values and gradients of nodes that are not padding."""
    generator = torch.Generator().manual_seed(1)
    nodes = int(graphs.node_pointers.diff()[CHOSEN].sum())
    values = torch.randn(nodes, 3, generator=generator, requires_grad=True)
    factors = torch.randn(nodes, 3, generator=generator)
    results = []
    for stored in _storages(graphs):
        rows = _rows(stored, values)
        result = compute(stored.batch.edges, rows)[stored.nodes]  # type: ignore[operator]
        (gradient,) = torch.autograd.grad((result * factors).sum(), values)
        results.append((result, gradient))
    for result in results[1:]:
        for found, expected in zip(result, results[0], strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


@every_kind
def test_sums_over_the_nodes_of_graphs(kinds: frozenset[str]) -> None:
    graphs = graph_set(kinds)
    values = torch.randn(int(graphs.node_pointers.diff()[CHOSEN].sum()), 3, requires_grad=True)
    expected = None
    for stored in _storages(graphs):
        total = stored.batch.nodes.sum(_rows(stored, values))[stored.graphs]
        (gradient,) = torch.autograd.grad(total.square().sum(), values)
        expected = expected or (total, gradient)
        torch.testing.assert_close((total, gradient), expected, rtol=0, atol=1e-10)


@every_kind
def test_content(kinds: frozenset[str]) -> None:
    graphs = graph_set(kinds)
    sizes = graphs.node_pointers.diff()[CHOSEN.flatten()]
    degrees = torch.bincount(graphs.global_edge_index[1], minlength=graphs.x.shape[0])
    chosen_nodes = (graphs.graph_of_node[None] == CHOSEN.view(-1, 1)).nonzero()[:, 1]
    for stored in _storages(graphs):
        batch = stored.batch
        assert torch.equal(batch.x[stored.nodes], graphs.x[chosen_nodes])
        assert torch.equal(batch.nodes.counts[stored.graphs], sizes)
        assert torch.equal(batch.edges.in_degrees[stored.nodes], degrees[chosen_nodes])
        assert batch.largest_graph >= int(sizes.max())
        assert (batch.edges.attr is None) == (graphs.edge_attr is None)
        if graphs.graph_attr is None:
            assert batch.graph_attr is None
        else:
            assert batch.graph_attr is not None
            assert torch.equal(batch.graph_attr[stored.graphs], graphs.graph_attr[CHOSEN.flatten()])


@every_kind
def test_padding_has_no_neighbors_and_is_in_no_graph(kinds: frozenset[str]) -> None:
    stored = _fixed(graph_set(kinds), CHOSEN, 9)
    batch = stored.batch
    assert batch.node_mask is not None
    padding = ~batch.node_mask.flatten()
    assert int(padding.sum()) >= 18
    x = torch.full((batch.num_nodes, 1), torch.nan)
    x[stored.nodes] = 1.0
    assert batch.edges.sum(x)[padding].eq(0).all()
    assert batch.edges.sum(x).isfinite().all()
    assert batch.nodes.sum(x).isfinite().all()


@pytest.mark.parametrize("last", ["no graph", "a graph without nodes"])
@every_kind
def test_members_that_are_full_and_end_with_nothing(kinds: frozenset[str], last: str) -> None:
    """Padding of edges refers to a node of its own member, also where no slot of nodes is free."""
    graphs = graph_set(kinds)
    nothing = len(graphs) if last == "no graph" else 8
    assembler = Assembler(graphs, color_groups(graphs.x, graphs.graph_of_node))
    chosen = torch.tensor([[0, nothing], [7, nothing]])
    assert graphs.node_pointers.diff()[[0, 7]].tolist() == [4, 4]
    edges = int(assembler.edge_count[chosen].sum(1).max())
    batch = assembler.batch(chosen, Capacity(4, edges + 3))
    x = torch.randn(8, 2, requires_grad=True)
    expected = graphs.batch(torch.tensor([0, 7])).edges
    torch.testing.assert_close(batch.edges.sum(x), expected.sum(x), rtol=0, atol=1e-10)
    if batch.edges.attr is None or expected.attr is None:
        return
    found = []
    for own in (batch.edges, expected, batch.edges.reversed(), expected.reversed()):
        assert own.attr is not None
        total = own.sum_at_targets(torch.sin(own.at_sources(x) * own.attr[:, :1]))
        found.append((total, *torch.autograd.grad(total.square().sum(), x)))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-10)
    torch.testing.assert_close(found[2], found[3], rtol=0, atol=1e-10)


@every_kind
def test_tables_of_fused_kernels_hold_the_same_graphs(kinds: frozenset[str]) -> None:
    """Only batches with a capacity and a mask have them; others are computed by the layers."""
    graphs = graph_set(kinds)
    exact, *fixed, unpadded = (stored.batch for stored in _storages(graphs))
    assert exact.structure is None
    assert unpadded.structure is None
    for batch in fixed:
        structure = batch.structure
        assert structure is not None
        assert batch.node_mask is not None
        assert structure.capacity * batch.num_members == batch.num_nodes
        assert torch.equal(structure.num_nodes, batch.node_mask.sum(1))
        assert torch.equal(structure.graph_count, exact.nodes.counts)
        x = torch.randn(batch.num_nodes, 2)
        total = gather_sum(x, structure.incoming, structure.outgoing)
        torch.testing.assert_close(total, batch.edges.sum(x))
        for number in structure.graph_mask.flatten().nonzero().flatten():
            begin, count = structure.graph_begin[number], structure.graph_count[number]
            assert structure.graph_of_node[begin : begin + count].eq(number).all()
