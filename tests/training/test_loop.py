"""The training loop: seeds, early stopping, callbacks, continued training."""

import logging
from dataclasses import replace

import pytest
import torch
from tests.training.examples import (
    BLIND,
    CLIP4,
    curves,
    every_network,
    folds,
    regressed,
    rings,
    some_graphs,
)

from clipgnn.baselines.gin import GIN
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.nn.clip import CLIP
from clipgnn.training import Epoch, ModelSpec, Recipe, Split, train


def test_same_seed_same_bits() -> None:
    graphs, splits = some_graphs(30), folds(3, 30)
    recipe = Recipe(epochs=3, batch_size=8)
    first, second = (train(graphs, CLIP4, recipe, splits[:2], [1, 2]) for _ in range(2))
    assert [curves(history) for history in first.histories] == [
        curves(history) for history in second.histories
    ]
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.test_outputs, other.test_outputs)
        state = other.model.state_dict()
        assert all(torch.equal(v, state[name]) for name, v in one.model.state_dict().items())
    [other] = train(graphs, CLIP4, recipe, splits[:1], [3])
    assert other.history.train_loss != first[0].history.train_loss


def test_colors_learn_what_message_passing_cannot() -> None:
    graphs, split = rings(), folds(5, 60)[:1]
    recipe = Recipe(epochs=20, batch_size=16, learning_rate=0.01)
    colored = train(graphs, CLIP4, recipe, split, [0])[0].history
    blind = train(graphs, BLIND, recipe, split, [0])[0].history
    assert max(colored.test_score[-10:]) == 1.0
    assert blind.test_score[-1] == pytest.approx(0.5, abs=0.11)
    assert len(colored.test_score) == len(colored.train_loss) == len(colored.validation_score) == 20


def test_numbers_are_regressed() -> None:
    recipe = Recipe(epochs=20, batch_size=8, learning_rate=0.01, loss="squared-error")
    history = train(regressed(some_graphs(40)), CLIP4, recipe, folds(5, 40)[:1], [0])[0].history
    assert history.metric == "rmse"
    assert not history.curves.maximize
    assert history.train_loss[-1] < 0.5 * history.train_loss[0]
    assert min(history.test_score) < 0.5**0.5


def test_early_stopping_ends_each_member_by_itself() -> None:
    graphs, splits = some_graphs(40), folds(5, 40)
    recipe = Recipe(epochs=15, batch_size=8, learning_rate=0.01)
    long = train(graphs, BLIND, recipe, splits[:3], [1, 2, 3])
    recipe = replace(recipe, patience=3)
    for together in (False, True):
        short = train(graphs, BLIND, recipe, splits[:3], [1, 2, 3], together=together)
        for full, stopped in zip(long.histories, short.histories, strict=True):
            length = len(stopped.test_score)
            if not together:
                assert stopped.test_score == full.test_score[:length]
                best = full.validation_score.index(max(full.validation_score[:length]))
                assert stopped.best_epoch == best + 1
                assert length == min(15, best + 1 + 3)
        lengths = {len(stopped.test_score) for stopped in short.histories}
        assert len(lengths) > 1
        assert min(lengths) < 15


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("loss", ["cross-entropy", "squared-error"])
def test_patience_restores_the_best_epoch(loss: str, together: bool) -> None:
    """The score of the returned model is the one its history has for the best epoch."""
    graphs, splits, seeds = some_graphs(40), folds(5, 40)[:3], [1, 2, 3]
    graphs = regressed(graphs) if loss == "squared-error" else graphs
    recipe = Recipe(epochs=40, batch_size=8, learning_rate=0.01, loss=loss, patience=3)
    models = train(graphs, BLIND, recipe, splits, seeds, together=together)
    for trained, split in zip(models, splits, strict=True):
        best = trained.history.best_epoch
        assert best is not None
        assert best < len(trained.history.test_score)
        outputs, targets = trained.model.predict(graphs)[split.test], graphs.targets[split.test]
        if loss == "squared-error":
            score = (outputs[:, 0] - targets).square().mean().sqrt()
        else:
            score = (outputs.argmax(1) == targets).float().mean()
        assert float(score) == pytest.approx(trained.history.test_score[best - 1], abs=1e-5)
        assert trained.score == trained.history.test_score[best - 1]
        assert trained.best_test_outputs is not None
        torch.testing.assert_close(trained.best_test_outputs, outputs, rtol=1e-4, atol=1e-5)
        # Training went on after the best epoch, so that the last outputs are others.
        assert not torch.allclose(trained.test_outputs, outputs, atol=1e-5)


def test_without_validation_graphs_the_training_loss_decides() -> None:
    graphs, split = some_graphs(40), Split(range(30), range(30, 40))
    recipe = Recipe(epochs=30, batch_size=8, learning_rate=0.1, patience=2)
    [trained] = train(graphs, BLIND, recipe, [split], [0])
    losses = trained.history.train_loss
    assert trained.history.best_epoch == losses.index(min(losses)) + 1
    assert len(losses) == trained.history.best_epoch + 2 < 30
    assert trained.best_test_outputs is None
    assert trained.history.validation_score == []


def test_members_with_and_without_validation_graphs() -> None:
    graphs = some_graphs(40)
    splits = [Split(range(30), range(30, 40)), Split(range(30), range(30, 35), range(35, 40))]
    recipe = Recipe(epochs=3, batch_size=8)
    without, with_validation = train(graphs, BLIND, recipe, splits, [0, 0], together=True)
    assert without.best_test_outputs is None
    assert with_validation.best_test_outputs is not None
    assert with_validation.best_test_outputs.shape == (5, 2)
    assert (without.test_outputs.shape, with_validation.test_outputs.shape) == ((10, 2), (5, 2))


def test_dropout_is_drawn_from_the_seed_of_each_member() -> None:
    graphs, splits = some_graphs(30), folds(3, 30)[:2]
    spec = ModelSpec("clip", {**CLIP4.parameters, "dropout": 0.5})
    recipe = Recipe(epochs=2, batch_size=8)
    before = torch.get_rng_state()
    dropped = train(graphs, spec, recipe, splits, [1, 2]).histories
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(7)
    [again] = train(graphs, spec, recipe, splits[1:], [2]).histories
    assert curves(again) == curves(dropped[1])
    [without] = train(graphs, CLIP4, recipe, splits[:1], [1]).histories
    assert dropped[0].train_loss != without.train_loss


@pytest.mark.parametrize("together", [False, True])
def test_callbacks_receive_every_epoch_of_every_member(together: bool) -> None:
    graphs, recipe = some_graphs(20), Recipe(epochs=3, batch_size=8)
    epochs: list[Epoch] = []
    models = train(
        graphs, BLIND, recipe, folds(4, 20), [1, 2, 3, 4], together=together, callback=epochs.append
    )
    found = {(epoch.number, member) for epoch in epochs for member in epoch.members}
    assert found == {(number, member) for number in (1, 2, 3) for member in range(4)}
    assert len(epochs) == (3 if together else 12)
    for epoch in epochs:
        assert epoch.validation_score is not None
        for place, member in enumerate(epoch.members):
            history, number = models[member].history, epoch.number - 1
            assert float(epoch.train_loss[place]) == history.train_loss[number]
            assert float(epoch.test_score[place]) == history.test_score[number]
            assert float(epoch.validation_score[place]) == history.validation_score[number]


def test_members_with_different_numbers_of_steps_are_named_by_their_positions() -> None:
    graphs, recipe = some_graphs(20), Recipe(epochs=1, batch_size=4)
    splits = [Split(range(n), range(16, 20)) for n in (8, 16, 8)]
    epochs: list[Epoch] = []
    train(graphs, BLIND, recipe, splits, [0, 1, 2], together=True, callback=epochs.append)
    assert [list(epoch.members) for epoch in epochs] == [[0, 2], [1]]
    assert all(epoch.validation_score is None for epoch in epochs)


def test_an_exception_in_a_callback_ends_the_training() -> None:
    class Pruned(Exception):
        pass

    seen = []

    def prune(epoch: Epoch) -> None:
        seen.append(epoch.number)
        if epoch.number == 2:
            raise Pruned

    with pytest.raises(Pruned):
        train(some_graphs(20), BLIND, Recipe(epochs=5), folds(2, 20), [0, 1], callback=prune)
    assert seen == [1, 2]


@every_network
def test_training_continues_from_a_network(spec: ModelSpec) -> None:
    """A network keeps what it has learned, and stays as it is while copies of it are trained."""
    graphs, splits = some_graphs(24), folds(3, 24)
    recipe = Recipe(epochs=3, batch_size=8, learning_rate=1e-30)  # too small to change a weight
    learned = train(graphs, spec, Recipe(epochs=5, batch_size=8), splits[:1], [1])[0].model
    before = {name: value.clone() for name, value in learned.state_dict().items()}
    for together in (False, True):
        models = train(graphs, learned, recipe, splits, [1, 2, 3], together=together)
        for trained in models:
            assert type(trained.model) is type(learned)
            assert trained.model.config == learned.config
            weights = dict(trained.model.named_parameters())
            for name, weight in learned.named_parameters():
                torch.testing.assert_close(weights[name], weight)
    continued = train(graphs, learned, Recipe(epochs=3, batch_size=8), splits[:1], [2])[0]
    assert any(
        not torch.equal(weight, before[name]) for name, weight in continued.model.named_parameters()
    )
    for name, value in learned.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_continued_training_goes_on_where_it_ended() -> None:
    """The first loss is near the last one before, and far from that of new weights."""
    graphs, split = rings(), folds(5, 60)[:1]
    recipe = Recipe(epochs=30, batch_size=16, learning_rate=0.01)
    [first] = train(graphs, CLIP4, recipe, split, [0])
    [second] = train(graphs, first.model, replace(recipe, epochs=2), split, [1])
    assert second.history.train_loss[0] < 0.5 * first.history.train_loss[0]
    assert second.history.train_loss[0] < 10 * first.history.train_loss[-1] + 0.05


def test_continued_training_has_the_dtype_and_scheme_of_the_network() -> None:
    graphs = rings(12)
    network = CLIP(1, 2, hidden_channels=4, num_layers=1, num_colors=6, coloring="all").double()
    [trained] = train(graphs, network, Recipe(epochs=1, batch_size=4), folds(3, 12)[:1], [0])
    assert trained.test_outputs.dtype == torch.float64
    assert all(weight.dtype == torch.float64 for weight in trained.model.parameters())
    assert isinstance(trained.model, CLIP)
    assert trained.model.config.coloring == "all"
    assert type(trained.model.scheme) is type(network.scheme)


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (CLIP(3, 2), "in_channels=2.* Got in_channels=3"),
        (CLIP(2, 5), "out_channels=2.* Got out_channels=5"),
        (CLIP(2, 2, num_members=3), "num_members=1.* Got num_members=3"),
    ],
)
def test_networks_that_do_not_fit_the_data(network: CLIP, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        train(some_graphs(10), network, Recipe(epochs=1), folds(2, 10)[:1], [0])


def test_attributes_that_a_network_does_not_read() -> None:
    graphs = some_graphs(10)
    graphs = replace(graphs, graph_attr=torch.ones(10, 1))
    for model in (ModelSpec("gin"), GIN(2, 2)):
        with pytest.raises(InvalidGraphError, match="does not support graph_attr"):
            train(graphs, model, Recipe(epochs=1), folds(2, 10)[:1], [0])


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ModelSpec("clipp"), "Did you mean 'clip'"),
        (ModelSpec("wl"), "must be one of clip, .* Got 'wl'. Use fit_kernel for it"),
        (ModelSpec("clip", {"num_layer": 3}), "Did you mean 'num_layers'"),
        (ModelSpec("clip", {"num_colorings": "all"}), "'num_colorings' parameter of CLIP"),
        (ModelSpec("clip", {"in_channels": 3}), "no parameter 'in_channels'"),
    ],
)
def test_models_that_cannot_be_built(spec: ModelSpec, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        train(some_graphs(10), spec, Recipe(epochs=1), folds(2, 10)[:1], [0])


def test_splits_that_cannot_be_trained() -> None:
    graphs, few = some_graphs(10), torch.arange(1)
    with pytest.raises(InvalidParameterError, match="at least two graphs"):
        train(graphs, CLIP4, Recipe(epochs=1), [Split(few, few + 1)], [0])
    with pytest.raises(InvalidParameterError, match="seed for each split"):
        train(graphs, CLIP4, Recipe(epochs=1), folds(2, 10), [0])


@pytest.mark.parametrize("metric", ["roc-auc", "average-precision"])
def test_parts_on_which_a_metric_is_not_defined(metric: str) -> None:
    graphs = some_graphs(10)  # classes alternate
    recipe = Recipe(epochs=1, metric=metric)
    with pytest.raises(InvalidParameterError, match=r"Split 0: test must have .* two classes"):
        train(graphs, BLIND, recipe, [Split(range(6), [6, 8])], [0])
    with pytest.raises(InvalidParameterError, match="Split 0: validation"):
        train(graphs, BLIND, recipe, [Split(range(6), [6, 7], [9])], [0])


def test_training_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="clipgnn"):
        train(some_graphs(10), BLIND, Recipe(epochs=1), folds(2, 10)[:1], [0])
    assert caplog.records == []
