"""Padded batches say the same as plain ones, and their colorings are colorings."""

import pytest
import torch
from tests.training.examples import some_graphs
from torch import Tensor

from clipgnn import CLIP
from clipgnn.coloring.groups import Partition, color_groups
from clipgnn.coloring.hashed import hashed_colorings, hashed_integers
from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.batch import GraphBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import Assembler
from clipgnn.nn.gather_sum import sum_in_place, sum_members


def _assembler(graphs: PackedGraphs) -> Assembler:
    return Assembler(graphs, color_groups(graphs.x, graphs.graph_of_node))


def _chosen(assembler: Assembler) -> Tensor:
    """Three members with batches of different sizes."""
    none = assembler.padding
    return torch.tensor([[3, 0, 5, none], [1, 2, none, none], [4, 4, 6, 7]])


def _evaluate(model: CLIP, plain: GraphBatch, colorings: Tensor) -> Tensor:
    """The model as users call it."""
    pattern = plain.edges.pattern
    edge_index = torch.stack([pattern.col, pattern.row])
    return model(plain.x, edge_index, plain.graph_of_node, colorings=colorings)


def test_padded_batch_gives_what_plain_batches_give() -> None:
    graphs = some_graphs()
    assembler = _assembler(graphs)
    chosen = _chosen(assembler)
    torch.manual_seed(0)
    model = CLIP(graphs.in_channels, 2, hidden_channels=8, num_members=3, num_colors=9).double()
    padded = assembler.batch(chosen, assembler.room_for(chosen) + 5)
    seeds = torch.tensor([11, 12, 13])
    colorings = hashed_colorings(padded, 4, seeds, torch.tensor(7))
    room = padded.num_nodes // 3
    for training in (False, True):
        model.train(training)
        single = CLIP(graphs.in_channels, 2, hidden_channels=8, num_colors=9).double()
        states = [
            {k: v[m : m + 1].clone() for k, v in model.state_dict().items()} for m in range(3)
        ]
        outputs = model.classify(padded, colorings)
        for member, state in enumerate(states):
            single.load_state_dict(state)
            single.train(training)
            own = chosen[member][chosen[member] != assembler.padding]
            plain = graphs.batch(own)
            nodes = slice(member * room, member * room + plain.num_nodes)
            expected = _evaluate(single, plain, colorings[:, nodes])
            torch.testing.assert_close(
                outputs[member, : own.numel()], expected, rtol=1e-10, atol=1e-10
            )
            for name, value in single.state_dict().items():
                mine = model.state_dict()[name][member : member + 1]
                torch.testing.assert_close(mine, value, rtol=1e-10, atol=1e-10)


def test_sums_and_their_gradients() -> None:
    graphs = some_graphs()
    assembler = _assembler(graphs)
    chosen = _chosen(assembler)
    batch = assembler.batch(chosen, assembler.room_for(chosen) + 2)
    x = torch.randn(batch.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    dense = torch.zeros(batch.num_nodes, batch.num_nodes, dtype=torch.float64)
    room = batch.num_nodes // 3
    for member in range(3):
        begin = member * room
        for graph in chosen[member].tolist():
            if graph == assembler.padding:
                continue
            own = slice(*graphs.edge_pointers[graph : graph + 2].tolist())
            source, target = graphs.edge_index[:, own] + begin
            dense[target, source] += 1
            begin += int(graphs.node_pointers[graph + 1] - graphs.node_pointers[graph])
    torch.testing.assert_close(sum_in_place(batch.edges.pattern, x), dense @ x)
    assert torch.autograd.gradcheck(lambda values: sum_in_place(batch.edges.pattern, values), x)
    assert torch.autograd.gradcheck(lambda values: sum_members(batch.nodes, values), x)
    total = sum_members(batch.nodes, x)
    assert batch.real_nodes is not None
    torch.testing.assert_close(total.sum(0), x[batch.real_nodes.flatten()].sum(0))


def test_hashed_colorings_are_colorings_of_every_member_by_itself() -> None:
    graphs = some_graphs()
    assembler = _assembler(graphs)
    chosen = _chosen(assembler)
    seeds = torch.tensor([11, -12, 2**62])
    batch = assembler.batch(chosen, assembler.room_for(chosen) + 5)
    counter = torch.tensor(3)
    colorings = hashed_colorings(batch, 6, seeds, counter).view(6, 3, -1)
    for member in range(3):
        own = chosen[member][chosen[member] != assembler.padding][None]
        alone = assembler.batch(own, assembler.room_for(own), padded=False)
        expected = hashed_colorings(alone, 6, seeds[member : member + 1], counter)
        nodes = alone.num_nodes
        assert torch.equal(colorings[:, member, :nodes], expected)
        padding = colorings[:, member, nodes:]
        assert int(padding.max()) < assembler.largest_group
        for block in padding.split(assembler.largest_group, dim=1):
            assert torch.equal(block.sort(dim=1).values[0], torch.arange(block.shape[1]))
        plain = graphs.batch(own[0])
        groups = color_groups(plain.x, plain.graph_of_node)
        partition = Partition.of(groups, plain.graph_of_node)
        for coloring in expected:
            pairs = set(zip(partition.groups.tolist(), coloring.tolist(), strict=True))
            assert len(pairs) == nodes
            assert bool((coloring < partition.sizes[partition.groups]).all())


def test_hashed_colorings_are_uniform_and_new_at_every_count() -> None:
    ring = PackedGraphs(
        name="ring",
        x=torch.zeros(3, dtype=torch.int64),
        in_channels=1,
        edge_index=torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]),
        node_pointers=torch.tensor([0, 3]),
        edge_pointers=torch.tensor([0, 6]),
        y=torch.tensor([0]),
    )
    assembler = _assembler(ring)
    batch = assembler.batch(torch.tensor([[0]]), 3)
    drawn = torch.cat(
        [
            hashed_colorings(batch, 600, torch.tensor([seed]), torch.tensor(count))
            for seed in range(2)
            for count in range(5)
        ]
    )
    counts = (drawn[:, 0] * 3 + drawn[:, 1]).bincount()
    counts = counts[counts > 0].double()
    assert counts.numel() == 6
    chi_square = ((counts - 1000) ** 2 / 1000).sum()
    assert chi_square < 20.5  # 0.1 % quantile of five degrees of freedom
    integers = hashed_integers(torch.tensor([0, 1]), torch.tensor(0), 50, 50)
    assert integers.unique().numel() == integers.numel()


def test_one_way_edges_are_refused() -> None:
    graphs = some_graphs()
    broken = PackedGraphs(
        name="broken",
        x=graphs.x,
        in_channels=graphs.in_channels,
        edge_index=graphs.edge_index[:, :-1],
        node_pointers=graphs.node_pointers,
        edge_pointers=torch.cat([graphs.edge_pointers[:-1], graphs.edge_pointers[-1:] - 1]),
        y=graphs.y,
    )
    with pytest.raises(InvalidGraphError, match="undirected"):
        _assembler(broken)
