"""The contract of training: one suite that CLIP and every neural baseline run through."""

from dataclasses import replace

import pytest
import torch
from tests.baselines.examples import members_of, outputs
from tests.training.examples import every_network, some_graphs
from torch_geometric.data import Data

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import MODELS
from clipgnn.training import ModelSpec, Recipe, Split, train

pytestmark = pytest.mark.usefixtures("double")


def _kinds(graphs: PackedGraphs) -> dict[str, PackedGraphs]:
    rows = torch.randn(graphs.x.shape[0], 3, generator=torch.Generator().manual_seed(0))
    return {
        "labels": graphs,
        "attributes": replace(graphs, x=rows, in_channels=3),
        "nothing": replace(graphs, x=torch.zeros_like(graphs.x), in_channels=1),
        "regular": _rings(len(graphs)),
    }


def _rings(number: int) -> PackedGraphs:
    """Rings of 3 to 7 nodes without attributes: channels vary only between sizes."""
    graphs = []
    for place in range(number):
        node = torch.arange(3 + place % 5)
        edge = torch.stack([node, (node + 1) % node.numel()])
        edges = torch.cat([edge, edge.flip(0)], dim=1)
        graphs.append(Data(edge_index=edges, y=torch.tensor([place % 2]), num_nodes=node.numel()))
    return PackedGraphs.from_data_list(graphs, "rings")


def _with_dropout(spec: ModelSpec, dropout: float = 0.5) -> ModelSpec:
    return ModelSpec(spec.name, {**spec.parameters, "dropout": dropout})


def _splits(number: int, graphs: int) -> list[Split]:
    place = torch.arange(graphs) % number
    return [Split(place.ne(k).nonzero()[:, 0], place.eq(k).nonzero()[:, 0]) for k in range(number)]


@every_network
@pytest.mark.parametrize("kind", ["labels", "attributes", "nothing", "regular"])
@pytest.mark.parametrize("training", [False, True])
def test_members_and_padding_leave_a_network_alone(
    spec: ModelSpec, kind: str, training: bool
) -> None:
    """Outputs and gradients of three members with padding are those of each alone without."""
    graphs = _kinds(some_graphs(12))[kind]
    seeds, none = [4, 5, 6], len(graphs)
    chosen = torch.tensor([[0, 3, 1, none], [2, 4, none, none], [7, 8, 9, 5]])
    model = members_of(_with_dropout(spec), graphs, seeds).train(training)
    together = outputs(model, graphs, chosen, seeds, spare=7)
    assert together.shape == (3, 4, 2)
    together[chosen != none].square().sum().backward()
    for member, seed in enumerate(seeds):
        single = members_of(_with_dropout(spec), graphs, [seed]).train(training)
        own = chosen[member][chosen[member] != none]
        alone = outputs(single, graphs, own[None], [seed])[0]
        torch.testing.assert_close(together[member, : own.numel()], alone, atol=1e-9, rtol=1e-9)
        alone.square().sum().backward()
        for mine, its in zip(model.parameters(), single.parameters(), strict=True):
            assert mine.grad is not None
            assert its.grad is not None
            torch.testing.assert_close(mine.grad[member], its.grad[0], atol=1e-8, rtol=1e-8)


DEEP = {name: {"num_layers": 12} for name in ("clip", "gin", "rp-gin")}


@every_network
def test_padding_never_overflows(spec: ModelSpec) -> None:
    """In float32, through many layers of channels without variance: padded against exact.

    Each normalization would scale padding by 1/sqrt(epsilon) = 316 there, and 316^15 overflows.
    """
    torch.set_default_dtype(torch.float32)
    spec = ModelSpec(spec.name, {**spec.parameters, **DEEP.get(spec.name, {})})
    graphs, recipe = _rings(24), Recipe(epochs=2, batch_size=16)
    alone = train(graphs, spec, recipe, _splits(3, 24), [1, 2, 3]).histories
    together = train(graphs, spec, recipe, _splits(3, 24), [1, 2, 3], together=True).histories
    for one, other in zip(alone, together, strict=True):
        assert one.diverged is None
        assert other.diverged is None
        assert one.train_loss[0] == pytest.approx(other.train_loss[0], rel=1e-3)


@every_network
@pytest.mark.parametrize("together", [False, True])
def test_a_member_that_diverges_does_so_alone(spec: ModelSpec, together: bool) -> None:
    """One member trains on a target whose square overflows; the others do not have it."""
    graphs = some_graphs(24)
    y = torch.linspace(-1, 1, 24)
    y[0] = 1e200
    graphs = replace(graphs, y=y)
    part = torch.arange(1, 24)
    splits = [
        Split(part[part % 3 != 0], part[part % 3 == 0]),
        Split(torch.arange(16), torch.arange(16, 24)),
        Split(part[part % 3 != 1], part[part % 3 == 1]),
    ]
    recipe = Recipe(epochs=3, batch_size=8, loss="squared-error")
    models = train(graphs, spec, recipe, splits, [1, 2, 3], together=together)
    first, second, third = models.histories
    assert second.diverged == "diverged in epoch 1, learning rate 0.001"
    assert second.train_loss == second.test_score == []
    assert models.summary().num_diverged == 1
    expected = train(graphs, spec, recipe, [splits[0], splits[2]], [1, 3]).histories
    for history, alone in zip((first, third), expected, strict=True):
        assert history.diverged is None
        assert history.train_loss == pytest.approx(alone.train_loss, rel=1e-8)
        assert history.test_score == pytest.approx(alone.test_score, rel=1e-8)


@every_network
def test_batches_of_hardly_any_rows(spec: ModelSpec) -> None:
    """Graphs without nodes, single nodes and equal rings, two at a time: alone as together."""
    ring = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    edges = {0: ring[:, :0], 1: ring[:, :0], 4: ring}
    graphs = PackedGraphs.from_data_list(
        [
            Data(edge_index=edges[size], num_nodes=size, y=torch.tensor([place % 2]))
            for place in range(8)
            for size in edges
        ],
        "few rows",
    )
    recipe = Recipe(epochs=2, batch_size=2)
    alone = train(graphs, spec, recipe, _splits(3, 24), [1, 2, 3]).histories
    together = train(graphs, spec, recipe, _splits(3, 24), [1, 2, 3], together=True).histories
    for one, other in zip(alone, together, strict=True):
        assert one.diverged is None
        assert other.diverged is None
        # Later, rounding grows: with two kinds of rows, gradients are differences of large numbers.
        assert one.train_loss[0] == pytest.approx(other.train_loss[0], rel=1e-6)


@every_network
def test_diverged_classes_are_no_accuracy(spec: ModelSpec) -> None:
    """The index of the largest of outputs that are NaN is 0."""
    torch.set_default_dtype(torch.float32)
    recipe = Recipe(epochs=6, batch_size=8, learning_rate=1e38)
    splits = _splits(3, 24)[:1]
    [history] = train(some_graphs(24), spec, recipe, splits, [1]).histories
    assert history.diverged is not None
    assert "learning rate 1e+38" in history.diverged
    assert len(history.test_score) == len(history.train_loss) < 6


@every_network
def test_networks_learn(spec: ModelSpec) -> None:
    """Which label has more nodes, a difference that every network can represent."""
    graphs = some_graphs(40)
    share = [graph.x[:, 1].mean().item() for graph in graphs.to_data_list()]
    graphs = replace(graphs, y=(torch.tensor(share) > 0.5).long())
    recipe = Recipe(epochs=15, batch_size=8, learning_rate=0.02)
    history = train(graphs, spec, recipe, _splits(4, 40)[:1], [1])[0].history
    assert history.train_loss[-1] < 0.7 * history.train_loss[0]


@every_network
def test_folds_trained_together_are_folds_trained_alone(spec: ModelSpec) -> None:
    spec = _with_dropout(spec)
    graphs, recipe = some_graphs(24), Recipe(epochs=3, batch_size=8)
    splits, seeds = _splits(4, 24), [1, 2, 3, 4]
    alone = train(graphs, spec, recipe, splits, seeds)
    together = train(graphs, spec, recipe, splits, seeds, together=True)
    for one, other in zip(alone, together, strict=True):
        assert one.history.train_loss == pytest.approx(other.history.train_loss, abs=1e-8)
        assert one.history.test_score == pytest.approx(other.history.test_score, abs=1e-8)
        torch.testing.assert_close(one.test_outputs, other.test_outputs, rtol=1e-3, atol=1e-3)


@every_network
def test_dropout_drops_in_training_alone(spec: ModelSpec) -> None:
    graphs, chosen = some_graphs(12), torch.arange(12)[None]
    model = members_of(_with_dropout(spec), graphs, [4])
    plain = members_of(_with_dropout(spec, 0.0), graphs, [4])
    torch.testing.assert_close(
        outputs(model, graphs, chosen, [4]), outputs(plain, graphs, chosen, [4])
    )
    model.train()
    first, second = (outputs(model, graphs, chosen, [4]) for _ in range(2))
    assert not torch.allclose(first, second)
    plain.train()
    first, second = (outputs(plain, graphs, chosen, [4]) for _ in range(2))
    torch.testing.assert_close(first, second)


@every_network
def test_unknown_parameters_are_refused_with_a_suggestion(spec: ModelSpec) -> None:
    known = MODELS[spec.name].parameters.chosen()[0]
    with pytest.raises(InvalidParameterError, match=f"Did you mean '{known}'"):
        members_of(ModelSpec(spec.name, {known + "s": 1}), some_graphs(), [0])
