"""Estimators on graphs on disk."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.estimators.examples import FAST, rings_and_chains

from clipgnn import CLIPClassifier, CLIPEmbedding, CLIPRegressor, PackedGraphs
from clipgnn.errors import InvalidParameterError
from clipgnn.estimators.base import _sample
from clipgnn.estimators.stored import scaling_of, validation_graphs
from clipgnn.graphs.storage.stored import StoredGraphs, TargetNames, save_graphs

GRAPHS, CLASSES = rings_and_chains(24)
SHORT: dict[str, Any] = {**FAST, "epochs": 3}


def _classes(folder: Path) -> StoredGraphs:
    y = [int(own == "ring") for own in CLASSES]
    graphs = PackedGraphs.from_networkx(GRAPHS, y=y)
    return save_graphs(graphs, folder, TargetNames(("shape",), ("chain", "ring")))


def _numbers(folder: Path, columns: int | None = None) -> StoredGraphs:
    y = torch.randn(len(GRAPHS), columns or 1, generator=torch.Generator().manual_seed(0)) * 3 + 5
    y[::7] = torch.nan
    graphs = PackedGraphs.from_networkx(GRAPHS)
    return replace(graphs, y=y if columns else y[:, 0]).save(folder)


def test_a_classifier_is_that_of_graphs_in_memory(tmp_path: Path) -> None:
    stored = _classes(tmp_path)
    expected = CLIPClassifier(**SHORT).fit(GRAPHS, CLASSES)
    found = CLIPClassifier(**SHORT).fit(stored)
    assert found.classes_.tolist() == ["chain", "ring"]
    assert found.target_names_ == ["shape"]
    assert np.array_equal(found.predict_proba(stored), expected.predict_proba(GRAPHS))
    assert np.array_equal(found.predict_proba(GRAPHS), expected.predict_proba(stored))


@pytest.mark.parametrize("columns", [None, 2])
def test_a_regressor_is_that_of_graphs_in_memory(tmp_path: Path, columns: int | None) -> None:
    stored = _numbers(tmp_path, columns)
    targets = stored.load().targets
    expected = CLIPRegressor(**SHORT).fit(GRAPHS, targets)
    found = CLIPRegressor(**SHORT).fit(stored)
    assert found.target_mean_ == pytest.approx(expected.target_mean_, rel=1e-6)
    assert found.target_scale_ == pytest.approx(expected.target_scale_, rel=1e-6)
    assert found.predict(stored) == pytest.approx(expected.predict(GRAPHS), rel=1e-3, abs=1e-3)


def test_scaling_over_several_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clipgnn.graphs.storage.stored.SHARD_GRAPHS", 5)
    stored = _numbers(tmp_path, 2)
    assert len(stored.records) == 5
    mean, scale = scaling_of(stored)
    targets = stored.load().targets.double().numpy()
    assert mean == pytest.approx(np.nanmean(targets, axis=0))
    assert scale == pytest.approx(np.nanstd(targets, axis=0))


def test_an_embedding_is_trained_with_the_targets(tmp_path: Path) -> None:
    stored = _classes(tmp_path)
    embedding = CLIPEmbedding(**SHORT).fit(stored)
    expected = CLIPEmbedding(**SHORT).fit(GRAPHS, CLASSES)
    assert np.array_equal(embedding.transform(stored), expected.transform(GRAPHS))


def test_training_continues_with_graphs_on_disk(tmp_path: Path) -> None:
    stored = _classes(tmp_path)
    model = CLIPClassifier(**{**SHORT, "warm_start": True}).fit(GRAPHS, CLASSES).fit(stored)
    assert model.history_[0].curves.epochs == 6


def test_validation_graphs_are_distinct_and_random() -> None:
    found = validation_graphs(1000, 0.2, seed=0)
    assert found.unique().numel() == 200
    assert torch.equal(found, validation_graphs(1000, 0.2, seed=0))
    assert not torch.equal(found, validation_graphs(1000, 0.2, seed=1))
    counts = torch.stack(
        [torch.bincount(validation_graphs(20, 0.5, s), minlength=20) for s in range(300)]
    )
    assert counts.sum(0).min() > 100  # 150 expected
    assert validation_graphs(10**9, 0.5, seed=0).numel() == 2**16


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, "a", True, 1e-6, 0.9999])
def test_impossible_validation_fractions(fraction: Any) -> None:
    with pytest.raises(InvalidParameterError, match="validation_fraction must"):
        validation_graphs(24, fraction, seed=0)


def test_checkpoints_and_early_stopping(tmp_path: Path) -> None:
    stored = _classes(tmp_path / "graphs")
    settings = {**SHORT, "validation_fraction": 0.25, "patience": 1, "max_nodes": 40}
    folder = tmp_path / "checkpoints"
    model = CLIPClassifier(**settings, checkpoint=folder).fit(stored)
    again = CLIPClassifier(**settings, checkpoint=folder).fit(stored)
    assert model.history_[0].validation_score == again.history_[0].validation_score
    assert np.array_equal(model.predict_proba(stored), again.predict_proba(stored))
    with pytest.raises(InvalidParameterError, match="must be a checkpoint of this training"):
        CLIPClassifier(**{**settings, "random_state": 1}, checkpoint=folder).fit(stored)


def test_wrong_targets(tmp_path: Path) -> None:
    classes, numbers = _classes(tmp_path / "classes"), _numbers(tmp_path / "numbers")
    with pytest.raises(InvalidParameterError, match=r"must be classes\. They are numbers"):
        CLIPClassifier(**SHORT).fit(numbers)
    with pytest.raises(InvalidParameterError, match=r"must be numbers\. They are classes"):
        CLIPRegressor(**SHORT).fit(classes)
    with pytest.raises(InvalidParameterError, match="y must be None for graphs on disk"):
        CLIPClassifier(**SHORT).fit(classes, CLASSES)
    none = PackedGraphs.from_networkx(GRAPHS).save(tmp_path / "none")
    for model in (CLIPClassifier(**SHORT), CLIPRegressor(**SHORT), CLIPEmbedding(**SHORT)):
        with pytest.raises(InvalidParameterError, match="must have targets"):
            model.fit(none)
    with pytest.raises(InvalidParameterError, match="node_attributes must not be given if X is a"):
        CLIPClassifier(**SHORT, node_attributes=["letter"]).fit(classes)


def test_the_first_graph_can_be_without_nodes(tmp_path: Path) -> None:
    plain = [nx.path_graph(own % 4 + 2) for own in range(11)]
    graphs = PackedGraphs.from_networkx([nx.empty_graph(0), *plain], y=[0, 1] * 6)
    stored = graphs.save(tmp_path)
    assert stored.example().x.shape[0] > 0
    expected = CLIPClassifier(**SHORT).fit(graphs, graphs.targets)
    found = CLIPClassifier(**SHORT).fit(stored)
    assert np.array_equal(found.predict_proba(stored), expected.predict_proba(graphs))


def test_three_fits_with_checkpoints(tmp_path: Path) -> None:
    settings = {**SHORT, "epochs": 1, "warm_start": True, "checkpoint": tmp_path / "kept"}
    model = CLIPClassifier(**settings)
    for _ in range(3):
        model.fit(GRAPHS, CLASSES)
    assert model.history_[0].curves.epochs == 3


def test_checkpoints_need_a_seed(tmp_path: Path) -> None:
    model = CLIPClassifier(**{**SHORT, "random_state": None}, checkpoint=tmp_path)
    with pytest.raises(InvalidParameterError, match="random_state must be an integer"):
        model.fit(GRAPHS, CLASSES)


def test_classes_without_a_name(tmp_path: Path) -> None:
    y = [own % 3 for own in range(len(GRAPHS))]
    graphs = PackedGraphs.from_networkx(GRAPHS, y=y)
    stored = save_graphs(graphs, tmp_path, TargetNames(("shape",), ("chain", "ring")))
    with pytest.raises(InvalidParameterError, match="must have a name for each class"):
        CLIPClassifier(**SHORT).fit(stored)


def test_samples_of_very_many_graphs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Floats do not have all indices above 2^24."""
    stored, chosen = _classes(tmp_path), []

    def take(graphs: StoredGraphs, own: torch.Tensor) -> PackedGraphs:
        chosen.append(own)
        return graphs.load()

    monkeypatch.setattr(StoredGraphs, "__getitem__", take)
    monkeypatch.setattr("clipgnn.estimators.base.len", lambda _: 10**8, raising=False)
    _sample(stored)
    assert (int(chosen[0][0]), int(chosen[0][-1])) == (0, 10**8 - 1)
