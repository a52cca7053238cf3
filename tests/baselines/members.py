"""What every network with a members axis must do, whatever it computes."""

from dataclasses import replace

import pytest
import torch
from tests.training.examples import some_graphs
from torch import Tensor

from clipgnn.coloring.groups import color_groups
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import Assembler
from clipgnn.nn.members import Members
from clipgnn.training import ModelSpec, Recipe, Split, train
from clipgnn.training.engine import Engine
from clipgnn.training.loop import train_together


def assembler_of(graphs: PackedGraphs) -> Assembler:
    return Assembler(graphs, color_groups(graphs.x, graphs.graph_of_node))


def outputs_of(model: Members, graphs: PackedGraphs, chosen: Tensor, *, spare: int = 0) -> Tensor:
    """Outputs for `[members, graphs]`, with room for more nodes than needed."""
    assembler = assembler_of(graphs)
    batch = assembler.batch(chosen, assembler.room_for(chosen) + spare)
    return model.classify(batch, None)


def outputs_of_all(model: Members, graphs: PackedGraphs) -> Tensor:
    """Outputs of a single member for the whole data set, without any padding."""
    assembler = assembler_of(graphs)
    chosen = torch.arange(len(graphs))[None]
    return model.classify(assembler.batch(chosen, graphs.x.shape[0], padded=False), None)[0]


def member_of(model: Members, alone: Members, member: int) -> Members:
    """The same weights in a model of one member."""
    state = {name: value[member : member + 1] for name, value in model.state_dict().items()}
    alone.load_state_dict(state)
    return alone.train(model.training)


def assert_members_keep_apart(model: Members, alone: Members, graphs: PackedGraphs) -> None:
    """Three members with different batches and much padding give what each gives alone.

    Gradients too: what a member learns must not come from its neighbors.
    """
    none = len(graphs)
    chosen = torch.tensor([[3, 0, 5, none], [1, 2, none, none], [4, 4, 6, 7]])
    outputs = outputs_of(model, graphs, chosen, spare=5)
    real = chosen != none
    model.zero_grad()
    outputs[real].square().sum().backward()
    for member in range(3):
        own = chosen[member][real[member]]
        single = member_of(model, alone, member)
        single.zero_grad()
        expected = outputs_of_all_chosen(single, graphs, own)
        torch.testing.assert_close(outputs[member][real[member]], expected)
        expected.square().sum().backward()
        for mine, its in zip(model.parameters(), single.parameters(), strict=True):
            assert mine.grad is not None
            torch.testing.assert_close(mine.grad[member : member + 1], its.grad)


def outputs_of_all_chosen(model: Members, graphs: PackedGraphs, chosen: Tensor) -> Tensor:
    assembler = assembler_of(graphs)
    room = assembler.room_for(chosen[None])
    return model.classify(assembler.batch(chosen[None], room, padded=False), None)[0]


def assert_learns_density(spec: ModelSpec, recipe: Recipe) -> None:
    """It can learn by heart which graphs have many edges for their nodes."""
    graphs = some_graphs(40)
    density = torch.tensor([own.num_edges / own.num_nodes for own in graphs.to_data_list()])
    graphs = replace(graphs, y=(density > density.median()).long())
    everything = torch.arange(40)
    history = train(graphs, spec, recipe, [Split(everything, everything)], [0])[0]
    assert history.test_score[-1] > 0.9


def assert_trains_alone_as_together(spec: ModelSpec) -> None:
    """Folds trained side by side have the curves of folds trained one by one."""
    graphs, numbers = some_graphs(20), torch.arange(20)
    splits = [Split(numbers[numbers % 3 != fold], numbers[numbers % 3 == fold]) for fold in (0, 1)]
    recipe, seeds = Recipe(epochs=2, batch_size=8), [5, 6]
    together = train_together(Engine(graphs, spec, recipe, splits, seeds, torch.device("cpu")))
    alone = train(graphs, spec, recipe, splits, seeds)
    for one, other in zip(alone, together, strict=True):
        assert one.train_loss == pytest.approx(other.train_loss, rel=1e-4)
        assert one.test_score == other.test_score
