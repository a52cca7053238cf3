"""The checks of scikit-learn on data, repeated on graphs: lists of networkx and data sets.

`test_scikit_learn.py` runs the originals on rows of numbers.
"""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.estimators.examples import rings_and_chains

from clipgnn import CLIPClassifier, CLIPEmbedding, CLIPRegressor, PackedGraphs

QUICK: dict[str, Any] = {
    "epochs": 2,
    "num_colorings": 2,
    "num_layers": 1,
    "hidden_channels": 4,
    "batch_size": 8,
    "random_state": 0,
}
GRAPHS, CLASSES = rings_and_chains(12)
SIZES = [float(len(graph)) for graph in GRAPHS]
TARGETS: dict[type, list[Any]] = {
    CLIPClassifier: CLASSES,
    CLIPRegressor: SIZES,
    CLIPEmbedding: CLASSES,
}
every_estimator = pytest.mark.parametrize("kind", TARGETS)
every_container = pytest.mark.parametrize(
    "contain", [list, PackedGraphs.from_networkx], ids=["networkx", "PackedGraphs"]
)
Contain = Callable[[Any], Any]


def outputs(model: Any, graphs: Any) -> list[NDArray[Any]]:
    """What every method of an estimator returns for graphs."""
    names = ("predict", "predict_proba", "transform")
    return [getattr(model, name)(graphs) for name in names if hasattr(model, name)]


def assert_same(ours: list[NDArray[Any]], theirs: list[NDArray[Any]]) -> None:
    assert len(ours) == len(theirs) > 0
    for own, other in zip(ours, theirs, strict=True):
        if own.dtype.kind == "f":
            np.testing.assert_allclose(own, other, atol=1e-5)
        else:
            np.testing.assert_array_equal(own, other)


def tensors(graphs: PackedGraphs) -> list[Any]:
    return [value.clone() for value in vars(graphs).values() if isinstance(value, torch.Tensor)]


@every_estimator
@every_container
def test_fit_returns_self_and_is_idempotent(kind: type, contain: Contain) -> None:
    model: Any = kind(**QUICK)
    graphs = contain(GRAPHS)
    assert model.fit(graphs, TARGETS[kind]) is model
    first = outputs(model, graphs)
    again = outputs(model.fit(graphs, TARGETS[kind]), graphs)
    for own, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(own, other)


@every_estimator
def test_containers_are_equal(kind: type) -> None:
    array = np.empty(len(GRAPHS), dtype=object)
    array[:] = GRAPHS
    containers = (GRAPHS, tuple(GRAPHS), array, PackedGraphs.from_networkx(GRAPHS))
    found = [outputs(kind(**QUICK).fit(graphs, TARGETS[kind]), graphs) for graphs in containers]
    for own in found[1:]:
        assert_same(own, found[0])


@every_estimator
@every_container
def test_parameters_graphs_and_targets_are_not_changed(kind: type, contain: Contain) -> None:
    model: Any = kind(**QUICK, n_draws=2)
    parameters = copy.deepcopy(model.get_params())
    graphs, y = contain(GRAPHS), list(TARGETS[kind])
    before = tensors(graphs) if contain is not list else copy.deepcopy(GRAPHS)
    attributes = set(vars(model))
    model.fit(graphs, y)
    assert all(name.endswith("_") for name in set(vars(model)) - attributes)
    fitted = {name: pickle.dumps(value) for name, value in vars(model).items()}
    outputs(model, graphs)
    assert {name: pickle.dumps(value) for name, value in vars(model).items()} == fitted
    assert model.get_params() == parameters
    assert y == TARGETS[kind]
    if isinstance(before[0], torch.Tensor):
        assert all(map(torch.equal, tensors(graphs), before))
    else:
        for ours, theirs in zip(graphs, before, strict=True):
            assert nx.utils.graphs_equal(ours, theirs)


@every_estimator
@every_container
def test_subsets_and_orders(kind: type, contain: Contain) -> None:
    graphs = contain(GRAPHS)
    model = kind(**QUICK, n_ensemble=2, n_draws=2).fit(graphs, TARGETS[kind])
    expected = outputs(model, graphs)
    order = np.random.default_rng(0).permutation(len(GRAPHS))
    chosen = [order, order[:5], order[:1], np.repeat(order[:2], 3)]
    for indices in chosen:
        own = graphs[indices] if contain is not list else [GRAPHS[index] for index in indices]
        assert_same(outputs(model, own), [value[indices] for value in expected])


@every_estimator
def test_nodes_in_another_order(kind: type) -> None:
    """Without random colorings the outputs do not depend on the order of the nodes."""
    model = kind(**{**QUICK, "num_colorings": 0}).fit(GRAPHS, TARGETS[kind])
    reversed_graphs = []
    for graph in GRAPHS:
        other: Any = nx.Graph()
        other.add_nodes_from(reversed(list(graph.nodes(data=True))))
        other.add_edges_from(reversed(list(graph.edges)))
        reversed_graphs.append(other)
    assert_same(outputs(model, reversed_graphs), outputs(model, GRAPHS))


@every_estimator
@every_container
def test_pickles_and_copies_in_memory(kind: type, contain: Contain) -> None:
    graphs = contain(GRAPHS)
    model = kind(**QUICK).fit(graphs, TARGETS[kind])
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_same(outputs(again, graphs), outputs(model, graphs))
        assert again.get_params() == model.get_params()
    assert_same(outputs(model, pickle.loads(pickle.dumps(graphs))), outputs(model, graphs))


@every_estimator
def test_clones_and_parameters(kind: type) -> None:
    model: Any = kind(**QUICK).fit(GRAPHS, TARGETS[kind])
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        outputs(copied, GRAPHS)
    assert_same(outputs(copied.fit(GRAPHS, TARGETS[kind]), GRAPHS), outputs(model, GRAPHS))
    for name, value in kind().get_params().items():
        assert kind(**{name: value}).get_params()[name] is value
        assert model.set_params(**{name: value}) is model
    assert model.get_params() == kind().get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'magic'"):
        model.set_params(magic=1)


@every_estimator
def test_kinds_of_estimators(kind: type) -> None:
    model = kind()
    assert is_classifier(model) == (kind is CLIPClassifier)
    assert is_regressor(model) == (kind is CLIPRegressor)
    assert not model.__sklearn_tags__().input_tags.two_d_array


@every_estimator
def test_targets_as_list_array_and_column(kind: type) -> None:
    y = np.array(TARGETS[kind])
    expected = outputs(kind(**QUICK).fit(GRAPHS, y), GRAPHS)
    read_only = y.copy()
    read_only.flags.writeable = False
    for own in (list(y), tuple(y.tolist()), read_only, np.asfortranarray(y), y[::-1][::-1]):
        assert_same(outputs(kind(**QUICK).fit(GRAPHS, own), GRAPHS), expected)
    if kind is CLIPRegressor:
        assert kind(**QUICK).fit(GRAPHS, y[:, None]).predict(GRAPHS).shape == (12, 1)
        return
    with pytest.warns(DataConversionWarning, match="column-vector"):
        column = kind(**QUICK).fit(GRAPHS, y[:, None])
    assert_same(outputs(column, GRAPHS), expected)


@pytest.mark.parametrize(
    "labels",
    [
        ("ring", "chain"),
        (np.str_("ring"), np.str_("chain")),
        (True, False),
        (np.True_, np.False_),
        (1, 0),
        (-7, 7),
        (np.int8(1), np.int8(0)),
        (1.0, 0.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("as_objects", [False, True])
def test_classes_of_every_type(labels: tuple[Any, Any], as_objects: bool) -> None:
    y: Any = [labels[own == "chain"] for own in CLASSES]
    if as_objects:
        y, given = np.empty(len(CLASSES), dtype=object), y
        y[:] = given
    model = CLIPClassifier(**QUICK).fit(GRAPHS, y)
    assert model.classes_.tolist() == sorted(labels)
    predicted = model.predict(GRAPHS)
    assert predicted.dtype == model.classes_.dtype
    assert set(predicted.tolist()) <= set(labels)
    assert 0 <= model.score(GRAPHS, np.array(list(y))) <= 1


@every_estimator
def test_targets_as_tensors(kind: type) -> None:
    y = torch.tensor(SIZES if kind is CLIPRegressor else [own == "ring" for own in CLASSES])
    model: Any = kind(**QUICK).fit(GRAPHS, y)
    assert_same(outputs(model, GRAPHS), outputs(kind(**QUICK).fit(GRAPHS, y.numpy()), GRAPHS))
    numbers = torch.tensor(SIZES, requires_grad=True)
    CLIPRegressor(**QUICK).fit(GRAPHS, numbers)


def test_read_only_tensors_from_numpy() -> None:
    """Attributes in arrays of nodes that cannot be written."""
    values = np.arange(6.0).reshape(3, 2)
    values.flags.writeable = False
    graphs: list[Any] = [nx.path_graph(3) for _ in GRAPHS]
    for graph in graphs:
        nx.set_node_attributes(graph, dict(enumerate(values)), "vector")
    model = CLIPClassifier(**QUICK).fit(graphs, CLASSES)
    assert model.models_[0].config.in_channels == 2


@every_estimator
def test_an_instance_as_random_state(kind: type) -> None:
    """It is advanced by fit, so that the second call draws other numbers."""
    results = []
    for _ in range(2):
        model: Any = kind(**{**QUICK, "random_state": np.random.RandomState(3)})
        first = outputs(model.fit(GRAPHS, TARGETS[kind]), GRAPHS)[-1]
        second = outputs(model.fit(GRAPHS, TARGETS[kind]), GRAPHS)[-1]
        results.append((first, second))
    np.testing.assert_array_equal(results[0], results[1])
    if kind is CLIPEmbedding:
        assert not np.array_equal(results[0][0], results[0][1])


def double(graphs: list[Any]) -> list[Any]:
    return [nx.disjoint_union(graph, graph) for graph in graphs]


class LastStep(FunctionTransformer):  # type: ignore[misc]
    """The last step of a pipeline: a score that needs vectors of graphs."""

    def score(self, X: Any, y: Any) -> float:
        assert X.shape == (len(y), 4)
        return float(np.abs(X).mean())


@every_container
def test_meta_estimators_in_two_threads(contain: Contain) -> None:
    """`test_estimators.py` has processes, which take seconds to start."""
    graphs, y = contain(GRAPHS), np.array(CLASSES)
    model = CLIPClassifier(**QUICK)
    with parallel_config("threading", n_jobs=2):
        search = GridSearchCV(model, {"hidden_channels": [4, 8]}, cv=2).fit(graphs, y)
        assert search.predict(graphs).shape == y.shape
        calibrated = CalibratedClassifierCV(model, cv=2).fit(graphs, y)
        np.testing.assert_allclose(calibrated.predict_proba(graphs).sum(axis=1), 1)
        assert cross_val_predict(model, graphs, y, cv=3).shape == y.shape
        vectors = make_pipeline(CLIPEmbedding(**QUICK), StandardScaler(), LastStep())
        assert cross_val_score(vectors, graphs, SIZES, cv=2).shape == (2,)


def test_pipelines_of_lists() -> None:
    model = make_pipeline(FunctionTransformer(double), CLIPRegressor(**QUICK))
    assert cross_val_score(model, GRAPHS, SIZES, cv=2).shape == (2,)
