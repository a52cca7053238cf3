"""Files of trained models: the loaded model predicts as the saved one did."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from tests.training.examples import (
    BLIND,
    CLIP4,
    every_network,
    folds,
    multitask,
    regressed,
    some_graphs,
)
from torch import Tensor
from torch.nn import functional

import clipgnn
from clipgnn import ModelSpec, PackedGraphs, Random, Recipe, Split, TrainedModel, train
from clipgnn.errors import InvalidGraphError, InvalidParameterError, OutputError

SHORT = Recipe(epochs=2, batch_size=8)


def huber(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.huber_loss(outputs, targets, reduction="none")


def trained(graphs: PackedGraphs, recipe: Recipe = SHORT, spec: ModelSpec = BLIND) -> TrainedModel:
    return train(graphs, spec, recipe, folds(3, len(graphs))[:1], [1])[0]


def reloaded(model: TrainedModel, folder: Path) -> TrainedModel:
    path = folder / "model.safetensors"
    model.save(path)
    assert [own.name for own in folder.iterdir()] == [path.name]  # no temporary file
    return TrainedModel.load(path)


@every_network
def test_every_network_predicts_the_same(spec: ModelSpec, tmp_path: Path) -> None:
    graphs = some_graphs(24)
    model = trained(graphs, spec=spec)
    loaded = reloaded(model, tmp_path)
    assert not loaded.model.training
    assert loaded.model.config == model.model.config
    assert torch.equal(loaded.predict_proba(graphs, seed=3), model.predict_proba(graphs, seed=3))
    assert torch.equal(loaded.predict(graphs, seed=3), model.predict(graphs, seed=3))


@pytest.mark.parametrize(
    ("graphs", "recipe"),
    [
        (some_graphs(24), replace(SHORT, class_weights=(1.0, 2.0), patience=1)),
        (some_graphs(24), replace(SHORT, class_weights="balanced", metric="roc-auc")),
        (some_graphs(24), replace(SHORT, loss="binary-cross-entropy")),
        (multitask(some_graphs(24)), replace(SHORT, loss="binary-cross-entropy")),
        (regressed(some_graphs(24), 2), replace(SHORT, loss="squared-error", metric="mae")),
        (regressed(some_graphs(24)), replace(SHORT, loss="absolute-error")),
    ],
)
def test_everything_but_outputs_is_kept(
    graphs: PackedGraphs, recipe: Recipe, tmp_path: Path
) -> None:
    model = trained(graphs, recipe)
    loaded = reloaded(model, tmp_path)
    assert (loaded.task, loaded.recipe) == (model.task, model.recipe)
    assert loaded.history == model.history
    assert loaded.score == model.score
    assert torch.equal(loaded.predict(graphs), model.predict(graphs))
    assert loaded.test_outputs.shape == (0, model.test_outputs.shape[1])
    assert loaded.best_test_outputs is None
    if model.task != "numbers":
        assert torch.equal(loaded.predict_proba(graphs), model.predict_proba(graphs))


def test_a_loss_that_is_a_function_is_not_kept(tmp_path: Path) -> None:
    graphs = regressed(some_graphs(24))
    loaded = reloaded(trained(graphs, replace(SHORT, loss=huber, metric="rmse")), tmp_path)
    assert loaded.task == "numbers"
    assert loaded.recipe.metric == "rmse"
    assert loaded.predict(graphs).shape == (24, 1)
    with pytest.raises(InvalidParameterError, match=r"does not contain the function.*replace"):
        train(graphs, loaded.model, loaded.recipe, folds(3, 24)[:1], [0])
    train(graphs, loaded.model, replace(loaded.recipe, loss=huber), folds(3, 24)[:1], [0])


def test_training_continues_after_loading(tmp_path: Path) -> None:
    graphs = some_graphs(24)
    model = trained(graphs, spec=CLIP4)
    loaded = reloaded(model, tmp_path)
    [ours], [theirs] = (
        train(graphs, own.model, own.recipe, folds(3, 24)[:1], [2]) for own in (loaded, model)
    )
    assert ours.history.train_loss == theirs.history.train_loss


@pytest.mark.usefixtures("double")
def test_float64(tmp_path: Path) -> None:
    graphs = some_graphs(24)
    model = trained(graphs)
    loaded = reloaded(model, tmp_path)
    assert loaded.test_outputs.dtype == torch.float64
    assert torch.equal(loaded.predict_proba(graphs), model.predict_proba(graphs))


def test_a_model_that_diverged(tmp_path: Path) -> None:
    graphs = regressed(some_graphs(24))
    recipe = replace(SHORT, loss="squared-error", learning_rate=1e30)
    model = trained(graphs, recipe)
    assert model.history.diverged is not None
    loaded = reloaded(model, tmp_path)
    assert loaded.history == model.history


def lettered(letters: str) -> list[Any]:
    graphs = [nx.path_graph(size) for size in range(2, 12)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: letters[node % 2] for node in graph}, "letter")
    return graphs


def test_named_attributes_are_read_with_the_vocabulary_of_the_file(tmp_path: Path) -> None:
    graphs = PackedGraphs.from_networkx(lettered("ab"), y=[0, 1] * 5)
    [model] = train(graphs, BLIND, SHORT, [Split(range(10))], [0])
    assert model.encoding == graphs.encoding
    loaded = reloaded(model, tmp_path)
    assert loaded.encoding == graphs.encoding
    only_b = lettered("bb")[:2]
    same = PackedGraphs.from_networkx(only_b, encoding=loaded.encoding)
    assert torch.equal(loaded.predict(same), model.predict(same))
    other = PackedGraphs.from_networkx(lettered("xy"))
    for call in (loaded.predict, loaded.predict_proba):
        with pytest.raises(InvalidGraphError, match="encoding of the training graphs"):
            call(other)


def test_the_file_is_also_a_model_file(tmp_path: Path) -> None:
    model = trained(some_graphs(24))
    path = tmp_path / "model.safetensors"
    model.save(path)
    network = clipgnn.load(path)
    assert type(network) is clipgnn.CLIP
    assert network.config == model.model.config


@pytest.mark.usefixtures("without_shape_checks")
def test_what_cannot_be_saved(tmp_path: Path) -> None:
    class Mine(Random):
        pass

    spec = ModelSpec("clip", {**CLIP4.parameters, "coloring": Mine()})
    path = tmp_path / "model.safetensors"
    with pytest.raises(InvalidParameterError, match="coloring scheme"):
        trained(some_graphs(24), spec=spec).save(path)
    model: Any = trained(some_graphs(24))
    with pytest.raises(InvalidParameterError, match=r"path must be a str.* Got None"):
        model.save(None)
    with pytest.raises(InvalidParameterError, match=r"Got a TrainedModel\. Use its method save"):
        clipgnn.save(model, path)
    with pytest.raises(OutputError, match="Create its folder first"):
        model.save(tmp_path / "nowhere" / "model")
    assert not list(tmp_path.iterdir())
