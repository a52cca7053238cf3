"""The work of a job: trials are really trained, together or alone, with all accepted values."""

import re
from collections.abc import Sequence
from math import isfinite

import numpy as np
import pytest
from tests.experiments.fake_training import on_real_data
from tests.optional import marks_of
from tests.training.examples import some_graphs

from clipgnn.experiments import work
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.data import Loaded, load
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.jobs import Job, attempt
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.plans import stored_experiment
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.work import run_trials
from clipgnn.parameters import MODELS, NONE, Rule, Value
from clipgnn.training import loop
from clipgnn.training.engines import engine_for
from clipgnn.training.pairs import PairComparison

NEEDS_DATA = {
    "num_colors",  # enough for the largest group
    "metric",  # one that suits the loss
    "binary-cross-entropy",
    "squared-error",
    "absolute-error",
    "all",
    "orbits",
    "precomputed",
}
"""Parameters and values that need other data, or other values beside them."""


def _edges(rule: Rule) -> list[Value]:
    """The first and last values that a rule accepts."""
    if rule.kind is bool:
        return [False, True]
    step = 1 if rule.kind is int else 1e-3
    ends = [
        rule.minimum,
        None if rule.above is None else rule.above + step,
        None if rule.below is None else rule.below - step,
    ]
    edges = [*rule.words, *(end for end in ends if end is not None)]
    edges += [NONE] if rule.optional else []
    assert edges
    assert all(map(rule.accepts_toml, edges))
    return edges


@pytest.mark.parametrize(
    ("model", "key", "value"),
    [
        pytest.param(name, key, value, marks=marks_of(name))
        for name, model in MODELS.items()
        if model.trained
        for key, rule in model.rules.items()
        if key not in NEEDS_DATA
        for value in _edges(rule)
        if value not in NEEDS_DATA
    ],
)
def test_what_the_schema_accepts_can_be_trained(monkeypatch, model, key, value):
    loaded = Loaded(some_graphs(40), 40, None)
    monkeypatch.setattr("clipgnn.experiments.work.load", lambda trial, root: loaded)
    content = {"datasets": ["csl"], "models": [{"model": model}], "grid": {"epochs": 1, key: value}}
    [result] = run_trials(parse_experiment(content, "a", "a.toml").trials()[:1])
    assert all(map(isfinite, [*result.curves.train_loss, *result.curves.test_score]))


@pytest.mark.parametrize(("model", "engines"), [("gin", [3]), ("ring-gnn", [1, 1, 1])])
def test_folds_are_one_computation_where_the_schema_says_so(monkeypatch, model, engines):
    built = []

    def spy(graphs, network, recipe, splits, *rest):
        built.append(len(splits))
        return engine_for(graphs, network, recipe, splits, *rest)

    monkeypatch.setattr(loop, "engine_for", spy)
    content = {"datasets": ["csl"], "models": [{"model": model}], "grid": {"epochs": 1}}
    run_trials(parse_experiment(content, "a", "a.toml").trials()[:3])
    assert built == engines


def test_small_networks_train_together_what_they_train_alone():
    content = {"epochs": 2, "num_layers": 1, "hidden_channels": 4, "dropout": 0.5}
    models = [{"model": "gin"}]
    tasks = ["triangle-freeness"]
    spec = parse_experiment({"datasets": tasks, "models": models, "grid": content}, "a", "a.toml")
    trials = spec.trials()[:2]
    results = run_trials(trials)
    assert [result.trial for result in results] == [trial.identity for trial in trials]
    for trial, result in zip(trials, results, strict=True):
        [alone] = run_trials([trial])
        assert result.curves.train_loss == pytest.approx(alone.curves.train_loss, rel=1e-4)


@pytest.mark.parametrize("protocol", ["gin", "fair"])
def test_trials_are_trained(protocol):
    spec = Overrides(protocol=protocol, models=["1-CLIP"])(
        read_experiment(find_experiment("smoke"))
    )
    trials = spec.trials()[:2]
    outcome = attempt(run_trials, Job(tuple(trials)))
    assert outcome.error == ""
    assert outcome.results is not None
    for result in outcome.results:
        assert len(result.curves.train_loss) == len(result.curves.test_score) == 2
        assert all(0 <= score <= 1 for score in result.curves.test_score)
        assert len(result.curves.validation_score) == (2 if protocol == "fair" else 0)
        assert result.seconds > 0
        assert result.versions["torch"]
    # alone it is the same, to the last bit
    [alone] = run_trials(trials[1:])
    assert alone.curves == outcome.results[1].curves


def test_training_that_diverges_is_never_a_result(tmp_path):
    content = {"epochs": 2, "num_layers": 1, "hidden_channels": 4, "learning_rate": 1e30}
    models = [{"model": "clip", "num_colorings": 1}]
    text = {"datasets": ["csl"], "models": models, "grid": content, "folds": 2}
    spec = on_real_data(parse_experiment(text, "a", "a.toml"))
    with Store(tmp_path / "a.sqlite", create=True) as store:
        progress = run_experiment(spec, store, InProcessExecutor(run_trials))
        assert (progress.finished, progress.failed, progress.diverged) == (0, 0, 2)
        assert store.results() == {}
        assert store.failures() == {}
        reasons = [own.error for own in store.diverged().values()]
    assert len(reasons) == 2
    assert all(
        re.fullmatch(r"diverged in epoch [12], learning rate 1e\+30", own) for own in reasons
    )


@pytest.mark.parametrize("model", ["clip", "walks"])
def test_fresh_graphs_are_scored(tmp_path, model):
    models = [{"model": model, **({"num_colorings": 0} if model == "clip" else {})}]
    grid = {"epochs": 2, "num_layers": 1, "hidden_channels": 4} if model == "clip" else {}
    content = {"datasets": ["triangle-freeness"], "models": models, "grid": grid, "folds": 2}
    spec = parse_experiment({**content, "fresh": True}, "a", "a.toml")
    assert spec.data_names == ("triangle-freeness", "triangle-freeness@fresh")
    spec = on_real_data(spec)
    with Store(tmp_path / "a.sqlite", create=True) as store:
        progress = run_experiment(spec, store, InProcessExecutor(run_trials))
        assert (progress.finished, progress.failed) == (2, 0)
        results = store.results()
        assert stored_experiment(store).data == spec.data
    plain = on_real_data(parse_experiment(content, "a", "a.toml"))
    for trial, without in zip(spec.trials(), plain.trials(), strict=True):
        curves = results[trial.identity].curves
        assert len(curves.fresh_score) == curves.epochs
        assert all(0.4 < score <= 1 for score in curves.fresh_score)
        assert trial.identity != without.identity
        [alone] = run_trials([without])
        assert alone.curves.test_score == pytest.approx(curves.test_score, abs=1e-6)
        assert len(alone.curves.fresh_score) == 0


def test_fresh_graphs_of_a_counting_task_have_the_same_scale():
    grid = {"epochs": 2, "num_layers": 1, "hidden_channels": 8, "loss": "absolute-error"}
    models = [{"model": "clip", "num_colorings": 0}]
    content = {"datasets": ["count-stars"], "models": models, "grid": grid, "folds": 2}
    spec = on_real_data(parse_experiment({**content, "fresh": True}, "a", "a.toml"))
    [result] = run_trials(spec.trials()[:1])
    fresh, test = result.curves.fresh_score.tolist(), result.curves.test_score.tolist()
    assert fresh != test
    assert fresh == pytest.approx(test, rel=0.1)


def test_groups_change_the_folds():
    content = {"datasets": ["connectivity"], "models": [{"model": "walks"}], "folds": 10}
    by_groups = {}
    for groups in ("none", "pairs"):
        spec = parse_experiment({**content, "groups": groups}, "a", "a.toml")
        trials = spec.trials()
        splits = work._splits(trials, load(trials[0]))
        by_groups[groups] = (
            [set(split.test.tolist()) for split in splits],
            {trial.identity for trial in trials},
        )
    for groups, (folds, identities) in by_groups.items():
        assert len(identities) == 10
        assert set.union(*folds) == set(range(1000))
        apart = sum(graph ^ 1 not in fold for fold in folds for graph in fold)
        assert (apart == 0) == (groups == "pairs")
        if groups == "none":
            assert apart / 1000 == pytest.approx(0.9, abs=0.05)
    assert len(set.union(*(identities for _, identities in by_groups.values()))) == 20


def test_pairs_are_separated_by_reliable_networks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that distinguishes relabeled copies of one graph separates nothing."""
    loaded = Loaded(some_graphs(8), 8, None)
    monkeypatch.setattr("clipgnn.experiments.work.load", lambda trial, root: loaded)
    given: list[list[int]] = []

    def compared(
        graphs: object, spec: object, seeds: Sequence[int], *_: object, **__: object
    ) -> list[PairComparison]:
        given.append(list(seeds))
        statistics = [(100.0, 1.0), (100.0, 100.0), (1.0, 1.0), (1.0, 100.0)]
        return [PairComparison(np.array([0.5, 0.25]), *own) for own in statistics]

    monkeypatch.setattr("clipgnn.training.pairs.compare_pairs", compared)
    content = {"protocol": "pairs", "datasets": ["csl-pairs"], "models": [{"model": "gin"}]}
    trials = parse_experiment({**content, "seeds": [0, 1]}, "a", "a.toml").trials()
    for result in run_trials(trials):
        assert result.curves.test_score.tolist() == [1, 0, 0, 0]
        assert result.curves.fresh_score.tolist() == [1, 0, 1, 0]
        assert result.curves.validation_score.tolist() == [100, 100, 1, 1]
        assert result.curves.train_loss.tolist() == [0.25] * 4
    assert len({seed for seeds in given for seed in seeds}) == 8
