"""CLIPEmbedding: vectors of graphs, with and without targets."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.estimators.examples import FAST, rings_and_chains

from clipgnn import CLIP, CLIPEmbedding, PackedGraphs
from clipgnn.errors import InvalidParameterError

GRAPHS, CLASSES = rings_and_chains()


def test_vectors_are_those_of_embed() -> None:
    model = CLIPEmbedding(**{**FAST, "num_colorings": 0}).fit(GRAPHS, CLASSES)
    packed = PackedGraphs.from_networkx(GRAPHS)
    batch = packed.to_batch()
    with torch.no_grad():
        network = cast(CLIP, model.models_[0])
        expected = network.embed(batch.x, batch.edge_index, batch.graph_of_node)
    np.testing.assert_allclose(model.transform(GRAPHS), expected.numpy(), atol=1e-5)


def test_a_pipeline_with_a_linear_classifier() -> None:
    pipeline = make_pipeline(CLIPEmbedding(**FAST), LogisticRegression())
    assert pipeline.fit(GRAPHS, CLASSES).score(GRAPHS, CLASSES) > 0.9


def test_without_targets_weights_are_random() -> None:
    model = CLIPEmbedding(**{**FAST, "num_colorings": 0, "hidden_channels": 64}).fit(GRAPHS)
    assert model.history_ == []
    vectors = model.transform(GRAPHS)
    assert len(np.unique(vectors.round(5), axis=0)) == 10  # five sizes of two kinds
    other = CLIPEmbedding(**{**FAST, "num_colorings": 0, "hidden_channels": 64, "random_state": 1})
    assert not np.allclose(other.fit_transform(GRAPHS), vectors)


def test_numbers_as_targets() -> None:
    sizes = [len(graph) + 0.5 for graph in GRAPHS]
    model = CLIPEmbedding(**{**FAST, "epochs": 3}).fit(GRAPHS, sizes)
    assert model.history_[0].metric == "rmse"


def test_networks_are_concatenated_and_draws_averaged() -> None:
    model = CLIPEmbedding(**FAST, n_ensemble=3, n_draws=2).fit(GRAPHS)
    vectors = model.transform(GRAPHS)
    assert vectors.shape == (len(GRAPHS), 24)
    assert model.get_feature_names_out()[:2].tolist() == ["clipembedding0", "clipembedding1"]
    assert len(model.get_feature_names_out()) == 24
    np.testing.assert_allclose(model.transform(GRAPHS[:1]), vectors[:1], atol=1e-5)
    assert not np.allclose(vectors[:, :8], vectors[:, 8:16])


@pytest.mark.parametrize("with_targets", [True, False])
def test_saving(with_targets: bool, tmp_path: Path) -> None:
    parameters = {**FAST, "epochs": 2}
    model = CLIPEmbedding(**parameters, n_ensemble=2).fit(GRAPHS, CLASSES if with_targets else None)
    model.save(tmp_path / "model.safetensors")
    loaded = CLIPEmbedding.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.transform(GRAPHS), model.transform(GRAPHS))
    assert len(loaded.get_feature_names_out()) == 16


@pytest.mark.parametrize("y", [CLASSES, [len(graph) + 0.5 for graph in GRAPHS]])
def test_warm_start_continues_also_after_loading(y: list[Any], tmp_path: Path) -> None:
    model = CLIPEmbedding(**{**FAST, "epochs": 3}, warm_start=True).fit(GRAPHS, y)
    first = model.history_[0].train_loss
    model.save(tmp_path / "model")
    loaded = CLIPEmbedding.load(tmp_path / "model")
    assert model.fit(GRAPHS, y).history_[0].train_loss[3] < first[0]
    assert loaded.fit(GRAPHS, y).history_[0].train_loss == model.history_[0].train_loss
    other = [0.5, 1.5] * 12 if y is CLASSES else CLASSES
    with pytest.raises(InvalidParameterError, match="as in the first call of fit"):
        model.fit(GRAPHS, other)


def test_warm_start_without_targets_draws_weights() -> None:
    model = CLIPEmbedding(**{**FAST, "epochs": 2}, warm_start=True).fit(GRAPHS)
    expected = model.transform(GRAPHS)
    np.testing.assert_array_equal(model.fit(GRAPHS).transform(GRAPHS), expected)
    with pytest.raises(InvalidParameterError, match="but for none before"):
        model.fit(GRAPHS, CLASSES)


def test_names_of_features_are_those_of_the_networks() -> None:
    model = CLIPEmbedding(**FAST).fit(GRAPHS).set_params(hidden_channels=99)
    assert len(model.get_feature_names_out()) == FAST["hidden_channels"]


def test_missing_numbers_as_targets() -> None:
    sizes = [np.nan, *(float(len(graph)) for graph in GRAPHS[1:])]
    model = CLIPEmbedding(**{**FAST, "epochs": 1}).fit(GRAPHS, sizes)
    assert model.history_[0].metric == "rmse"


def test_bad_parameters() -> None:
    with pytest.raises(InvalidParameterError, match="n_ensemble must be an integer"):
        CLIPEmbedding(**FAST, n_ensemble=0).fit(GRAPHS)
