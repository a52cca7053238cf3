"""The training loop: members, seeds, schedule, early stopping, errors."""

import dataclasses
from typing import Any

import pytest
import torch
from tests.training.examples import rings, some_graphs

from clipgnn.errors import InvalidColoringError, InvalidParameterError
from clipgnn.training import History, ModelSpec, Recipe, Split, train
from clipgnn.training.engine import Engine, num_steps
from clipgnn.training.loop import train_together

CLIP4 = ModelSpec("clip", {"num_colorings": 4, "hidden_channels": 8, "num_layers": 2})


def _folds(number: int, graphs: int) -> list[Split]:
    """Of three folds and more, one is for testing and one for validation."""
    fold = torch.arange(graphs) % number
    return [
        Split(
            train=(fold != test) & ((fold != (test + 1) % number) | (number == 2)),
            test=fold == test,
            validation=(fold == (test + 1) % number) & (number > 2),
        )
        for test in range(number)
    ]


def _curves(history: History) -> tuple[list[float], list[float], list[float]]:
    return history.train_loss, history.test_score, history.validation_score


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("num_colorings", [0, 4])
def test_a_member_does_not_depend_on_who_trains_beside_it(num_colorings: int) -> None:
    graphs = some_graphs(40)
    spec = ModelSpec("clip", {**CLIP4.parameters, "num_colorings": num_colorings})
    recipe = Recipe(epochs=4, batch_size=8)
    splits, seeds = _folds(5, 40), [5, 6, 7, 8, 9]
    together = train_together(Engine(graphs, spec, recipe, splits, seeds, torch.device("cpu")))
    alone = train(graphs, spec, recipe, splits, seeds)
    for one, other in zip(alone, together, strict=True):
        for curve, same in zip(_curves(one), _curves(other), strict=True):
            assert curve == pytest.approx(same, abs=1e-9)
    assert alone[0].train_loss != pytest.approx(alone[1].train_loss, abs=1e-3)


def test_same_seed_same_bits() -> None:
    graphs, splits = some_graphs(30), _folds(3, 30)
    recipe = Recipe(epochs=3, batch_size=8)
    first, second = (train(graphs, CLIP4, recipe, splits[:2], [1, 2]) for _ in range(2))
    assert [_curves(history) for history in first] == [_curves(history) for history in second]
    other = train(graphs, CLIP4, recipe, splits[:1], [3])[0]
    assert other.train_loss != first[0].train_loss


def test_colors_learn_what_message_passing_cannot() -> None:
    graphs, split = rings(), _folds(5, 60)[:1]
    recipe = Recipe(epochs=30, batch_size=16, learning_rate=0.01)
    colored = train(graphs, CLIP4, recipe, split, [0])[0]
    blind = train(
        graphs, ModelSpec("clip", {**CLIP4.parameters, "num_colorings": 0}), recipe, split, [0]
    )
    assert max(colored.test_score[-10:]) == 1.0
    assert blind[0].test_score[-1] == pytest.approx(0.5, abs=0.11)
    assert len(colored.test_score) == len(colored.train_loss) == len(colored.validation_score) == 30


def test_numbers_are_regressed() -> None:
    graphs = some_graphs(40)
    sizes = graphs.node_pointers.diff().float()
    numbers = dataclasses.replace(graphs, y=(sizes - sizes.mean()) / sizes.std())
    recipe = Recipe(epochs=60, batch_size=8, learning_rate=0.01, loss="squared-error")
    history = train(numbers, CLIP4, recipe, _folds(5, 40)[:1], [0])[0]
    assert history.train_loss[-1] < 0.5 * history.train_loss[0]
    assert min(history.test_score) < 0.5


def test_the_rate_is_halved() -> None:
    recipe = Recipe(epochs=4, batch_size=8, learning_rate=0.5, halve_every=2)
    engine = Engine(some_graphs(10), CLIP4, recipe, _folds(2, 10)[:1], [0], torch.device("cpu"))
    rates = []
    for epoch in range(5):
        engine.set_rate(epoch)
        rates.append(engine.optimizer.param_groups[0]["lr"])
    assert rates == [0.5, 0.5, 0.25, 0.25, 0.125]


def test_every_graph_is_seen_once_an_epoch() -> None:
    recipe = Recipe(epochs=3, batch_size=8)
    splits = _folds(5, 40)[:2]
    engine = Engine(some_graphs(40), CLIP4, recipe, splits, [1, 2], torch.device("cpu"))
    orders = []
    for epoch in range(2):
        engine.shuffle(epoch)
        for member, split in enumerate(splits):
            seen = engine.order[member]
            assert sorted(seen.tolist()) == sorted(split.train.tolist())
        orders.append(engine.order.clone())
    assert not torch.equal(orders[0], orders[1])


def test_a_last_batch_of_one_graph_is_left_out() -> None:
    numbers = torch.arange(17)
    assert num_steps(Split(numbers, numbers), 8) == 2
    assert num_steps(Split(numbers[:16], numbers), 8) == 2
    assert num_steps(Split(torch.arange(18), numbers), 8) == 3
    history = train(
        some_graphs(20), CLIP4, Recipe(epochs=2, batch_size=8), [Split(numbers, [17, 18])], [0]
    )[0]
    assert all(loss == loss for loss in history.train_loss)


def test_early_stopping_ends_each_member_by_itself() -> None:
    graphs, splits = some_graphs(40), _folds(5, 40)
    long = train(graphs, CLIP4, Recipe(epochs=40, batch_size=8), splits[:3], [1, 2, 3])
    short = train(graphs, CLIP4, Recipe(epochs=40, batch_size=8, patience=3), splits[:3], [1, 2, 3])
    for full, stopped in zip(long, short, strict=True):
        length = len(stopped.test_score)
        assert stopped.test_score == full.test_score[:length]
        best = full.validation_score.index(max(full.validation_score[:length]))
        assert length == min(40, best + 1 + 3)
    assert any(len(stopped.test_score) < 40 for stopped in short)


def test_dropout_comes_from_the_members_own_seed() -> None:
    graphs, splits = some_graphs(30), _folds(3, 30)[:2]
    spec = ModelSpec("clip", {**CLIP4.parameters, "dropout": 0.5})
    recipe = Recipe(epochs=2, batch_size=8)
    before = torch.get_rng_state()
    dropped = train(graphs, spec, recipe, splits, [1, 2])
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(7)
    assert _curves(train(graphs, spec, recipe, splits[1:], [2])[0]) == _curves(dropped[1])
    plain = train(graphs, CLIP4, recipe, splits[:1], [1])[0]
    assert dropped[0].train_loss != plain.train_loss


def test_progress_counts_member_epochs() -> None:
    counted: list[int] = []
    recipe = Recipe(epochs=3, batch_size=8)
    train(some_graphs(20), CLIP4, recipe, _folds(2, 20), [1, 2], progress=counted.append)
    assert sum(counted) == 6


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ModelSpec("clipp"), "Did you mean 'clip'"),
        (ModelSpec("clip", {"num_layer": 3}), "Did you mean 'num_layers'"),
        (ModelSpec("clip", {"num_colorings": "all"}), "number of colorings"),
        (ModelSpec("clip", {"in_channels": 3}), "no parameter 'in_channels'"),
    ],
)
def test_models_that_cannot_be_built(spec: ModelSpec, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        train(some_graphs(10), spec, Recipe(epochs=1), _folds(2, 10)[:1], [0])


def test_splits_that_cannot_be_trained() -> None:
    graphs, few = some_graphs(10), torch.arange(1)
    with pytest.raises(InvalidParameterError, match="at least two graphs"):
        train(graphs, CLIP4, Recipe(epochs=1), [Split(few, few + 1)], [0])
    with pytest.raises(InvalidParameterError, match="seed for each split"):
        train(graphs, CLIP4, Recipe(epochs=1), _folds(2, 10), [0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": True},
        {"learning_rate": -1.0},
        {"loss": "hinge"},
        {"patience": 0},
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_recipes_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        Recipe(**wrong)


@pytest.mark.usefixtures("double")
def test_evaluation_in_parts_does_not_depend_on_who_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clipgnn.training.engine.EVALUATED_ROWS", 60)
    graphs, recipe = some_graphs(41), Recipe(epochs=3, batch_size=8)
    splits, seeds = _folds(5, 41), [5, 6, 7, 8, 9]
    engine = Engine(graphs, CLIP4, recipe, splits, seeds, torch.device("cpu"))
    assert len(engine.test_parts) > 1
    together = train_together(engine)
    for one, other in zip(train(graphs, CLIP4, recipe, splits, seeds), together, strict=True):
        assert one.test_score == pytest.approx(other.test_score, abs=1e-12)


@pytest.mark.parametrize("code", ["one-hot", "binary"])
def test_too_few_colors_for_the_data_are_refused(code: str) -> None:
    spec = ModelSpec("clip", {**CLIP4.parameters, "num_colors": 2, "color_code": code})
    with pytest.raises(InvalidColoringError, match="num_colors"):
        train(rings(12), spec, Recipe(epochs=1), _folds(3, 12)[:1], [0])
