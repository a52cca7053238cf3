"""Experiments give the right trials, and errors name what is wrong in their files."""

import copy
import json
from pathlib import Path

import pytest
from tests.experiments.fake_training import CONTENT, on_fake_data, small_experiment

from clipgnn.datasets import load_dataset, stratified_folds
from clipgnn.errors import InvalidExperimentError, InvalidParameterError
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.data import load
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.experiments.work import _splits
from clipgnn.parameters import Recipe
from clipgnn.report.published import PAPER_NUMBERS


def test_the_whole_grid_of_table_2():
    spec = read_experiment(find_experiment("table2"))
    trials = spec.trials()
    # On four tasks 2 × 4 × 3 configurations, on csl 2 × 4; of RP-GIN six times as many, twice, but
    # not on the matched task; of Ring-GNN two on csl; of edges 4 and of walks 16 on all tasks.
    assert len(trials) == 10 * ((4 * 24 + 8) * 4 + (3 * 24 + 8) * 2 * 6 + 2 + 5 * (4 + 16))
    assert len({trial.identity for trial in trials}) == len(trials)
    networks = [trial for trial in trials if trial.model != "walks"]
    on_csl = [trial for trial in networks if trial.dataset == "csl"]
    assert {trial.parameters["hidden_channels"] for trial in on_csl} == {16}
    clip = [trial for trial in trials if trial.model == "clip"]
    assert {trial.parameters["num_colorings"] for trial in clip} == {0, 1, 16}
    assert {trial.parameters["num_layers"] for trial in clip} == {1, 2, 3, 5}
    relational = [trial for trial in trials if trial.model == "rp-gin"]
    assert {trial.parameters["num_identities"] for trial in relational} == {5, 10, 15, 20, 25, 30}
    assert {trial.recipe["batch_size"] for trial in networks} == {32, 64}
    assert {trial.recipe["epochs"] for trial in networks} == {400}
    assert spec.fresh
    names = [
        "edges",
        "walks",
        "GIN",
        "Ring-GNN",
        "1-RP-GIN",
        "16-RP-GIN",
        "0-CLIP",
        "1-CLIP",
        "16-CLIP",
    ]
    assert [row.name for row in spec.rows] == names


@pytest.mark.parametrize("table", ["table1", "table2", "table4"])
def test_tables_have_the_rows_of_the_paper(table):
    spec = read_experiment(find_experiment(table))
    assert spec.published is not None
    published = PAPER_NUMBERS[spec.published]
    ours = {"edges", "walks"} if table == "table2" else set()
    assert {row.name for row in spec.rows} - ours == published.keys()
    for row in spec.rows:
        assert set(published.get(row.name, ())) <= set(row.datasets)


def test_every_kept_experiment_can_be_read():
    folder = Path(__file__).parents[2] / "experiments"
    names = [file.stem for file in folder.glob("*.toml")]
    assert {"table2", "smoke"} <= set(names)
    for name in names:
        assert read_experiment(find_experiment(name)).trials()


def test_rp_gin_as_its_authors_train_it():
    spec = read_experiment(find_experiment("rp-gin-authors"))
    assert (spec.folds, spec.protocol, spec.split) == (5, "last", "cross-validation")
    y = load_dataset("csl").y
    assert y is not None
    train, _ = stratified_folds(y, 5)[0]
    for trial in spec.trials():
        recipe = Recipe.from_dict(trial.recipe)
        assert recipe.batch_size == len(train), "one step over all training graphs in an epoch"
        assert {recipe.rate(epoch) for epoch in range(recipe.epochs)} == {0.01}
        chosen = {"learn_epsilon": True, "norm": "none", "num_maps": 3, "initialization": "glorot"}
        assert chosen.items() <= trial.parameters.items()


def test_an_experiment_can_be_made_from_its_content():
    spec = small_experiment(seeds=[3, 4], protocol="fair")
    back = on_fake_data(
        parse_experiment(json.loads(json.dumps(spec.content())), spec.name, "store")
    )
    assert back == spec
    assert back.trials() == spec.trials()  # and their order, by which equals are told apart


def test_the_row_stands_over_the_grid_and_the_data_set_over_both():
    content = copy.deepcopy(CONTENT)
    content["models"][1]["hidden_channels"] = [4, 64]
    spec = parse_experiment(content, "small", "small.toml")
    assert spec.axes(spec.rows[1], "connectivity")["hidden_channels"] == (4, 64)
    assert spec.axes(spec.rows[1], "csl")["hidden_channels"] == (16,)


def test_a_row_can_keep_to_some_data_sets():
    content = copy.deepcopy(CONTENT)
    content["models"][0]["datasets"] = ["csl"]
    cells = parse_experiment(content, "small", "small.toml").cells
    assert [(cell.row, cell.dataset) for cell in cells] == [
        ("16-CLIP", "connectivity"),
        ("0-CLIP", "csl"),
        ("16-CLIP", "csl"),
    ]


def test_rows_that_share_trials_train_them_once():
    content = copy.deepcopy(CONTENT)
    content["models"].append({"name": "CLIP", "model": "clip", "num_colorings": [0, 16]})
    spec = parse_experiment(content, "small", "small.toml")
    assert len(spec.cells) == 6
    assert len(spec.trials()) == len(small_experiment().trials())


def test_a_model_that_is_not_trained_has_no_recipe():
    spec = small_experiment(
        models=[{"model": "clip"}, {"name": "WL", "model": "wl", "height": [1, 2]}]
    )
    trials = [trial for trial in spec.trials() if trial.model == "wl"]
    assert len(trials) == 2 * 2 * 4
    assert {trial.parameters["height"] for trial in trials} == {1, 2}
    assert all(trial.recipe == {} and len(trial.parameters) == 1 for trial in trials)
    # other epochs are other trials for clip, and the same ones for the kernel
    longer = Overrides(epochs=6)(spec).trials()
    assert {trial for trial in longer if trial.model == "wl"} == set(trials)
    assert str(trials[0]) == "wl on connectivity (height 1), fold 0"


def test_a_row_has_values_of_its_own_on_a_data_set():
    own = {"csl": {"hidden_channels": [2, 3]}}
    spec = small_experiment(models=[{"model": "clip"}, {"name": "A", "model": "clip", "only": own}])
    tried = {
        (cell.row, cell.dataset): {c.parameters["hidden_channels"] for c in cell.configurations}
        for cell in spec.cells
    }
    assert tried["A", "csl"] == {2, 3}
    assert tried["clip", "csl"] == {c["hidden_channels"] for c in [CONTENT["only"]["csl"]]}
    assert tried["A", "connectivity"] == tried["clip", "connectivity"]
    assert on_fake_data(parse_experiment(spec.content(), "small", "small.toml")) == spec
    kept = Overrides(where={"hidden_channels": (3,)})(spec)
    assert [(cell.row, cell.dataset) for cell in kept.cells] == [("clip", "csl"), ("A", "csl")]
    assert {c.parameters["hidden_channels"] for c in kept.cells[1].configurations} == {3}
    assert on_fake_data(parse_experiment(kept.content(), "small", "small.toml")) == kept
    # What only a row that is left out tries cannot be asked for.
    with pytest.raises(
        InvalidParameterError, match=r"^where hidden_channels must be one of 8, 16\. Got 3"
    ):
        Overrides(where={"hidden_channels": (3,)}, models=["clip"])(spec)


def test_another_data_set_of_the_tu_collection():
    assert small_experiment(datasets=["csl", "tu:NCI1"], only={}).datasets == ("csl", "tu:NCI1")


def test_fair_asks_for_a_nested_split():
    assert small_experiment(protocol="fair").split == "nested"
    assert small_experiment(split="nested").protocol == "gin"
    with pytest.raises(InvalidExperimentError, match=r"small.toml: split: must be \"nested\""):
        small_experiment(protocol="fair", split="cross-validation")


def test_the_share_of_validation_graphs():
    usual, chosen = (
        small_experiment(protocol="fair", **given) for given in ({}, {"validation_share": 0.4})
    )
    assert (usual.validation_share, chosen.validation_share) == (0.1, 0.4)
    assert "validation_share" not in usual.content()
    assert parse_experiment(chosen.content(), "small", "").validation_share == 0.4
    assert usual.trials()[0].identity != chosen.trials()[0].identity
    assert "validation_share" not in usual.trials()[0].content
    assert chosen.test_to_train == pytest.approx(1 / ((chosen.folds - 1) * 0.6))
    with pytest.raises(InvalidExperimentError, match='must be absent unless split is "nested"'):
        small_experiment(validation_share=0.4)
    with pytest.raises(InvalidExperimentError, match="validation_share: must be"):
        small_experiment(protocol="fair", validation_share=1.0)


def test_the_splits_of_the_counting_tasks():
    trials = read_experiment(find_experiment("substructures")).trials()
    splits = _splits(trials[:2], load(trials[0]))
    for split in splits:
        parts = (split.train, split.validation, split.test)
        assert [len(part) for part in parts] == [1500, 1000, 2500]
    assert set(splits[0].test.tolist()).isdisjoint(splits[1].test.tolist())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocoll": "gin"}, r"protocoll: is an unknown key.* Did you mean 'protocol'\?"),
        ({"datasets": ["conectivity"]}, r"datasets: .* Did you mean 'connectivity'\? .*tu:NAME"),
        ({"datasets": ["csl", "csl"]}, "datasets: must not have a name twice"),
        ({"datasets": []}, "datasets: must be given"),
        ({"datasets": "csl"}, "datasets: must be a list of names"),
        ({"grid": {"hiden_channels": 8}}, r"grid.hiden_channels: .* 'hidden_channels'\?"),
        (
            {"grid": {"epochs": "many"}},
            "grid.epochs: must be an integer from 1 to 1000000. Got 'many'",
        ),
        ({"grid": {"epochs": 0}}, "grid.epochs: must be an integer from 1 to 1000000. Got 0"),
        ({"grid": {"epochs": 1.5}}, "grid.epochs: must be an integer"),
        ({"grid": {"epochs": True}}, "grid.epochs: must be an integer"),
        ({"grid": {"dropout": 1.0}}, "grid.dropout: must be a number of at least 0 and below 1"),
        ({"grid": {"learning_rate": float("inf")}}, "must be a finite number above 0. Got inf"),
        ({"grid": {"learning_rate": 0}}, "grid.learning_rate: must be a finite number above 0"),
        ({"grid": {"activation": "rleu"}}, r"grid.activation: .* Did you mean 'relu'\?"),
        ({"grid": {"num_layers": []}}, "grid.num_layers: must have at least one value"),
        ({"grid": {"num_layers": [2, 2]}}, "grid.num_layers: must not have a value twice"),
        ({"grid": {"loss": "squared-eror"}}, r"grid.loss: .* Did you mean 'squared-error'\?"),
        ({"grid": 3}, "grid: must be a table"),
        ({"only": {"csk": {}}}, r"only.csk: .* Did you mean 'csl'\?"),
        ({"only": {"csl": {"num_layer": 1}}}, r"only.csl.num_layer: .* 'num_layers'\?"),
        ({"models": [{"model": "clipp"}]}, r"models\[0\].model: .* Did you mean 'clip'\?"),
        (
            {"models": [{"name": "A"}]},
            r"models\[0\].model: must be one of clip, .* Nothing is given",
        ),
        ({"models": [{"model": "clip", "only": {"cls": {}}}]}, r"\[0\].only.cls: .* 'csl'\?"),
        ({"models": {"model": "clip"}}, r"models: must be a list of tables"),
        ({"models": [{"model": "clip", "colorings": 1}]}, r"models\[0\].colorings: "),
        ({"models": [{"model": "clip"}] * 2}, r"models\[1\].name: must differ"),
        ({"models": [{"model": "clip", "num_colorings": "all"}]}, "must be an integer"),
        ({"models": [{"model": "clip", "coloring": "al"}]}, r"coloring: .* Did you mean 'all'\?"),
        ({"grid": {"activation": "step"}}, r"must be one of \"relu\", .* is not continuous"),
        ({"grid": {"class_weights": [[1.0, 2.0]]}}, 'must be "balanced" or "none"'),
        ({"grid": {"patience": 0}}, 'patience: must be an integer from 1 to 1000000 or "none"'),
        ({"grid": {"metric": "mae"}}, "model '0-CLIP': The 'metric' parameter of Recipe must be"),
        (
            {"grid": {"loss": ["cross-entropy", "squared-error"]}},
            "same score. Got accuracy, rmse",
        ),
        (
            {"models": [{"model": "clip"}, {"model": "ring-gnn"}], "grid": {"norm": "graph"}},
            r"grid.norm: must be \"batch\" or \"none\"",
        ),
        ({"grid": {"norm": "bach"}}, r"must be \"batch\" or \"none\". .* Did you mean 'batch'\?"),
        ({"folds": 1}, "folds: must be an integer from 2 to 1000"),
        ({"first_folds": 5}, "first_folds: must be at most the 4 folds"),
        ({"seeds": [-1]}, "seeds: must be an integer from 0 to"),
        (
            {"protocol": "gim"},
            r"protocol: must be one of gin, fair, last, pairs. Got 'gim'. Did you mean 'gin'\?",
        ),
        ({"published": "table3"}, "published: must be one of table1, table2"),
        ({"extremes": ["MUTAG"]}, "extremes: must be one of connectivity, csl"),
        ({"title": 3}, "title: must be one printable line"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    with pytest.raises(InvalidExperimentError, match=rf"^small.toml: .*{message}"):
        small_experiment(**changes)


def test_a_file_that_is_not_toml(tmp_path):
    path = tmp_path / "torn.toml"
    path.write_text("datasets = [")
    with pytest.raises(InvalidExperimentError, match=r"torn.toml: is not TOML"):
        read_experiment(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidExperimentError, match=r"torn.toml: cannot be read"):
        read_experiment(path)


def test_an_experiment_that_is_not_there():
    with pytest.raises(
        InvalidExperimentError, match=r"no experiment 'tabel2'.* Did you mean 'table2'\?"
    ):
        find_experiment("tabel2")
    with pytest.raises(InvalidExperimentError, match="no experiment file"):
        find_experiment("elsewhere/table2.toml")


def test_a_part_of_an_experiment():
    spec = small_experiment()
    part = Overrides(models=["16-CLIP"], datasets=["csl"], epochs=7, folds=2)(spec)
    trials = part.trials()
    assert len(trials) == 2 * 2
    assert {(trial.dataset, trial.recipe["epochs"], trial.fold) for trial in trials} == {
        ("csl", 7, 0),
        ("csl", 7, 1),
    }
    # the folds are still those of the whole: their results are reused later
    whole = {trial.identity for trial in spec.trials()}
    assert {
        trial.identity for trial in Overrides(folds=2, models=["0-CLIP"])(spec).trials()
    } < whole


def test_a_part_of_the_grid_leaves_fixed_values_alone():
    part = Overrides(where={"hidden_channels": (8,), "num_layers": (2,)})(small_experiment())
    shapes = {
        (trial.dataset, trial.parameters["num_layers"], trial.parameters["hidden_channels"])
        for trial in part.trials()
    }
    assert shapes == {("connectivity", 2, 8), ("csl", 2, 16)}


def test_epochs_that_the_spec_leaves_to_the_default():
    part = Overrides(epochs=3)(small_experiment(grid={"hidden_channels": 8}))
    assert {trial.recipe["epochs"] for trial in part.trials()} == {3}


def test_fair_as_an_override_makes_other_trials():
    spec = small_experiment()
    fair = Overrides(protocol="fair")(spec)
    assert fair.split == "nested"
    assert not {t.identity for t in fair.trials()} & {t.identity for t in spec.trials()}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (Overrides(models=["16-CLIPP"]), r"^models '16-CLIPP' is not in small.*'16-CLIP'\?"),
        (Overrides(datasets=["cls"]), r"^datasets 'cls' .* Did you mean 'csl'\?"),
        (Overrides(folds=5), "^folds must be from 1 to 4"),
        (Overrides(epochs=0), "^epochs must be an integer from 1 to"),
        (Overrides(where={"num_layer": (1,)}), r"^where 'num_layer' .* 'num_layers'\?"),
        (Overrides(where={"num_layers": (9,)}), "^where num_layers must be one of 1, 2. Got 9"),
        (Overrides(where={"epochs": (5,)}), "^where 'epochs' is not in small"),
    ],
)
def test_a_part_that_is_not_there(overrides, message):
    with pytest.raises(InvalidParameterError, match=message):
        overrides(small_experiment())


def test_nothing_left_of_an_experiment():
    content = copy.deepcopy(CONTENT)
    content["models"][0]["datasets"] = ["csl"]
    spec = parse_experiment(content, "small", "small.toml")
    with pytest.raises(InvalidParameterError, match="Nothing of small is left"):
        Overrides(models=["0-CLIP"], datasets=["connectivity"])(spec)


def test_none_as_a_value_of_an_axis():
    spec = small_experiment(grid={"norm": ["batch", "none"], "patience": [3, "none"]}, only={})
    trials = spec.trials()
    assert {trial.parameters["norm"] for trial in trials} == {"batch", "none"}
    assert {trial.recipe.get("patience") for trial in trials} == {3, None}
    without = small_experiment(grid={"norm": ["batch", "none"]}, only={}).trials()
    assert {trial.identity for trial in without} < {trial.identity for trial in trials}
