"""Files of estimators: what is saved, and files that are refused."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from safetensors import safe_open
from sklearn.exceptions import NotFittedError
from tests.estimators.examples import FAST, rings_and_chains

import clipgnn
from clipgnn import CLIPClassifier, CLIPEmbedding, CLIPRegressor
from clipgnn.errors import InvalidParameterError, ModelFileError, ModelNotFoundError
from clipgnn.estimators import load_estimator

GRAPHS, CLASSES = rings_and_chains()
QUICK = {**FAST, "epochs": 3}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_ensemble": 3, "n_draws": 2},
        {"class_weight": {"ring": 2.0, "chain": 0.5}, "kinds": {"letter": "category"}},
        {"validation_fraction": 0.25, "patience": 2, "node_attributes": ["letter"]},
        {"random_state": np.random.RandomState(3), "coloring": clipgnn.Random()},
        {"coloring": "refined", "n_draws": 2},
        {"coloring": "individualized", "n_draws": 2},
        {"coloring": "all", "epochs": 1},
        pytest.param({"coloring": "canonical"}, marks=pytest.mark.needs("igraph")),
        pytest.param({"coloring": "orbits", "epochs": 1}, marks=pytest.mark.needs("igraph")),
    ],
)
def test_a_classifier_is_the_same_after_loading(options: dict[str, Any], tmp_path: Path) -> None:
    model = CLIPClassifier(**{**QUICK, **options}).fit(GRAPHS, CLASSES)
    model.save(tmp_path / "model.safetensors")
    loaded = CLIPClassifier.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(GRAPHS), model.predict_proba(GRAPHS))
    np.testing.assert_array_equal(loaded.predict(GRAPHS), model.predict(GRAPHS))
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.encoding_ == model.encoding_
    assert [own.train_loss for own in loaded.history_] == [own.train_loss for own in model.history_]
    changed = {"random_state": None, "coloring": "random"} if "random_state" in options else {}
    expected = {**model.get_params(), **changed}
    lists = {name: tuple(own) for name, own in expected.items() if isinstance(own, list)}
    assert loaded.get_params() == {**expected, **lists}
    assert not any(own.training for own in loaded.models_)


@pytest.mark.parametrize(
    "labels",
    [
        [3, 5],
        [True, False],
        [0.0, 2.0],
        ["é", "b"],
        np.array([1, 2], dtype=np.int8),
        np.array([2**62, 2**63 - 1]),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([1, 2], dtype=np.float32),
        np.array([True, False]),
        np.array(["long", "s"]),
        np.array(["long", "s"], dtype=object),
    ],
    ids=repr,
)
def test_types_of_classes(labels: Any, tmp_path: Path) -> None:
    y = np.asarray(labels)[[int(own == "ring") for own in CLASSES]]
    model = CLIPClassifier(**QUICK).fit(GRAPHS, y)
    model.save(tmp_path / "model.safetensors")
    loaded = CLIPClassifier.load(tmp_path / "model.safetensors")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(GRAPHS).tolist() == model.predict(GRAPHS).tolist()


@pytest.mark.parametrize("columns", [0, 2])
def test_a_regressor_keeps_its_scale(columns: int, tmp_path: Path) -> None:
    y = np.array([1e6 + 10 * len(graph) for graph in GRAPHS])
    if columns:
        y = np.stack([y, -y], axis=1)
    model = CLIPRegressor(**QUICK).fit(GRAPHS, y)
    model.save(tmp_path / "model.safetensors")
    loaded = CLIPRegressor.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict(GRAPHS), model.predict(GRAPHS))
    assert loaded.predict(GRAPHS).shape == y.shape


def test_training_continues_after_loading(tmp_path: Path) -> None:
    model = CLIPClassifier(**QUICK, warm_start=True).fit(GRAPHS, CLASSES)
    model.save(tmp_path / "model.safetensors")
    loaded = CLIPClassifier.load(tmp_path / "model.safetensors")
    again = loaded.fit(GRAPHS, CLASSES).history_[0].train_loss
    assert again == model.fit(GRAPHS, CLASSES).history_[0].train_loss


def test_the_file_is_also_a_model_file(tmp_path: Path) -> None:
    model = CLIPClassifier(**QUICK, n_ensemble=2).fit(GRAPHS, CLASSES)
    model.save(tmp_path / "model.safetensors")
    network = clipgnn.load(tmp_path / "model.safetensors")
    assert network.config.num_members == 2
    with safe_open(tmp_path / "model.safetensors", framework="pt") as file:
        assert "description" in file.metadata()


def test_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(ModelNotFoundError):
        CLIPClassifier.load(path)
    model = CLIPClassifier(**QUICK).fit(GRAPHS, CLASSES)
    model.save(path)
    with pytest.raises(ModelFileError, match=r"file of a CLIPRegressor\. Got 'CLIPClassifier'"):
        CLIPRegressor.load(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"chain", b"train"))
    with pytest.raises(ModelFileError, match="description does not match"):
        CLIPClassifier.load(path)
    clipgnn.save(model.models_[0], path)
    with pytest.raises(ModelFileError, match=r"Got a network\. Use"):
        CLIPClassifier.load(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parameters", {"magic": 3}),
        ("parameters", None),
        ("encoding", {"nodes": 3}),
        ("encoding", []),
        ("draw_seed", "x"),
        ("history", [{"train_loss": ["a"]}]),
        ("learned", {}),
    ],
)
def test_descriptions_of_other_versions(key: str, value: Any, tmp_path: Path) -> None:
    from clipgnn.nn.files import load_described, model_bytes

    path = tmp_path / "model.safetensors"
    CLIPClassifier(**QUICK).fit(GRAPHS, CLASSES).save(path)
    network, description = load_described(path)
    path.write_bytes(model_bytes(network, {**(description or {}), key: value}))
    with pytest.raises(ModelFileError, match="newer clipgnn"):
        CLIPClassifier.load(path)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"class_weight": {np.int64(0): np.float32(2), 1: 0.5}}, {0: 2.0, 1: 0.5}),
        ({"random_state": np.int64(3)}, 3),
        ({"n_draws": np.int32(2)}, 2),
        ({"dropout": np.float32(0.5)}, 0.5),
        ({"node_attributes": np.array(["letter"])}, ("letter",)),
        ({"kinds": {np.str_("letter"): "category"}}, {"letter": "category"}),
        ({"class_weight": "balanced"}, "balanced"),
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_parameters_of_numpy(options: dict[str, Any], expected: Any, tmp_path: Path) -> None:
    y = [int(own == "ring") for own in CLASSES]
    CLIPClassifier(**{**QUICK, **options}).fit(GRAPHS, y).save(tmp_path / "model")
    [name] = options
    assert CLIPClassifier.load(tmp_path / "model").get_params()[name] == expected


@pytest.mark.parametrize("letters", ["ab", [2**63 - 1, -(2**63)], [0.5, 1.5], [True, 1]])
def test_vocabularies(letters: Any, tmp_path: Path) -> None:
    graphs = [graph.copy() for graph in GRAPHS]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: letters[node % 2] for node in graph}, "letter")
    model = CLIPClassifier(**QUICK, kinds={"letter": "category"}).fit(graphs, CLASSES)
    model.save(tmp_path / "model")
    loaded = CLIPClassifier.load(tmp_path / "model")
    assert loaded.encoding_ == model.encoding_
    np.testing.assert_array_equal(loaded.predict_proba(graphs), model.predict_proba(graphs))


@pytest.mark.usefixtures("without_shape_checks")
def test_what_cannot_be_saved(tmp_path: Path) -> None:
    class Mine(clipgnn.Random):
        pass

    model: Any = CLIPClassifier(**QUICK, coloring=Mine()).fit(GRAPHS, CLASSES)
    with pytest.raises(InvalidParameterError, match="coloring scheme"):
        model.save(tmp_path / "model")
    with pytest.raises(InvalidParameterError, match=r"path must be a str.* Got None"):
        model.save(None)
    with pytest.raises(InvalidParameterError, match=r"Got a CLIPClassifier\. Use its method save"):
        clipgnn.save(model, tmp_path / "model")
    with pytest.raises(NotFittedError):
        CLIPClassifier().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.needs("pandas")
def test_names_of_targets_are_kept(tmp_path: Path) -> None:
    import pandas

    graphs, classes = rings_and_chains(12)
    fast = {**FAST, "epochs": 1}
    path = tmp_path / "model.safetensors"
    CLIPClassifier(**fast).fit(graphs, pandas.Series(classes, name="kind")).save(path)
    assert CLIPClassifier.load(path).target_names_ == ["kind"]
    sizes = pandas.DataFrame({"size": [1.0 * len(own) for own in graphs], "half": 0.5})
    CLIPRegressor(**fast).fit(graphs, sizes).save(path)
    assert CLIPRegressor.load(path).target_names_ == ["size", "half"]
    assert CLIPRegressor(**fast).fit(graphs, sizes.to_numpy()).target_names_ is None


def test_an_estimator_is_loaded_without_its_class(tmp_path: Path) -> None:
    graphs, classes = rings_and_chains(12)
    path = tmp_path / "model.safetensors"
    CLIPClassifier(**{**FAST, "epochs": 1}).fit(graphs, classes).save(path)
    assert isinstance(load_estimator(path), CLIPClassifier)
    CLIPRegressor(**{**FAST, "epochs": 1}).fit(graphs, list(range(12))).save(path)
    assert isinstance(load_estimator(path), CLIPRegressor)
    CLIPEmbedding(num_layers=1, hidden_channels=4).fit(graphs).save(path)
    with pytest.raises(ModelFileError, match=r"CLIPClassifier or CLIPRegressor. Got 'CLIPEmb"):
        load_estimator(path)
