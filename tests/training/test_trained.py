"""Trained models: prediction, scores, summaries, saving."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.optional import marks_of
from tests.training.examples import (
    BLIND,
    CLIP4,
    SPECS,
    every_network,
    folds,
    multitask,
    regressed,
    rings,
    some_graphs,
)

import clipgnn
from clipgnn.curves import Curves
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training import History, ModelSpec, Recipe, Summary, TrainedModel, TrainedModels, train

SHORT = Recipe(epochs=3, batch_size=8)
ALL = ModelSpec("clip", {"hidden_channels": 4, "num_layers": 1, "coloring": "all"})
DETERMINISTIC = [BLIND, *(spec for spec in SPECS if spec.name not in ("clip", "rp-gin"))]


def _trained(spec: ModelSpec, graphs: PackedGraphs, recipe: Recipe = SHORT) -> TrainedModel:
    return train(graphs, spec, recipe, folds(3, len(graphs))[:1], [1])[0]


def _small(graphs: PackedGraphs) -> PackedGraphs:
    """Graphs with few enough colorings to use all of them."""
    counts = graphs.node_pointers.diff()
    return graphs.subset((counts <= 5).nonzero()[:, 0])


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    "spec", [pytest.param(spec, marks=marks_of(spec.name), id=spec.name) for spec in DETERMINISTIC]
)
def test_the_model_predicts_the_last_test_outputs(spec: ModelSpec, together: bool) -> None:
    graphs, splits = some_graphs(24), folds(3, 24)
    for trained, split in zip(
        train(graphs, spec, SHORT, splits, [1, 2, 3], together=together), splits, strict=True
    ):
        outputs = trained.model.predict(graphs)[split.test]
        torch.testing.assert_close(outputs, trained.test_outputs, rtol=1e-9, atol=1e-9)
        own = graphs.subset(split.test)
        torch.testing.assert_close(trained.model.predict(own), outputs, rtol=1e-9, atol=1e-9)
        right = (outputs.argmax(1) == graphs.targets[split.test]).double().mean()
        assert trained.score == trained.history.test_score[-1] == pytest.approx(float(right))


@pytest.mark.usefixtures("double")
def test_all_colorings_predict_the_last_test_outputs() -> None:
    graphs = _small(some_graphs(60))
    split = folds(3, len(graphs))[0]
    [trained] = train(graphs, ALL, SHORT, [split], [1])
    outputs = trained.model.predict(graphs)[split.test]
    torch.testing.assert_close(outputs, trained.test_outputs, rtol=1e-9, atol=1e-9)


@every_network
def test_the_model_is_ready_to_use(spec: ModelSpec) -> None:
    graphs = some_graphs(24)
    trained = _trained(spec, graphs)
    assert trained.recipe == SHORT
    assert not trained.model.training
    assert trained.model.config.num_members == 1
    assert all(parameter.requires_grad for parameter in trained.model.parameters())
    assert not trained.test_outputs.requires_grad
    unknown = replace(graphs, y=None)
    assert torch.equal(trained.predict(unknown, seed=4), trained.predict(graphs, seed=4))


@every_network
def test_a_saved_model_predicts_the_same(spec: ModelSpec, tmp_path: Path) -> None:
    graphs = some_graphs(24)
    trained = _trained(spec, graphs)
    path = tmp_path / "model.safetensors"
    clipgnn.save(trained.model, path)
    loaded = clipgnn.load(path)
    assert torch.equal(loaded.predict(graphs, seed=3), trained.model.predict(graphs, seed=3))
    [continued] = train(graphs, loaded, SHORT, folds(3, 24)[:1], [2])
    [same] = train(graphs, trained.model, SHORT, folds(3, 24)[:1], [2])
    assert continued.history.train_loss == same.history.train_loss


def test_random_colorings_are_drawn_from_the_seed() -> None:
    graphs = rings(24)
    trained = _trained(CLIP4, graphs)
    first, again, other = (trained.predict_proba(graphs, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_classes() -> None:
    graphs = some_graphs(24)
    trained = _trained(BLIND, graphs)
    outputs, probabilities = trained.model.predict(graphs), trained.predict_proba(graphs)
    assert probabilities.shape == (24, 2)
    torch.testing.assert_close(probabilities, outputs.softmax(1))
    predicted = trained.predict(graphs)
    assert (predicted.dtype, predicted.shape) == (torch.int64, (24,))
    assert torch.equal(predicted, probabilities.argmax(1))
    torch.testing.assert_close(trained.as_predictions(outputs), probabilities)


def test_binary_targets() -> None:
    graphs = multitask(some_graphs(24))
    trained = _trained(BLIND, graphs, replace(SHORT, loss="binary-cross-entropy"))
    outputs, probabilities = trained.model.predict(graphs), trained.predict_proba(graphs)
    assert probabilities.shape == (24, 3)
    torch.testing.assert_close(probabilities, outputs.sigmoid())
    predicted = trained.predict(graphs)
    assert (predicted.dtype, predicted.shape) == (torch.int64, (24, 3))
    assert torch.equal(predicted == 1, probabilities > 0.5)


@pytest.mark.parametrize("num_targets", [None, 2])
def test_numbers(num_targets: int | None) -> None:
    graphs = regressed(some_graphs(24), num_targets)
    trained = _trained(BLIND, graphs, replace(SHORT, loss="squared-error"))
    predicted = trained.predict(graphs)
    assert predicted.shape == (24, num_targets or 1)
    assert torch.equal(predicted, trained.model.predict(graphs))
    assert torch.equal(trained.as_predictions(predicted), predicted)
    with pytest.raises(InvalidParameterError, match="Got a model for numbers"):
        trained.predict_proba(graphs)


@pytest.mark.usefixtures("double")
def test_float64() -> None:
    trained = _trained(CLIP4, some_graphs(24))
    assert trained.test_outputs.dtype == torch.float64
    assert trained.predict_proba(some_graphs(24)).dtype == torch.float64
    assert all(weight.dtype == torch.float64 for weight in trained.model.parameters())


def _model(
    scores: list[float],
    *,
    diverged: str | None = None,
    best_epoch: int | None = None,
    patience: int | None = None,
) -> TrainedModel:
    history = History(Curves(scores, scores, diverged=diverged), best_epoch)
    network = clipgnn.CLIP(1, 2)
    recipe = Recipe(patience=patience)
    return TrainedModel(network, history, recipe, "classes", torch.zeros(1, 2), None)


def test_the_score_is_that_of_the_model() -> None:
    assert _model([0.5, 0.75, 0.25], best_epoch=2).score == 0.25
    assert _model([0.5, 0.75, 0.25], best_epoch=2, patience=1).score == 0.75
    assert _model([0.5, 0.75, 0.25], patience=1).score == 0.25
    assert np.isnan(_model([0.5, 0.75], diverged="diverged in epoch 3").score)
    assert np.isnan(_model([], diverged="diverged in epoch 1").score)


def test_summary() -> None:
    models = TrainedModels([_model([score]) for score in (0.5, 0.75, 1.0)])
    summary = models.summary()
    assert summary == Summary("accuracy", (0.5, 0.75, 1.0), 0)
    assert summary.mean == 0.75
    assert summary.std == pytest.approx(np.std([0.5, 0.75, 1.0]))
    assert str(summary) == "accuracy 0.7500 ± 0.2041 (3 models)"
    assert repr(models) == "TrainedModels(accuracy 0.7500 ± 0.2041 (3 models))"


def test_summary_without_models_that_diverged() -> None:
    broken = _model([0.1], diverged="diverged in epoch 2")
    summary = TrainedModels([_model([0.5]), broken]).summary()
    assert summary == Summary("accuracy", (0.5,), 1)
    assert str(summary) == "accuracy 0.5000 ± 0.0000 (1 model), 1 diverged"
    nothing = TrainedModels([broken]).summary()
    assert np.isnan(nothing.mean)
    assert np.isnan(nothing.std)


def test_trained_models_are_a_sequence() -> None:
    models = TrainedModels([_model([score]) for score in (0.5, 0.75, 1.0)])
    assert len(models) == 3
    assert [trained.score for trained in models] == [0.5, 0.75, 1.0]
    assert models[-1] is models[2]
    assert isinstance(models[1:], TrainedModels)
    assert models[1:].summary().scores == (0.75, 1.0)
    assert models.histories == [trained.history for trained in models]
    assert models[0] in models


def test_models_are_in_the_order_of_their_splits() -> None:
    """Also where they train in groups with different numbers of steps."""
    graphs = some_graphs(24)
    sizes = (8, 16, 8, 4, 16)
    splits = [
        clipgnn.Split(range(size), range(16, 16 + place + 1)) for place, size in enumerate(sizes)
    ]
    recipe = Recipe(epochs=1, batch_size=4)
    for together in (False, True):
        models = train(graphs, BLIND, recipe, splits, list(range(5)), together=together)
        assert [trained.test_outputs.shape[0] for trained in models] == [1, 2, 3, 4, 5]
