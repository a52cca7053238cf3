"""Graphs, targets and parameters that estimators refuse, each with one clear error."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError
from tests.estimators.examples import FAST, rings_and_chains
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import from_networkx

from clipgnn import CLIPClassifier, CLIPEmbedding, CLIPRegressor, PackedGraphs
from clipgnn.errors import ClipGNNError, InvalidGraphError, InvalidParameterError

pytestmark = pytest.mark.usefixtures("without_shape_checks")

NAN, INFINITY = float("nan"), float("inf")
QUICK = {**FAST, "epochs": 1}
GRAPHS, CLASSES = rings_and_chains(12)
SIZES = [float(len(graph)) for graph in GRAPHS]
PLAIN: list[Any] = [nx.Graph(graph.edges) for graph in GRAPHS]
every_estimator = pytest.mark.parametrize("kind", [CLIPClassifier, CLIPRegressor, CLIPEmbedding])


def pyg(graphs: list[Any]) -> list[Data]:
    return [from_networkx(nx.Graph(graph.edges)) for graph in graphs]


def with_values(value: Any, graph: int = 3, other: Any = 1.0) -> list[Any]:
    """Graphs whose nodes have one value of an attribute, except for those of one graph."""
    graphs = [own.copy() for own in PLAIN]
    for number, own in enumerate(graphs):
        nx.set_node_attributes(own, dict.fromkeys(own, value if number == graph else other), "a")
    return graphs


LISTS: dict[str, tuple[Any, str]] = {
    "none": ([], "at least one graph. Got none"),
    "an empty tuple": ((), "at least one graph"),
    "an empty array": (np.array([]), "at least one graph"),
    "None": (None, "must be a list of graphs of networkx, .* or a PackedGraphs. Got NoneType"),
    "a string": ("CCO", "Got a single str"),
    "a number": (3, "Got int"),
    "a dictionary": (dict(enumerate(GRAPHS)), "Got dict"),
    "rows": (np.ones((12, 2)), "Got ndarray with 2 axes"),
    "a column of graphs": (np.array([[graph] for graph in ("a", "b")]), "Got ndarray with 2 axes"),
    "one graph": (GRAPHS[0], "Got a single Graph. Use a list of one"),
    "one graph of PyG": (Data(), "Got a single Data. Use a list of one"),
    "a batch of PyG": (Batch.from_data_list(pyg(GRAPHS)), r"Use its to_data_list\(\)"),
    "batches of PyG": ([Batch.from_data_list(pyg(GRAPHS))] * 12, "one graph. Got a batch of 12"),
    "one matrix": (sparse.eye_array(3), "Got a single dia_array"),
    "a loader of PyG": (DataLoader(pyg(GRAPHS)), r"Got DataLoader. Use its dataset\."),
    "a set": (set(GRAPHS), r"Got a set, which has no order. Use a list\."),
    "dense matrices": ([np.eye(3)] * 12, "Got ndarray as graph 0. Use scipy.sparse.csr_array"),
    "None in the list": ([*GRAPHS[:-1], None], "Got NoneType as graph 11"),
    "None first": ([None, *GRAPHS[1:]], "Got NoneType as graph 0"),
    "two libraries": ([*PLAIN[:-1], Data()], "Got Data as graph 11. Convert .* is of torch_geom"),
    "two libraries, PyG first": ([*pyg(GRAPHS)[:-1], GRAPHS[-1]], "Got Graph as graph 11. Convert"),
    "data sets": ([PackedGraphs.from_networkx(GRAPHS)] * 2, "Got PackedGraphs as graph 0"),
    "graphs without nodes": ([nx.Graph()] * 12, "at least one node"),
    "a missing number": (with_values(None), "Got None in graph 3, node 0"),
    "NaN": (with_values(NAN), "'a' of the nodes must be a finite number.* Got nan in graph 3"),
    "infinity": (with_values(INFINITY), "Got inf in graph 3, node 0"),
    "widths": (with_values([1.0], other=[1.0, 2.0]), r"must be 2 finite.* Got \[1.0\] in graph 3"),
    "NaN of PyG": (
        [Data(x=torch.full((2, 1), NAN), edge_index=torch.tensor([[0, 1], [1, 0]]))] * 12,
        "'?x'? .*must be (a )?finite",
    ),
    "widths of PyG": (
        [
            Data(x=torch.ones(2, width), edge_index=torch.tensor([[0, 1], [1, 0]]))
            for width in [2] * 11 + [3]
        ],
        "Graph 11: x must have one dtype, the same channels",
    ),
}


@every_estimator
@pytest.mark.parametrize(("graphs", "message"), LISTS.values(), ids=LISTS.keys())
def test_graphs(kind: Any, graphs: Any, message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        kind(**QUICK).fit(graphs, CLASSES if kind is not CLIPRegressor else SIZES)


@pytest.mark.needs("pandas")
def test_tables() -> None:
    import pandas

    with pytest.raises(InvalidGraphError, match=r"Got DataFrame with 2 axes\. Use one of its"):
        CLIPClassifier(**QUICK).fit(pandas.DataFrame({"graph": range(12)}), CLASSES)
    column = pandas.Series(PLAIN, index=range(5, 17))
    model = CLIPClassifier(**QUICK).fit(column, pandas.Series(CLASSES))
    assert model.predict(column).shape == (12,)


CLASS_TARGETS: dict[str, tuple[Any, str]] = {
    "fewer": (CLASSES[:-1], "y must have a row for each of the 12 graphs. Got 11"),
    "more": ([*CLASSES, "ring"], "each of the 12 graphs. Got 13"),
    "none": ([], "y must be a list of classes, one for each graph. Got none"),
    "None": (None, "list of classes, one for each graph. Got None"),
    "a string": ("ring", "Got 'ring'"),
    "a generator": (iter(CLASSES), "list of classes"),
    "one class": (["ring"] * 12, "at least two classes. Got one class, 'ring'"),
    "NaN": ([0.0, NAN] * 6, "y must have a class for each graph. Got nan for graph 1"),
    "NaN and strings": (["ring", NAN] * 6, "Got nan for graph 1"),
    "None and strings": ([*CLASSES[:-1], None], "Got None for graph 11. Leave out graphs"),
    "infinity": ([0.0, INFINITY] * 6, "the number inf"),
    "fractions": (np.linspace(0, 1, 12), "the number 0.0909.* Use CLIPRegressor"),
    "strings and numbers": (["ring", 1] * 6, "classes of one type. Got 'ring' and 1"),
    "bytes": ([b"ring", b"chain"] * 6, "strings, booleans or numbers. Got b'ring' of type bytes"),
    "dates": (np.array(["2020", "2021"] * 6, dtype="datetime64[Y]"), "strings, booleans or"),
    "objects": (np.array([{"a"}, {"b"}] * 6), "strings, booleans or numbers. Got {'b'} of type se"),
    "complex numbers": (np.array([1j, 2j] * 6), "strings, booleans or numbers"),
    "several columns": (np.ones((12, 2)), r"Got the shape \[12, 2\]. Use CLIPRegressor"),
    "rows of two lengths": ([[1], [1, 2]] * 6, "the same number of targets"),
}


@pytest.mark.parametrize(("y", "message"), CLASS_TARGETS.values(), ids=CLASS_TARGETS.keys())
def test_classes(y: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CLIPClassifier(**QUICK).fit(PLAIN, y)


NUMBER_TARGETS: dict[str, tuple[Any, str]] = {
    "fewer": (SIZES[:-1], "y must have a row for each of the 12 graphs. Got 11"),
    "None": (None, r"y must be finite numbers, \[graphs\] or \[graphs, targets\].* Got None"),
    "none": ([], r"Got the shape \[0\]"),
    "a number": (1.0, r"Got the shape \[\]"),
    "strings": (["a"] * 12, "finite numbers, .* Got 'a'"),
    "numbers as strings": (["1", "2"] * 6, "finite numbers, .* Got '1'"),
    "objects": ([{"a"}] * 12, "finite numbers, .* Got {'a'}"),
    "complex numbers": (np.arange(12) * 1j, "finite numbers"),
    "infinity": ([INFINITY] * 12, "at most 3.4e.38. Got inf"),
    "large numbers": ([1e300, -1e300] * 6, "at most 3.4e.38. Got 1e.300"),
    "NaN only": ([NAN] * 12, r"must be known for some graph. Got only missing values\."),
    "a column of NaN": (np.array([[1.0, NAN]] * 12), "Got only missing values in column 1"),
    "three axes": (np.ones((12, 1, 1)), r"Got the shape \[12, 1, 1\]"),
    "rows of two lengths": ([[1], [1, 2]] * 6, "the same number of targets"),
}


@pytest.mark.parametrize(("y", "message"), NUMBER_TARGETS.values(), ids=NUMBER_TARGETS.keys())
def test_numbers(y: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CLIPRegressor(**QUICK).fit(PLAIN, y)


@pytest.mark.parametrize("loss", ["mse", "cross-entropy", "binary-cross-entropy", None, abs])
def test_losses_of_numbers(loss: Any) -> None:
    with pytest.raises(InvalidParameterError, match="loss must be one of 'squared-error', 'absol"):
        CLIPRegressor(**QUICK, loss=loss).fit(PLAIN, SIZES)


def test_scores_of_other_targets() -> None:
    model = CLIPRegressor(**QUICK).fit(PLAIN, SIZES)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[11, 12\]"):
        model.score(PLAIN, SIZES[:-1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(PLAIN, SIZES, sample_weight=[1.0])
    with pytest.raises(InvalidParameterError, match=r"must have 1 targets .* Got 2\."):
        model.score(PLAIN, np.ones((12, 2)))
    with pytest.raises(InvalidParameterError, match="y must have a known target"):
        model.score(PLAIN, [NAN] * 12)


PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"n_ensemble": 0}, "n_ensemble must be an integer of at least 1. Got 0"),
    ({"n_ensemble": 2.0}, "n_ensemble must be an integer of at least 1. Got 2.0"),
    ({"n_draws": True}, "n_draws must be an integer"),
    ({"epochs": 0}, "The 'epochs' parameter of CLIPClassifier must be an integer from 1 to"),
    ({"epochs": "auto"}, "'epochs' parameter .* Got 'auto'"),
    ({"patience": 0}, "'patience' parameter of CLIPClassifier must be .* or None. Got 0"),
    ({"dropout": 1.0}, "'dropout' parameter of CLIPClassifier must be .* below 1. Got 1.0"),
    ({"num_colorings": "many"}, "from 0 to 10000000 or \"auto\". Got 'many'"),
    ({"num_colors": 0}, "'num_colors' parameter of CLIPClassifier must be .* or \"auto\". Got 0"),
    ({"batch_size": 1}, "'batch_size' parameter of CLIPClassifier must be .* or \"auto\". Got 1"),
    ({"coloring": "rainbow"}, "coloring must be"),
    ({"validation_fraction": 2.0}, "validation_fraction .*must be between 0 and 1. Got 2.0"),
    ({"validation_fraction": "a"}, "validation_fraction .*must be between 0 and 1. Got 'a'"),
    ({"validation_fraction": 0.01}, "Both parts must have a graph of each of the 2 classes"),
    ({"device": "abacus"}, "device must be"),
    ({"class_weight": "heavy"}, 'class_weight must be a dictionary by class, "balanced" or None'),
    ({"class_weight": "balancd"}, r"Got 'balancd'. Did you mean 'balanced'\?"),
    ({"class_weight": np.ones(2)}, "class_weight must be a dictionary by class"),
    ({"class_weight": [1, 2]}, "class_weight must be a dictionary by class"),
    ({"class_weight": {"bow": 1.0}}, "must have classes of y. Got 'bow'"),
    ({"class_weight": {"ring": -1.0}}, "finite numbers above 0. Got -1.0 for the class 'ring'"),
    ({"class_weight": {"ring": None}}, "finite numbers above 0. Got None"),
    ({"class_weight": {"ring": "2"}}, "finite numbers above 0. Got '2'"),
    ({"random_state": -1}, r"random_state must be an integer from 0 to 2\^32 - 1, .* Got -1"),
    ({"random_state": 2**32}, "random_state must be an integer"),
    ({"random_state": "a"}, "random_state must be an integer"),
    ({"random_state": np.random.default_rng(0)}, "random_state must be .* Got Generator"),
    ({"node_attributes": "letter"}, r"Use \['letter'\]"),
    ({"node_attributes": ["lettre"]}, "Did you mean 'letter'?"),
    ({"kinds": {"letter": "word"}}, "'category' or 'number'. Got 'word'"),
    ({"kinds": "category"}, "kinds must be a dictionary"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CLIPClassifier(**{**QUICK, **parameters}).fit(GRAPHS, CLASSES)


@pytest.mark.parametrize("y", [None, CLASSES])
def test_parameters_of_an_embedding(y: Any) -> None:
    with pytest.raises(InvalidParameterError, match="'num_layers' parameter of CLIPEmbedding"):
        CLIPEmbedding(**{**QUICK, "num_layers": 0}).fit(GRAPHS, y)


@pytest.mark.parametrize(
    "parameters",
    [{"node_attributes": ["letter"]}, {"graph_attributes": ["a"]}, {"kinds": {"letter": "number"}}],
)
def test_attributes_of_a_data_set_are_encoded_already(parameters: dict[str, Any]) -> None:
    [name] = parameters
    packed = PackedGraphs.from_networkx(GRAPHS)
    with pytest.raises(InvalidParameterError, match=f"{name} must not be given if X is a Packed"):
        CLIPClassifier(**QUICK, **parameters).fit(packed, CLASSES)


def test_few_graphs() -> None:
    with pytest.raises(InvalidParameterError, match="at least two graphs"):
        CLIPRegressor(**QUICK).fit(PLAIN[:1], [1.0])
    with pytest.raises(InvalidParameterError, match="train must have at least two graphs"):
        CLIPRegressor(**QUICK, validation_fraction=0.5).fit(PLAIN[:2], [1.0, 2.0])
    few = ["ring", *["chain"] * 11]
    with pytest.raises(InvalidParameterError, match=r"validation_fraction .*at least two graphs"):
        CLIPClassifier(**QUICK, validation_fraction=0.25).fit(PLAIN, few)
    CLIPClassifier(**QUICK).fit(PLAIN[:2], ["a", "b"])


@every_estimator
def test_before_fit(kind: Any) -> None:
    model = kind()
    names = ("predict", "predict_proba", "predict_spread", "explain", "transform")
    for name in filter(lambda name: hasattr(model, name), names):
        with pytest.raises(NotFittedError):
            getattr(model, name)(GRAPHS)
    with pytest.raises(NotFittedError):
        model.save("model")


@every_estimator
def test_graphs_to_predict(kind: Any) -> None:
    model = kind(**QUICK).fit(GRAPHS, SIZES if kind is CLIPRegressor else CLASSES)
    predict = model.transform if kind is CLIPEmbedding else model.predict
    for graphs, message in [
        ([], "at least one graph"),
        (None, "Got NoneType"),
        (GRAPHS[0], "Got a single Graph"),
        (PLAIN, "nodes must have the attribute 'letter'. Got no attributes"),
        (PackedGraphs.from_networkx(PLAIN), "the attribute 'letter' of the encoding. Got none"),
    ]:
        with pytest.raises(InvalidGraphError, match=message):
            predict(graphs)
    model.set_params(n_draws=0)
    with pytest.raises(InvalidParameterError, match="n_draws must be an integer"):
        predict(GRAPHS)


def test_edges_in_one_direction() -> None:
    model = CLIPClassifier(**QUICK, warm_start=True).fit(PLAIN, CLASSES)
    one_way: Any = [nx.DiGraph(graph.edges) for graph in PLAIN]
    with pytest.warns(UserWarning, match="undirected, as all training graphs were"):
        assert np.isfinite(model.predict_proba(one_way)).all()
    with pytest.raises(InvalidGraphError, match="Train a new model on directed graphs"):
        model.fit(one_way, CLASSES)
    directed = CLIPClassifier(**QUICK).fit(one_way, CLASSES)
    assert np.isfinite(directed.predict_proba(PLAIN)).all()  # both directions


def test_categories_that_were_not_seen_cannot_be_trained() -> None:
    model = CLIPClassifier(**QUICK, warm_start=True).fit(GRAPHS, CLASSES)
    graphs = [graph.copy() for graph in GRAPHS]
    graphs[2].nodes[1]["letter"] = "z"
    with pytest.raises(InvalidGraphError, match="Got 'z' in graph 2, node 1"):
        model.fit(graphs, CLASSES)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hidden_channels": 4}, "hidden_channels must be 8, as in the first call of fit"),
        ({"num_layers": 2}, "num_layers must be 1"),
        ({"num_colorings": 3}, "num_colorings must be 2"),
        ({"dropout": 0.5}, "dropout must be 0.0"),
        ({"n_ensemble": 1}, "n_ensemble must be 2"),
    ],
)
def test_networks_do_not_change_in_a_warm_start(changed: dict[str, Any], message: str) -> None:
    model = CLIPClassifier(**QUICK, n_ensemble=2, warm_start=True).fit(PLAIN, CLASSES)
    with pytest.raises(InvalidParameterError, match=message):
        model.set_params(**changed).fit(PLAIN, CLASSES)


def test_other_targets_in_a_warm_start() -> None:
    model = CLIPRegressor(**QUICK, warm_start=True).fit(PLAIN, SIZES)
    with pytest.raises(ClipGNNError, match="out_channels=2"):
        model.fit(PLAIN, np.stack([SIZES, SIZES], axis=1))


def labels(*numbers: int) -> Data:
    edges = torch.tensor([[0, 1], [1, 0]])
    return Data(x=torch.tensor(numbers), edge_index=edges)


def test_labels_given_as_tensors_keep_their_numbers() -> None:
    """Without a vocabulary, a list of graphs is read as the training graphs were."""
    graphs = [labels(number % 3, 2) for number in range(12)]
    model = CLIPClassifier(**{**QUICK, "num_colorings": 0})
    model.fit(PackedGraphs.from_data_list(graphs), CLASSES)
    assert model.encoding_ is None
    expected = model.predict_proba(PackedGraphs.from_data_list(graphs))
    np.testing.assert_allclose(model.predict_proba(graphs), expected, atol=1e-6)
    few = [labels(1, 1), labels(1, 0)]
    together = model.predict_proba([*few, *graphs])[:2]
    np.testing.assert_allclose(model.predict_proba(few), together, atol=1e-6)
    with pytest.raises(InvalidGraphError, match=r"torch_geometric.data.Data. Got Graph as graph 0"):
        model.predict(PLAIN)


def test_weights_of_ones_and_graphs_without_edges_are_predicted_alone() -> None:
    weighted = [sparse.csr_array(nx.to_numpy_array(own) * (1 + n)) for n, own in enumerate(PLAIN)]
    model = CLIPClassifier(**QUICK).fit(weighted, CLASSES)
    expected = model.predict_proba(weighted)
    np.testing.assert_allclose(model.predict_proba(weighted[:1]), expected[:1], atol=1e-5)
    empty = sparse.csr_array((3, 3))
    both = model.predict_proba([empty, *weighted])
    np.testing.assert_allclose(model.predict_proba([empty]), both[:1], atol=1e-5)
