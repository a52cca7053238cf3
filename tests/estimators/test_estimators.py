"""Estimators: fit, predict, and use inside scikit-learn."""

import io
import pickle
import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from rich.console import Console
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.estimators.examples import FAST, rings_and_chains
from torch_geometric.utils import from_networkx

from clipgnn import CLIPClassifier, CLIPRegressor, PackedGraphs
from clipgnn.errors import DivergedError, InvalidParameterError
from clipgnn.estimators.progress import TrainingProgress
from clipgnn.training import Epoch, Recipe

GRAPHS, CLASSES = rings_and_chains()
SIZES = [float(len(graph)) for graph in GRAPHS]


def test_classes_are_learned_and_named() -> None:
    model = CLIPClassifier(**FAST).fit(GRAPHS, CLASSES)
    assert model.classes_.tolist() == ["chain", "ring"]
    assert model.score(GRAPHS, CLASSES) == 1.0
    assert model.predict(GRAPHS[:3]).tolist() == CLASSES[:3]
    probabilities = model.predict_proba(GRAPHS)
    assert probabilities.shape == (len(GRAPHS), 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert len(model.history_) == 1
    assert len(model.history_[0].train_loss) == FAST["epochs"]


@pytest.mark.parametrize(
    "labels", [[True, False], [3, -1], [2.0, 0.0], [np.str_("x"), np.str_("y")]]
)
def test_labels_of_any_type(labels: list[Any]) -> None:
    y = [labels[own == "ring"] for own in CLASSES]
    model = CLIPClassifier(**FAST).fit(GRAPHS, y)
    assert model.predict(GRAPHS).tolist() == y


@pytest.mark.parametrize(
    "convert",
    [
        PackedGraphs.from_networkx,
        lambda graphs: [nx.to_scipy_sparse_array(graph) for graph in graphs],
        lambda graphs: [sparse.csr_matrix(nx.to_numpy_array(graph)) for graph in graphs],
        lambda graphs: [from_networkx(nx.Graph(graph.edges)) for graph in graphs],
        pytest.param(
            lambda graphs: PackedGraphs.from_networkx(graphs).to_igraph(),
            marks=pytest.mark.needs("igraph"),
        ),
        np.array,
    ],
    ids=["PackedGraphs", "sparse arrays", "sparse matrices", "PyG", "igraph", "array of objects"],
)
def test_graphs_of_every_library(convert: Any) -> None:
    if convert is np.array:
        graphs = np.empty(len(GRAPHS), dtype=object)
        graphs[:] = GRAPHS
    else:
        graphs = convert(GRAPHS)
    model = CLIPClassifier(**FAST).fit(graphs, CLASSES)
    assert model.score(graphs, CLASSES) == 1.0


def test_numbers_are_learned_on_their_own_scale() -> None:
    y = np.array([1000 + 10 * size for size in SIZES])
    model = CLIPRegressor(**{**FAST, "epochs": 60, "num_colorings": 0}).fit(GRAPHS, y)
    predicted = model.predict(GRAPHS)
    assert predicted.shape == y.shape
    assert np.abs(predicted - y).max() < 10
    assert model.score(GRAPHS, y) > 0.9


def test_several_targets_one_of_which_is_sometimes_missing() -> None:
    y = np.stack([SIZES, -np.array(SIZES)], axis=1)
    known = y.copy()
    y[::5, 1] = np.nan
    parameters = {**FAST, "epochs": 60, "num_colorings": 0}
    model = CLIPRegressor(**parameters, n_draws=2).fit(GRAPHS, y)
    assert model.predict(GRAPHS).shape == y.shape
    assert np.abs(model.predict(GRAPHS) - known).max() < 1.5
    assert model.predict_spread(GRAPHS).shape == y.shape


def test_one_target_as_a_column_stays_a_column() -> None:
    model = CLIPRegressor(**{**FAST, "epochs": 2}).fit(GRAPHS, np.array(SIZES)[:, None])
    assert model.predict(GRAPHS).shape == (len(GRAPHS), 1)


def test_cross_validation_and_grid_search_in_two_processes() -> None:
    scores = cross_val_score(CLIPClassifier(**FAST), GRAPHS, CLASSES, cv=2, n_jobs=2)
    assert scores.min() > 0.7
    packed = PackedGraphs.from_networkx(GRAPHS)
    search = GridSearchCV(CLIPClassifier(**FAST), {"num_colorings": [0, 2]}, cv=2)
    search.fit(packed, CLASSES)
    assert search.best_score_ > 0.7


def test_pipeline_and_calibration() -> None:
    def simplified(graphs: list[Any]) -> list[Any]:
        return [nx.Graph(graph) for graph in graphs]

    model = make_pipeline(FunctionTransformer(simplified), CLIPClassifier(**FAST))
    assert model.fit(GRAPHS, CLASSES).score(GRAPHS, CLASSES) == 1.0
    calibrated = CalibratedClassifierCV(CLIPClassifier(**FAST), cv=2).fit(GRAPHS, CLASSES)
    assert calibrated.score(GRAPHS, CLASSES) == 1.0


def test_clones_and_pickles_in_memory() -> None:
    model = CLIPClassifier(**FAST, class_weight={"ring": 2.0})
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert "epochs=28" in repr(model)
    model.fit(GRAPHS, CLASSES)
    with pytest.raises(NotFittedError):
        copy.predict(GRAPHS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(GRAPHS), model.predict_proba(GRAPHS))


def test_the_same_random_state_gives_the_same_answer() -> None:
    one = CLIPClassifier(**FAST, n_draws=3).fit(GRAPHS, CLASSES)
    other = CLIPClassifier(**FAST, n_draws=3).fit(GRAPHS, CLASSES)
    expected = one.predict_proba(GRAPHS)
    np.testing.assert_array_equal(other.predict_proba(GRAPHS), expected)
    order = np.random.default_rng(0).permutation(len(GRAPHS))
    shuffled = one.predict_proba([GRAPHS[index] for index in order])
    np.testing.assert_allclose(shuffled, expected[order], atol=1e-6)
    np.testing.assert_allclose(one.predict_proba(GRAPHS[:1]), expected[:1], atol=1e-6)


def test_spread_over_draws_and_networks() -> None:
    alone = CLIPClassifier(**FAST).fit(GRAPHS, CLASSES)
    with pytest.warns(UserWarning, match="Use n_draws"):
        assert not alone.predict_spread(GRAPHS).any()
    draws = CLIPClassifier(**FAST, n_draws=4).fit(GRAPHS, CLASSES)
    assert draws.predict_spread(GRAPHS).max() > 0
    parameters = {**FAST, "num_colorings": 0}
    ensemble = CLIPClassifier(**parameters, n_ensemble=3).fit(GRAPHS, CLASSES)
    assert len(ensemble.models_) == len(ensemble.history_) == 3
    assert ensemble.predict_spread(GRAPHS).max() > 0
    without_colors = CLIPClassifier(**parameters, n_draws=3).fit(GRAPHS, CLASSES)
    assert without_colors.predict_spread(GRAPHS).max() < 1e-7


def test_validation_stops_training_and_keeps_the_best_epoch() -> None:
    parameters = {**FAST, "epochs": 200}
    model = CLIPClassifier(**parameters, validation_fraction=0.25, patience=5)
    [history] = model.fit(GRAPHS, CLASSES).history_
    assert len(history.validation_score) < 200
    assert history.best_epoch is not None
    assert history.validation_score[history.best_epoch - 1] == max(history.validation_score)


def test_patience_without_validation_graphs_follows_the_loss() -> None:
    model = CLIPClassifier(**{**FAST, "epochs": 200, "learning_rate": 0.1}, patience=2)
    [history] = model.fit(GRAPHS, CLASSES).history_
    assert len(history.train_loss) < 200
    assert history.best_epoch == np.argmin(history.train_loss) + 1


def test_warm_start_continues_every_network() -> None:
    parameters = {**FAST, "epochs": 3, "n_ensemble": 2, "warm_start": True}
    model = CLIPClassifier(**parameters).fit(GRAPHS, CLASSES)
    first = [own.train_loss[0] for own in model.history_]
    again = [own.train_loss[3] for own in model.fit(GRAPHS, CLASSES).history_]
    assert all(later < earlier for later, earlier in zip(again, first, strict=True))


def test_warm_start_continues() -> None:
    model = CLIPClassifier(**{**FAST, "epochs": 3}, warm_start=True).fit(GRAPHS, CLASSES)
    first = model.history_[0].train_loss
    [history] = model.fit(GRAPHS, CLASSES).history_
    assert history.train_loss[:3] == first
    assert len(history.train_loss) == 6
    assert history.train_loss[3] < first[0]
    with pytest.raises(InvalidParameterError, match="classes of the first call of fit"):
        model.fit(GRAPHS, ["other", *CLASSES[1:]])
    with pytest.raises(InvalidParameterError, match="n_ensemble must be 1"):
        model.set_params(n_ensemble=2).fit(GRAPHS, CLASSES)


def test_a_warm_start_stops_early_by_its_own_epochs() -> None:
    parameters = {**FAST, "epochs": 4, "validation_fraction": 0.25, "patience": 2}
    model = CLIPClassifier(**parameters, warm_start=True).fit(GRAPHS, CLASSES)
    before = len(model.history_[0].train_loss)
    [history] = model.fit(GRAPHS, CLASSES).history_
    later = history.validation_score[before:]
    assert len(history.validation_score) == len(history.train_loss) > before
    assert history.best_epoch == before + 1 + int(np.argmax(later))
    model.set_params(validation_fraction=None).fit(GRAPHS, CLASSES)
    assert model.history_[0].validation_score == []  # only some epochs have one
    assert len(model.history_[0].train_loss) > len(history.train_loss)


def test_a_fit_that_fails_changes_nothing() -> None:
    model = CLIPClassifier(**FAST).fit(GRAPHS, CLASSES)
    expected, encoding = model.predict_proba(GRAPHS), model.encoding_
    others: list[Any] = [nx.path_graph(3) for _ in GRAPHS]
    with pytest.raises(InvalidParameterError):
        model.fit(others, ["ring"] * len(others))
    assert model.encoding_ is encoding
    np.testing.assert_array_equal(model.predict_proba(GRAPHS), expected)


def test_data_sets_are_read_with_the_encoding_of_the_model() -> None:
    model = CLIPClassifier(**FAST).fit(GRAPHS, CLASSES)
    same = PackedGraphs.from_networkx(GRAPHS, encoding=model.encoding_)
    assert model.predict(same).tolist() == CLASSES
    others = [graph.copy() for graph in GRAPHS]
    for graph in others:
        nx.set_node_attributes(graph, {node: "xy"[node % 2] for node in graph}, "letter")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        expected = model.predict_proba(others)
        found = model.predict_proba(PackedGraphs.from_networkx(others))
    assert sum("the encoding does not know" in str(own.message) for own in caught) == 3
    assert np.array_equal(found, expected)


def test_class_weights() -> None:
    y = ["ring"] * 3 + ["chain"] * 21  # the graphs do not tell
    graphs = [nx.path_graph(4)] * 24
    parameters = {**FAST, "num_colorings": 0, "epochs": 60}
    rare = {}
    for weight in (None, "balanced", {"ring": 50.0}):
        model = CLIPClassifier(**parameters, class_weight=weight).fit(graphs, y)
        rare[str(weight)] = model.predict_proba(graphs[:1])[0, 1]
    assert rare["None"] < 0.3
    assert 0.3 < rare["balanced"] < 0.65
    assert rare["{'ring': 50.0}"] > 0.6
    with pytest.raises(InvalidParameterError, match=r"must have classes of y\. Got 'bow'"):
        CLIPClassifier(**FAST, class_weight={"bow": 1.0}).fit(graphs, y)


def test_values_that_were_not_seen_in_training() -> None:
    model = CLIPClassifier(**FAST).fit(GRAPHS, CLASSES)
    graph = GRAPHS[0].copy()
    graph.nodes[0]["letter"] = "z"
    with pytest.warns(UserWarning, match="'letter' that the encoding does not know, such as 'z'"):
        assert np.isfinite(model.predict_proba([graph])).all()


def test_more_identical_nodes_than_in_training() -> None:
    graphs: list[Any] = [nx.Graph(graph.edges) for graph in GRAPHS]
    model = CLIPClassifier(**FAST).fit(graphs, CLASSES)
    with pytest.warns(UserWarning, match="20 nodes with identical attributes, but .* 8 colors"):
        assert np.isfinite(model.predict_proba([nx.cycle_graph(20)])).all()


@pytest.mark.usefixtures("without_shape_checks")
def test_a_given_number_of_colors() -> None:
    graphs: list[Any] = [nx.Graph(graph.edges) for graph in GRAPHS]
    model = CLIPClassifier(**FAST, num_colors=20).fit(graphs, CLASSES)
    assert np.isfinite(model.predict_proba([nx.cycle_graph(20)])).all()
    with pytest.raises(InvalidParameterError, match="num_colors"):
        CLIPClassifier(**FAST, num_colors="many").fit(graphs, CLASSES)


def test_a_training_that_diverges() -> None:
    with pytest.raises(DivergedError, match="smaller learning_rate"):
        CLIPRegressor(**{**FAST, "learning_rate": 1e30}).fit(GRAPHS, SIZES)


@pytest.mark.parametrize("terminal", [True, False])
def test_progress(terminal: bool) -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=120)
    with TrainingProgress(Recipe(epochs=2), 1, shown=True, console=console) as progress:
        for number in (1, 2):
            score = torch.tensor([0.25])
            progress(Epoch(number, [0], torch.tensor([0.5]), score, score, None))
    assert "loss 0.5000, validation accuracy 0.2500" in output.getvalue()
    assert ("epoch 2 of 2" in output.getvalue()) == (not terminal)


def test_nothing_is_shown_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    CLIPClassifier(**{**FAST, "epochs": 1}).fit(GRAPHS, CLASSES)
    assert capsys.readouterr() == ("", "")
    CLIPClassifier(**{**FAST, "epochs": 1}, verbose=True).fit(GRAPHS, CLASSES)
    assert "epoch 1 of 1: loss" in capsys.readouterr().err


@pytest.mark.parametrize("coloring", ["random", "refined", "individualized"])
def test_the_number_of_colorings_depends_on_the_graphs(coloring: str) -> None:
    """One where message passing identifies most nodes."""
    options = {**FAST, "epochs": 1, "num_colorings": "auto", "coloring": coloring}
    for make, expected in ((nx.cycle_graph, 16), (nx.path_graph, 16), (asymmetric_tree, 1)):
        graphs = [make(size) for size in (7, 8, 9, 10)]
        model = CLIPRegressor(**options).fit(graphs, np.arange(4.0))
        assert model.models_[0].num_colorings == expected


def asymmetric_tree(size: int) -> "nx.Graph[int]":
    """A path with another node at its third one."""
    tree = nx.path_graph(size - 1)
    tree.add_edge(2, size - 1)
    return tree
