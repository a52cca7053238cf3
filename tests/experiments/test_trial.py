"""Trials are named by what they are."""

import pickle
from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiments.fake_training import fake_result, small_spec

from clipgnn.errors import InvalidParameterError
from clipgnn.experiments import catalog
from clipgnn.experiments.jobs import Job, attempt
from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.experiments.trial import Trial, run_trials, seed_from
from clipgnn.report.published import PUBLISHED

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


def test_order_of_parameters_is_no_part_of_the_identity():
    turned = replace(TRIAL, parameters=dict(reversed(TRIAL.parameters.items())))
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
    a = small_spec(grid={"dropout": 0}).trials()[0]
    b = small_spec(grid={"dropout": 0.0}).trials()[0]
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
        (lambda results: [replace(r, test_score=[]) for r in results], "score for each epoch"),
        (lambda results: [replace(r, validation_score=[]) for r in results], "validation score"),
        *(
            (lambda results, n=name, v=value: [replace(r, **{n: [0.5, v]}) for r in results], text)
            for name in ("train_loss", "test_score", "validation_score")
            for value, text in ((nan, f"Its {name} is nan in epoch 2."), (-inf, "is -inf in"))
        ),
        (lambda results: [replace(r, train_loss=[nan], diverged="x") for r in results], "is nan"),
    ],
)
def test_results_that_do_not_fit_are_failures(spoil, message):
    trials = tuple(small_spec(protocol="fair").trials()[:2])
    outcome = attempt(lambda given: spoil([fake_result(trial) for trial in given]), Job(trials))
    assert outcome.results is None
    assert message in outcome.error
    assert "Traceback" in outcome.traceback


@pytest.mark.parametrize("curve", [[], [0.5]])
def test_a_diverged_result_may_have_short_curves(curve):
    trials = tuple(small_spec(protocol="fair").trials()[:2])
    short = {"train_loss": curve, "test_score": curve, "validation_score": []}
    expected = [replace(fake_result(trial), **short, diverged="in epoch 2") for trial in trials]
    outcome = attempt(lambda given: expected, Job(trials))
    assert outcome.error == ""
    assert list(outcome.results) == expected


def test_no_parameter_is_called_like_a_part_of_the_recipe():
    for model in catalog.MODELS.values():
        assert not model.parameters.keys() & catalog.RECIPE.keys()
        assert not model.parameters.keys() & {"name", "model", "datasets"}


def test_the_catalog_knows_the_tables_of_the_paper():
    assert set(catalog.PUBLISHED) == set(PUBLISHED)


def test_versions_and_machine_are_recorded_without_host_names():
    versions = installed_versions()
    assert {"python", "clipgnn-source", "numpy", "torch"} <= versions.keys()
    assert set(this_machine()) == {"processor", "cores", "memory", "system"}
