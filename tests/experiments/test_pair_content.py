"""Experiment files of pairs of graphs."""

import pytest

from clipgnn.errors import InvalidExperimentError
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.overrides import Overrides

CONTENT = {
    "protocol": "pairs",
    "datasets": ["csl-pairs", "atlas-pairs"],
    "grid": {"epochs": 2, "batch_size": 16},
    "models": [{"model": "clip"}, {"model": "gin", "learning_rate": 0.01}],
}


def test_a_pair_set_has_one_trial_for_each_seed():
    experiment = parse_experiment({**CONTENT, "seeds": [0, 1]}, "own", "own.toml")
    assert (experiment.split, experiment.folds) == ("pairs", 1)
    assert len(experiment.trials()) == 8
    assert str(experiment.trials()[0]) == "clip on csl-pairs (batch 16), seed 0"
    assert [experiment.row_of(own) for own in experiment.trials()] == [
        "clip",
        "clip",
        "gin",
        "gin",
    ] * 2
    assert experiment.trials()[0].recipe.keys() == {"epochs", "batch_size", "learning_rate"}


def test_the_recipe_of_an_own_experiment_is_that_of_brec():
    content = {**CONTENT, "grid": {}, "models": [{"model": "clip"}]}
    experiment = parse_experiment(content, "own", "own.toml")
    recipe = {"epochs": 20, "batch_size": 16, "learning_rate": 1e-4}
    assert experiment.trials()[0].recipe == recipe
    given = parse_experiment({**content, "grid": recipe}, "own", "own.toml")
    assert [own.identity for own in given.trials()] == [own.identity for own in experiment.trials()]
    part = Overrides(epochs=3)(experiment)
    assert part.trials()[0].recipe == {**recipe, "epochs": 3}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol": "gin"}, 'protocol: must be "pairs" for csl-pairs, a set of pairs'),
        ({"protocol": "gin", "split": "pairs"}, 'protocol: must be "pairs" for the split'),
        ({"datasets": ["csl-pairs", "csl"]}, "datasets: must be pairs of graphs .* Got csl"),
        ({"folds": 5}, "folds: must be absent"),
        ({"keep_models": True}, "keep_models: must be absent"),
        ({"models": [{"model": "wl"}]}, "models: must be networks for pairs. Got wl"),
        ({"grid": {"patience": 5}}, "patience: must be absent for pairs, unlike epochs"),
        ({"only": {"csl-pairs": {"batch_size": [16, 5]}}}, "batch_size: must be even .* Got 5"),
        ({"models": [{"model": "gin", "batch_size": 3}]}, "batch_size: must be even"),
        (
            {"models": [{"model": "gin", "only": {"csl-pairs": {"patience": 3}}}]},
            "patience: must be absent for pairs",
        ),
    ],
)
def test_what_pairs_cannot_have(changes, message):
    with pytest.raises(InvalidExperimentError, match=f"own.toml: {message}"):
        parse_experiment({**CONTENT, **changes}, "own", "own.toml")


def test_why_a_row_is_not_applicable_is_kept():
    row = {"model": "gin", "datasets": ["csl-pairs"], "not_applicable": "Too large."}
    experiment = parse_experiment({**CONTENT, "models": [row]}, "own", "own.toml")
    assert experiment.content()["models"][0]["not_applicable"] == "Too large."
    del row["datasets"]
    with pytest.raises(InvalidExperimentError, match="not_applicable: must be absent without"):
        parse_experiment({**CONTENT, "models": [row]}, "own", "own.toml")
