"""Trials are named by what they are."""

import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiments.fake_training import fake_result, small_experiment, with_curves

from clipgnn.curves import Curves
from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.experiment import KEPT
from clipgnn.experiments.jobs import Job, attempt
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.plans import with_stored_data
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial, seed_from
from clipgnn.experiments.work import run_trials
from clipgnn.parameters import MODELS, Recipe

ROOT = Path(__file__).parents[2]

TRIAL = Trial(
    dataset="csl",
    data="0123456789abcdef",
    model="clip",
    parameters={"num_colorings": 16, "hidden_channels": 16},
    recipe={"epochs": 400},
    split="cross-validation",
    num_folds=10,
    fold=3,
    seed=0,
)


def test_the_identity_does_not_change_between_versions_of_this_code():
    # Raise CONTENT_VERSION if this must change: stores would take old results for missing ones.
    assert TRIAL.content == (
        '{"data":"0123456789abcdef","dataset":"csl","fold":3,"model":"clip","num_folds":10,'
        '"parameters":{"hidden_channels":16,"num_colorings":16},"recipe":{"epochs":400},'
        '"seed":0,"split":"cross-validation"}'
    )
    assert TRIAL.identity == "9152aadf95ad4797"


MUTAG = "1ceca45cccde35a0"


@pytest.mark.parametrize(
    ("table", "row", "dataset", "identity"),
    [
        ("table1", "WL", "MUTAG", "3175188d30d1441c"),
        ("table1", "AWL", "MUTAG", "16b2d792910a9ac4"),
        ("table1", "DCNN", "MUTAG", "a104b2fef13b402e"),
        ("table1", "PATCHY-SAN", "MUTAG", "8c18de77bb5720e8"),
        ("table1", "DGCNN", "MUTAG", "b4a962f47f8b1f1b"),
        ("table1", "GIN", "MUTAG", "da517370e8a2b36d"),
        ("table1", "0-CLIP", "MUTAG", "e144fedabb13e844"),
        ("table1", "CLIP", "MUTAG", "c6edd5c61838ff57"),
        ("table2", "Ring-GNN", "csl", "e43d4bbc63174edb"),
        ("table2", "1-RP-GIN", "csl", "efd18c6ddd60aadf"),
        ("table2", "16-CLIP", "csl", "b67a407fd0c4d488"),
    ],
)
def test_a_new_parameter_does_not_change_the_tables(table, row, dataset, identity):
    """The first trial of each row: what is not in the file is not in the identity."""
    spec = read_experiment(find_experiment(table))
    spec = replace(spec, data={"MUTAG": MUTAG, "csl": "0" * 16})
    [cell] = [own for own in spec.cells if (own.row, own.dataset) == (row, dataset)]
    assert spec.trials_of(cell, cell.configurations[0])[0].identity == identity


def test_the_kept_results_are_those_of_the_table(tmp_path):
    path = shutil.copy(ROOT / "results" / "table1-gin.sqlite", tmp_path)
    with Store(path) as store:
        spec = with_stored_data(read_experiment(find_experiment("table1")), store)
        finished = store.finished()
    assert spec.data["MUTAG"] == MUTAG
    part = Overrides(models=["0-CLIP", "CLIP"], datasets=["MUTAG"])(spec)
    assert {trial.identity for trial in part.trials()} <= finished


def test_the_source_of_a_network_is_in_the_identity_of_its_trials_only():
    assert "model_source" not in TRIAL.content
    own = replace(TRIAL, model="my_package.nets:Net", model_source="0123456789ab")
    assert '"model":"my_package.nets:Net","model_source":"0123456789ab","num_folds"' in own.content
    assert own.identity == "f853d33b0a816fe6"
    assert replace(own, model_source="0123456789ac").identity != own.identity
    assert own.fingerprints == {"csl": TRIAL.data, "my_package.nets:Net": "0123456789ab"}
    assert TRIAL.fingerprints == {"csl": TRIAL.data}


def test_order_of_parameters_is_no_part_of_the_identity():
    turned = replace(TRIAL, parameters=dict(reversed(list(TRIAL.parameters.items()))))
    assert turned.identity == TRIAL.identity
    assert turned.random_seed("train") == TRIAL.random_seed("train")
    assert hash(turned) == hash(TRIAL)
    assert turned == TRIAL


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "connectivity"},
        {"data": "0123456789abcdee"},
        {"parameters": {"num_colorings": 16, "hidden_channels": 32}},
        {"recipe": {"epochs": 401}},
        {"split": "nested"},
        {"num_folds": 5},
        {"fold": 4},
        {"seed": 1},
    ],
)
def test_everything_else_is(change):
    assert replace(TRIAL, **change).identity != TRIAL.identity


def test_zero_and_zero_point_zero_are_one_dropout():
    a = small_experiment(grid={"dropout": 0}).trials()[0]
    b = small_experiment(grid={"dropout": 0.0}).trials()[0]
    assert a.identity == b.identity


@given(names=st.lists(st.text(), min_size=1), bits=st.integers(1, 63))
def test_seeds_fit_and_depend_on_names_only(names, bits):
    seed = seed_from(*names, bits=bits)
    assert 0 <= seed < 2**bits
    assert seed == seed_from(*names, bits=bits)


def test_seeds_do_not_depend_on_the_data():
    other = replace(TRIAL, data="0123456789abcdee")
    assert other.random_seed("train") == TRIAL.random_seed("train")


def test_seeds_differ_by_purpose_fold_and_seed():
    seeds = [
        trial.random_seed(purpose)
        for purpose in ("train", "validation")
        for trial in (TRIAL, replace(TRIAL, fold=4), replace(TRIAL, seed=1))
    ]
    assert len(set(seeds)) == len(seeds)


def test_trials_and_results_travel_between_processes():
    assert pickle.loads(pickle.dumps(TRIAL)) == TRIAL
    assert pickle.loads(pickle.dumps(fake_result(TRIAL))) == fake_result(TRIAL)


def test_unlike_trials_are_not_trained_together():
    with pytest.raises(InvalidParameterError, match="differ only in fold and seed"):
        run_trials([TRIAL, replace(TRIAL, dataset="connectivity")])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda results: results[:-1], "a result for each trial"),
        (lambda results: results[::-1], "a result for each trial"),
        (
            lambda results: [replace(r, curves=Curves([], [])) for r in results],
            "test_score must have a value for each epoch",
        ),
        (
            lambda results: [with_curves(r, validation_score=[]) for r in results],
            "validation_score must have a value for each epoch of a nested split",
        ),
    ],
)
def test_results_that_do_not_fit_are_failures(spoil, message):
    trials = tuple(small_experiment(protocol="fair").trials()[:2])
    outcome = attempt(lambda given: spoil([fake_result(trial) for trial in given]), Job(trials))
    assert outcome.results is None
    assert message in outcome.error
    assert "Traceback" in outcome.traceback


@pytest.mark.parametrize("curve", [[], [0.5]])
def test_a_diverged_result_may_have_short_curves(curve):
    trials = tuple(small_experiment(protocol="fair").trials()[:2])
    short = Curves(curve, curve, diverged="in epoch 2")
    expected = [replace(fake_result(trial), curves=short) for trial in trials]
    outcome = attempt(lambda given: expected, Job(trials))
    assert outcome.error == ""
    assert outcome.results == tuple(expected)


def test_the_metric_follows_from_the_recipe():
    assert TRIAL.metric == "accuracy"
    assert replace(TRIAL, recipe={"loss": "squared-error"}).metric == "rmse"


def test_no_parameter_is_called_like_a_part_of_the_recipe():
    for model in MODELS.values():
        names = set(model.parameters.names())
        assert not names & set(Recipe.names())
        assert not names & {"name", "model", "datasets", "only", *KEPT}
