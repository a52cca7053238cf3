"""Models and predictions that an experiment keeps are those that it measured."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.experiments.fake_training import on_real_data
from tests.training.examples import some_graphs

from clipgnn.errors import InvalidExperimentError
from clipgnn.experiments.artifacts import load_model, load_predictions
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.data import Loaded
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.work import run_trials

CONTENT: dict[str, Any] = {
    "datasets": ["csl"],
    "folds": 4,
    "protocol": "fair",
    "grid": {"epochs": 3, "batch_size": 8},
    "models": [
        {
            "name": "kept",
            "model": "gin",
            "hidden_channels": [4, 8],
            "keep_models": True,
            "keep_predictions": True,
        },
        {"name": "not kept", "model": "gin", "hidden_channels": 5},
    ],
}


@pytest.fixture
def experiment(monkeypatch: pytest.MonkeyPatch) -> Experiment:
    graphs = some_graphs(40)
    loaded = Loaded(graphs, 40, None)
    monkeypatch.setattr("clipgnn.experiments.work.load", lambda trial, root: loaded)
    return on_real_data(parse_experiment(CONTENT, "kept", "kept.toml"))


def test_kept_models_predict_the_recorded_scores(experiment: Experiment, tmp_path: Path) -> None:
    graphs = some_graphs(40)
    with Store(tmp_path / "kept.sqlite", create=True) as store:
        run_experiment(experiment, store, InProcessExecutor(run_trials))
        results = store.results()
    kept = [trial for trial in experiment.trials() if trial.keep_model]
    assert len(kept) == 8
    assert len(list((tmp_path / "kept.sqlite.models").iterdir())) == 8
    for trial in kept:
        model = load_model(tmp_path / "kept.sqlite", trial)
        predictions = load_predictions(tmp_path / "kept.sqlite", trial)
        curves = results[trial.identity].curves
        test = torch.from_numpy(predictions.graphs)
        probabilities = model.predict(graphs).softmax(1)[test]
        np.testing.assert_allclose(probabilities.numpy(), predictions.last, rtol=1e-4, atol=1e-6)
        targets = graphs.targets[test].numpy()
        np.testing.assert_array_equal(predictions.targets, targets)
        assert np.mean(predictions.last.argmax(1) == targets) == pytest.approx(
            curves.test_score[-1]
        )
        assert predictions.best is not None
        best = curves.test_score[curves.best_validation_epoch]
        assert np.mean(predictions.best.argmax(1) == targets) == pytest.approx(best)


def test_what_is_kept_is_read_back_from_the_store(experiment: Experiment) -> None:
    again = parse_experiment(experiment.content(), "kept", "kept.sqlite")
    assert again.rows == experiment.rows
    assert [trial.keep_model for trial in again.trials()] == [
        trial.keep_model for trial in experiment.trials()
    ]


def test_a_kernel_has_nothing_to_keep() -> None:
    everything = {**CONTENT, "keep_models": True, "models": [{"model": "wl"}, {"model": "gin"}]}
    rows = parse_experiment(everything, "kept", "kept.toml").rows
    assert [row.keep_models for row in rows] == [False, True]
    with pytest.raises(InvalidExperimentError, match="keep_models: must be false, or absent"):
        parse_experiment(
            {**CONTENT, "models": [{"model": "wl", "keep_models": True}]}, "kept", "kept.toml"
        )
    with pytest.raises(InvalidExperimentError, match="keep_models: must be true or false"):
        parse_experiment({**CONTENT, "keep_models": "yes"}, "kept", "kept.toml")


def test_options_of_data_sets() -> None:
    named = {**CONTENT, "datasets": ["MUTAG@edge_labels", "tu:NCI1@edge_labels@node_attributes"]}
    datasets = parse_experiment(named, "options", "options.toml").datasets
    assert datasets == ("MUTAG@edge_labels", "tu:NCI1@edge_labels@node_attributes")
    for wrong, message in (
        ("MUTAG@edge_label", "must be one of edge_labels, node_attributes"),
        ("csl@edge_labels", "must be one of MUTAG, PTC_MR"),
        ("MUTAG@", "must be one of edge_labels, node_attributes"),
    ):
        with pytest.raises(InvalidExperimentError, match=message):
            parse_experiment({**CONTENT, "datasets": [wrong]}, "options", "options.toml")
