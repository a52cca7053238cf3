"""The script in results/ that predicts with stored models in several draws of colorings."""

import json
import sys
from pathlib import Path

import pytest
import torch
from results import draws

from clipgnn.datasets.registry import load_dataset
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.data import FRESH_SEED
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.preparing import prepare_experiment
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.work import run_trials
from clipgnn.graphs.packed import PackedGraphs


def test_numbers_of_classes() -> None:
    # three draws of two graphs of class 0: right twice, once, and never
    right, wrong = [0.9, 0.1], [0.4, 0.6]
    outputs = torch.tensor([[right, right], [right, wrong], [wrong, wrong]])
    found = draws.numbers_of(outputs, torch.tensor([0, 0]))
    assert found["one_draw"] == pytest.approx(0.5)
    assert found["deviation"] == pytest.approx((1 / 6) ** 0.5)
    assert found["mean_of_draws"] == 1
    assert found["spread"] == pytest.approx(2 / 3)


def test_numbers_of_a_regression() -> None:
    outputs = torch.tensor([[[0.0], [1.0]], [[2.0], [1.0]]])
    found = draws.numbers_of(outputs, torch.tensor([1.0, 1.0]))
    assert found == {"one_draw": 0.5, "deviation": 0.0, "mean_of_draws": 0.0, "spread": 0.5}


def test_fresh_graphs_of_a_counting_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are predicted with `--fresh`, although no trial scored them."""
    row = {"model": "clip", "num_colorings": 1, "hidden_channels": 4, "num_layers": 1}
    content = {
        "datasets": ["count-stars", "count-triangles"],
        "folds": 2,
        "first_folds": 1,
        "protocol": "last",
        "keep_models": True,
        "keep_predictions": True,
        "grid": {"epochs": 1, "batch_size": 256, "loss": "absolute-error"},
        "models": [{**row, "name": "CLIP"}],
    }
    experiment = prepare_experiment(parse_experiment(content, "e", "e.toml"), RunOptions())
    path, output = tmp_path / "store.sqlite", tmp_path / "draws.json"
    with Store(path, create=True) as store:
        run_experiment(experiment, store, InProcessExecutor(run_trials))
    loaded = []

    def load(name: str, seed: int) -> PackedGraphs:
        loaded.append((name, seed))
        return load_dataset(name, seed=seed)

    monkeypatch.setattr(draws, "load_dataset", load)
    arguments = ["draws", str(path), "--draws", "2", "--output", str(output), "--fresh"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--datasets", "count-stars", "csl"])
    with pytest.raises(SystemExit):
        draws.main()
    assert "--datasets must be among ['count-stars'" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", [*arguments, "--datasets", "count-stars"])
    draws.main()
    assert loaded == [("count-stars", FRESH_SEED)]
    [found] = json.loads(output.read_text())["datasets"].values()
    test, fresh = (found["CLIP"][part]["one_draw"] for part in ("test", "fresh"))
    assert test != fresh
    assert fresh == pytest.approx(test, rel=0.1)


def test_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"model": "clip", "hidden_channels": 4, "num_layers": 1}
    content = {
        "datasets": ["csl"],
        "folds": 3,
        "protocol": "last",
        "fresh": True,
        "keep_models": True,
        "keep_predictions": True,
        "grid": {"epochs": 2},
        "models": [
            {**row, "name": "random", "num_colorings": 1},
            {**row, "name": "canonical", "num_colorings": 1, "coloring": "canonical"},
            {**row, "name": "several configurations", "num_colorings": [1, 2]},
        ],
    }
    experiment = prepare_experiment(parse_experiment(content, "e", "e.toml"), RunOptions())
    path, output = tmp_path / "store.sqlite", tmp_path / "draws.json"
    with Store(path, create=True) as store:
        run_experiment(experiment, store, InProcessExecutor(run_trials))
        results = [store.results()[trial.identity] for trial in experiment.trials()[:3]]
    monkeypatch.setattr(sys, "argv", ["draws", str(path), "--draws", "3", "--output", str(output)])
    draws.main()
    found = json.loads(output.read_text())["datasets"]["csl"]
    assert found.keys() == {"random", "canonical"}
    assert found["random"]["trials"] == 3
    seconds = sum(result.seconds for result in results) / 3
    assert found["random"]["training_seconds"] == pytest.approx(seconds)
    for part in ("test", "fresh"):
        assert found["random"][part]["spread"] > 0
        assert found["canonical"][part]["spread"] == 0
        numbers = found["canonical"][part]
        assert numbers["one_draw"] == pytest.approx(numbers["mean_of_draws"])
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--processes", "2"])
    draws.main()
    assert json.loads(output.read_text())["datasets"]["csl"] == found


def test_fresh_graphs_of_a_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A data set that is not generated has the same graphs for all seeds, those trained on too."""
    file = tmp_path / "e.toml"
    file.write_text(
        'datasets = ["csl", "MUTAG"]\nprotocol = "last"\n'
        '[[models]]\nname = "CLIP"\nmodel = "clip"\n'
    )
    path, output = tmp_path / "store.sqlite", tmp_path / "draws.json"
    Store(path, create=True).close()
    arguments = ["draws", str(path), "--experiment", str(file), "--output", str(output), "--fresh"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        draws.main()
    message = capsys.readouterr().err
    assert "--fresh requires data sets that are generated from a seed. Got MUTAG." in message
