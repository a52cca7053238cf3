"""The engine: order of graphs, learning rate, steps, and evaluation in parts."""

import pytest
import torch
from tests.training.examples import (
    CLIP4,
    curves,
    engine_for,
    every_network,
    folds,
    rings,
    some_graphs,
)

from clipgnn.errors import InvalidColoringError
from clipgnn.training import ModelSpec, Recipe, Split, train
from clipgnn.training.engine import Engine
from clipgnn.training.members import Training
from clipgnn.training.windows import num_steps


def _shuffle(engine: Engine, epoch: int) -> None:
    engine.begin(epoch)
    next(engine.portions(epoch))


def test_the_rate_is_halved() -> None:
    recipe = Recipe(epochs=4, batch_size=8, learning_rate=0.5, halve_every=2)
    engine = engine_for(some_graphs(10), CLIP4, recipe, folds(2, 10)[:1], [0])
    rates = []
    for epoch in range(5):
        engine.begin(epoch)
        rates.append(engine.optimizer.rate)
    assert rates == [0.5, 0.5, 0.25, 0.25, 0.125]


def test_the_order_of_an_epoch_does_not_change() -> None:
    recipe = Recipe(epochs=3, batch_size=8)
    engine = engine_for(some_graphs(40), CLIP4, recipe, folds(5, 40)[:2], [1, 2])
    _shuffle(engine, 0)
    first = engine.order.clone()
    _shuffle(engine, 1)
    assert not torch.equal(engine.order, first)
    _shuffle(engine, 0)
    assert torch.equal(engine.order, first)


def test_every_graph_is_used_once_in_an_epoch() -> None:
    recipe = Recipe(epochs=3, batch_size=8)
    splits = folds(5, 40)[:2]
    engine = engine_for(some_graphs(40), CLIP4, recipe, splits, [1, 2])
    orders = []
    for epoch in range(2):
        _shuffle(engine, epoch)
        for member, split in enumerate(splits):
            assert sorted(engine.order[member].tolist()) == sorted(split.train.tolist())
        orders.append(engine.order.clone())
    assert not torch.equal(orders[0], orders[1])


def test_a_last_batch_of_one_graph_is_left_out() -> None:
    numbers = torch.arange(17)
    assert [num_steps(count, 8) for count in (16, 17, 18)] == [2, 2, 3]
    recipe = Recipe(epochs=2, batch_size=8)
    [trained] = train(some_graphs(20), CLIP4, recipe, [Split(numbers, [17, 18])], [0])
    assert all(loss == loss for loss in trained.history.train_loss)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("num_colorings", [0, 4])
def test_a_member_does_not_depend_on_the_others(num_colorings: int) -> None:
    graphs = some_graphs(40)
    spec = ModelSpec("clip", {**CLIP4.parameters, "num_colorings": num_colorings})
    recipe = Recipe(epochs=4, batch_size=8)
    splits, seeds = folds(5, 40), [5, 6, 7, 8, 9]
    together = Training(engine_for(graphs, spec, recipe, splits, seeds), range(5)).run()
    alone = train(graphs, spec, recipe, splits, seeds)
    for one, other in zip(alone, together, strict=True):
        for curve, same in zip(curves(one.history), curves(other.history), strict=True):
            assert curve == pytest.approx(same, abs=1e-9)
        # Biases before a normalization have no gradient but rounding, of which Adam makes steps.
        torch.testing.assert_close(one.test_outputs, other.test_outputs, rtol=1e-4, atol=1e-4)
    losses = [trained.history.train_loss for trained in alone[:2]]
    assert losses[0] != pytest.approx(losses[1], abs=1e-3)


@pytest.mark.usefixtures("double")
def test_evaluation_in_parts_does_not_depend_on_the_other_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clipgnn.training.engine.MAX_EVALUATED_ROWS", 60)
    graphs, recipe = some_graphs(41), Recipe(epochs=3, batch_size=8)
    splits, seeds = folds(5, 41), [5, 6, 7, 8, 9]
    engine = engine_for(graphs, CLIP4, recipe, splits, seeds)
    assert len(engine.evaluated["test"]) > 1
    together = Training(engine, range(5)).run()
    for one, other in zip(train(graphs, CLIP4, recipe, splits, seeds), together, strict=True):
        assert one.history.test_score == pytest.approx(other.history.test_score, abs=1e-12)
        assert one.test_outputs.shape == other.test_outputs.shape
        torch.testing.assert_close(one.test_outputs, other.test_outputs, rtol=1e-4, atol=1e-4)


def test_outputs_are_in_the_order_of_the_test_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, recipe = some_graphs(12), Recipe(epochs=1, batch_size=4)
    spec = ModelSpec("gin", {"hidden_channels": 4, "num_layers": 1})
    split = Split(range(6), [11, 7, 9, 8, 10])
    [whole] = train(graphs, spec, recipe, [split], [0])
    monkeypatch.setattr("clipgnn.training.engine.MAX_EVALUATED_ROWS", 1)
    [in_parts] = train(graphs, spec, recipe, [split], [0])
    expected = whole.model.predict(graphs)[split.test]
    torch.testing.assert_close(whole.test_outputs, expected)
    torch.testing.assert_close(in_parts.test_outputs, expected)


@pytest.mark.usefixtures("double")
@every_network
def test_outputs_that_are_not_finite_have_no_score(spec: ModelSpec) -> None:
    """Also where the loss is finite: the index of the largest of NaNs is 0, and often right."""
    graphs = some_graphs(24)
    graphs.targets.zero_()
    engine = engine_for(graphs, spec, Recipe(epochs=1), folds(3, 24)[:2], [1, 2])
    engine.network.eval()
    assert bool(engine.evaluate("test").scores.isfinite().all())
    with torch.no_grad():
        for parameter in engine.network.parameters():
            parameter[1] = torch.nan
    finite, broken = engine.evaluate("test").scores
    assert bool(finite.isfinite())
    assert bool(broken.isnan())


@pytest.mark.parametrize("code", ["one-hot", "binary"])
def test_too_few_colors_for_the_data_are_refused(code: str) -> None:
    spec = ModelSpec("clip", {**CLIP4.parameters, "num_colors": 2, "color_code": code})
    with pytest.raises(InvalidColoringError, match="num_colors"):
        train(rings(12), spec, Recipe(epochs=1), folds(3, 12)[:1], [0])
