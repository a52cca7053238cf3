"""The one seam to training: trials of the smoke test are really trained."""

import re
from dataclasses import fields
from math import isfinite

import pytest
from tests.experiments.fake_training import on_real_data
from tests.training.examples import some_graphs

from clipgnn.experiments import catalog
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.jobs import Job, attempt
from clipgnn.experiments.reading import find_spec, parse_spec, read_spec
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.spec import Overrides
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import run_trials
from clipgnn.nn.activation import ACTIVATIONS

training = pytest.importorskip("clipgnn.training")
datasets = pytest.importorskip("clipgnn.datasets.registry")


def test_the_catalog_knows_the_data_sets_and_the_recipe():
    assert set(catalog.DATASETS) == set(datasets.DATASET_NAMES)
    recipe = {field.name: field.default for field in fields(training.Recipe)}
    assert {key: rule.default for key, rule in catalog.RECIPE.items()} == recipe


def test_the_catalog_knows_the_networks_and_their_parameters():
    networks = pytest.importorskip("clipgnn.training.models").NETWORKS
    trained = {name: model for name, model in catalog.MODELS.items() if model.trained}
    assert trained.keys() == networks.keys()
    for name, network in networks.items():
        assert set(trained[name].parameters) == set(network.parameters)
    assert set(catalog.ACTIVATIONS) == set(ACTIVATIONS)


def _edges(rule: catalog.Rule) -> list[catalog.Value]:
    """The first and last values that a rule accepts."""
    if rule.kind is bool:
        return [False, True]
    step = 1 if rule.kind is int else 1e-3
    ends = [
        rule.least,
        None if rule.above is None else rule.above + step,
        None if rule.below is None else rule.below - step,
    ]
    edges = [*rule.words, *(end for end in ends if end is not None)]
    assert edges
    assert all(map(rule.accepts, edges))
    return edges


@pytest.mark.parametrize(
    ("model", "key", "value"),
    [
        (name, key, value)
        for name, model in catalog.MODELS.items()
        if model.trained
        for key, rule in model.rules.items()
        if key != "num_colors"  # which must do for the data
        for value in _edges(rule)
    ],
)
def test_what_the_catalog_accepts_can_be_trained(monkeypatch, model, key, value):
    monkeypatch.setattr("clipgnn.experiments.trial.load", lambda dataset, data: some_graphs(40))
    content = {"datasets": ["csl"], "models": [{"model": model}], "grid": {"epochs": 1, key: value}}
    [result] = run_trials(parse_spec(content, "a", "a.toml").trials()[:1])
    assert all(map(isfinite, [*result.train_loss, *result.test_score]))


@pytest.mark.parametrize(("model", "engines"), [("gin", [3]), ("ring-gnn", [1, 1, 1])])
def test_folds_are_one_computation_where_the_catalog_says_so(monkeypatch, model, engines):
    loop = pytest.importorskip("clipgnn.training.loop")
    built = []

    class Spy(loop.Engine):
        def __init__(self, graphs, spec, recipe, splits, *rest):
            built.append(len(splits))
            super().__init__(graphs, spec, recipe, splits, *rest)

    monkeypatch.setattr(loop, "Engine", Spy)
    content = {"datasets": ["csl"], "models": [{"model": model}], "grid": {"epochs": 1}}
    run_trials(parse_spec(content, "a", "a.toml").trials()[:3])
    assert built == engines


def test_small_networks_train_together_what_they_train_alone():
    content = {"epochs": 2, "num_layers": 1, "hidden_channels": 4, "dropout": 0.5}
    models = [{"model": "gin"}]
    tasks = ["triangle-freeness"]
    spec = parse_spec({"datasets": tasks, "models": models, "grid": content}, "a", "a.toml")
    trials = spec.trials()[:2]
    results = run_trials(trials)
    assert [result.trial for result in results] == [trial.identity for trial in trials]
    for trial, result in zip(trials, results, strict=True):
        [alone] = run_trials([trial])
        assert result.train_loss == pytest.approx(alone.train_loss, rel=1e-4)


@pytest.mark.parametrize("protocol", ["gin", "fair"])
def test_trials_are_trained(protocol):
    spec = Overrides(protocol=protocol, models=["1-CLIP"])(read_spec(find_spec("smoke")))
    trials = spec.trials()[:2]
    outcome = attempt(run_trials, Job(tuple(trials)))
    assert outcome.error == ""
    for result in outcome.results:
        assert len(result.train_loss) == len(result.test_score) == 2
        assert all(0 <= score <= 1 for score in result.test_score)
        assert len(result.validation_score) == (2 if protocol == "fair" else 0)
        assert result.seconds > 0
        assert result.versions["torch"]
    # alone it is the same, to the last bit
    [alone] = run_trials(trials[1:])
    assert alone.train_loss == outcome.results[1].train_loss
    assert alone.test_score == outcome.results[1].test_score


def test_training_that_diverges_is_never_a_result(tmp_path):
    content = {"epochs": 2, "num_layers": 1, "hidden_channels": 4, "learning_rate": 1e30}
    models = [{"model": "clip", "num_colorings": 1}]
    text = {"datasets": ["csl"], "models": models, "grid": content, "folds": 2}
    spec = on_real_data(parse_spec(text, "a", "a.toml"))
    with Store(tmp_path / "a.sqlite", create=True) as store:
        progress = run_experiment(spec, store, InProcessExecutor(run_trials))
        assert (progress.finished, progress.failed, progress.diverged) == (0, 0, 2)
        assert store.results() == store.failures() == {}
        reasons = [own.error for own in store.diverged().values()]
    assert len(reasons) == 2
    assert all(
        re.fullmatch(r"diverged in epoch [12], learning rate 1e\+30", own) for own in reasons
    )
