"""The model agrees with the slow reference, Eqs. (5) and (9), in float64."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from tests.drawing import Number, drawing
from tests.reference.clip_reference import (
    Array,
    Graphs,
    Integers,
    Reference,
    color_code,
    colorings_of,
)
from torch import Tensor

from clipgnn.nn import CLIP

TOLERANCE = 1e-10
EDGE_CHANNELS = 2
GRAPH_CHANNELS = 3


@dataclass(frozen=True)
class Case:
    """Parameters of the model that differ from the plain ones, and what the graphs carry."""

    parameters: dict[str, Any]
    labels: bool = False
    edge_weight: bool = False
    edge_attr: bool = False
    graph_attr: bool = False


CASES = {
    "plain": Case({}),
    "one layer": Case({"num_layers": 1}),
    "binary code": Case({"color_code": "binary"}),
    "binary code of five": Case({"color_code": "binary", "num_colors": 5}),
    "no norm": Case({"norm": None}),
    "tanh": Case({"activation": "tanh"}),
    "directed": Case({"directed": True}),
    "labels": Case({}, labels=True),
    "edge weights": Case({}, edge_weight=True),
    "edge attributes": Case({"edge_channels": EDGE_CHANNELS}, edge_attr=True),
    "graph attributes": Case({"graph_channels": GRAPH_CHANNELS}, graph_attr=True),
    "directed edge attributes": Case(
        {"directed": True, "edge_channels": EDGE_CHANNELS}, edge_attr=True
    ),
    "directed edge weights": Case({"directed": True}, edge_weight=True),
    "everything": Case(
        {
            "directed": True,
            "edge_channels": EDGE_CHANNELS,
            "graph_channels": GRAPH_CHANNELS,
            "color_code": "binary",
            "num_layers": 3,
        },
        edge_weight=True,
        edge_attr=True,
        graph_attr=True,
    ),
    "everything, labels, no norm": Case(
        {
            "directed": True,
            "edge_channels": EDGE_CHANNELS,
            "graph_channels": GRAPH_CHANNELS,
            "norm": None,
        },
        labels=True,
        edge_weight=True,
        edge_attr=True,
        graph_attr=True,
    ),
}
IN_CHANNELS = 3

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def random_graphs(case: Case, generator: np.random.Generator) -> Graphs:
    """Five graphs with groups of equal nodes, self-loops, parallel edges and isolated nodes.

    One has no edges and one a single node. Edges have one direction unless chance adds the other.
    """
    sizes, num_edges = [5, 1, 4, 3, 4], [9, 0, 6, 0, 4]
    labels = [0, 1, 0, 0, 1, 2, 2, 0, 2, 2, 1, 1, 1, 0, 1, 2, 0]
    edges = []
    for graph, (size, count) in enumerate(zip(sizes, num_edges, strict=True)):
        ends = generator.integers(size, size=(count, 2)) + sum(sizes[:graph])
        edges += [(int(source), int(target)) for source, target in ends]
    rows = generator.normal(size=(3, IN_CHANNELS))
    return Graphs(
        x=np.array(labels) if case.labels else rows[labels],
        edges=edges,
        batch=np.repeat(np.arange(5), sizes),
        edge_weight=generator.normal(size=len(edges)) if case.edge_weight else None,
        edge_attr=generator.normal(size=(len(edges), EDGE_CHANNELS)) if case.edge_attr else None,
        graph_attr=generator.normal(size=(5, GRAPH_CHANNELS)) if case.graph_attr else None,
    )


def random_colorings(graphs: Graphs, k: int, generator: np.random.Generator) -> Integers:
    """k colorings of every graph, drawn from the list of all of them."""
    blocks = []
    for graph in range(graphs.num_graphs):
        everything = np.array(list(colorings_of(graphs.one(graph).x)))
        blocks.append(everything[generator.integers(len(everything), size=k)])
    return np.concatenate(blocks, axis=1)


def model_of(case: Case, num_colorings: Number, **parameters: Any) -> CLIP:
    """A model in float64 whose weights and running statistics are all random, so that all count."""
    plain = {"hidden_channels": 6, "num_layers": 2, "num_colors": 6}
    model = CLIP(
        IN_CHANNELS, 2, **drawing(num_colorings), **(plain | case.parameters | parameters)
    ).double()
    generator = torch.Generator().manual_seed(0)
    for name, value in model.state_dict().items():
        if name.endswith(("running_var", "running_weight", "norm.weight")):
            torch.nn.init.uniform_(value, 0.5, 2.0, generator=generator)
        else:
            torch.nn.init.normal_(value, std=value.shape[1] ** -0.5, generator=generator)
    return model.requires_grad_(False)


def reference_of(case: Case, model: CLIP, *, member: int = 0) -> Reference:
    """The reference with the weights `model` has now."""
    parameters = case.parameters
    return Reference(
        {name: value.numpy().copy() for name, value in model.state_dict().items()},
        in_channels=IN_CHANNELS,
        num_layers=parameters.get("num_layers", 2),
        num_colors=parameters.get("num_colors", 6),
        color_code=parameters.get("color_code", "one-hot"),
        activation=parameters.get("activation", "relu"),
        norm="norm" not in parameters,
        directed=parameters.get("directed", False),
        member=member,
        training=model.training,
    )


def tensors(graphs: Graphs) -> dict[str, Any]:
    """The arguments of the model for these graphs, but for `graph_attr`, which `embed` lacks."""
    arguments: dict[str, Any] = {
        "x": graphs.x,
        "edge_index": np.array(graphs.edges, dtype=np.int64).reshape(-1, 2).T,
        "batch": graphs.batch,
        "edge_weight": graphs.edge_weight,
        "edge_attr": graphs.edge_attr,
    }
    return {
        name: torch.from_numpy(np.ascontiguousarray(value))
        for name, value in arguments.items()
        if value is not None
    }


def assert_close(actual: Tensor, expected: Array) -> None:
    assert actual.shape == expected.shape
    assert float(np.abs(expected).max()) > 0.1
    assert float(np.abs(actual.numpy() - expected).max()) < TOLERANCE


def assert_agree(model: CLIP, reference: Reference, graphs: Graphs, colorings: Any) -> None:
    """All three results of the model are those of the reference.

    `colorings` is that of the reference; None and "all" are not passed to the model.
    """
    arguments = tensors(graphs)
    given = torch.from_numpy(colorings) if isinstance(colorings, np.ndarray) else None
    graph_attr = None if graphs.graph_attr is None else torch.from_numpy(graphs.graph_attr)
    output = model(**arguments, graph_attr=graph_attr, colorings=given)
    assert_close(output, reference.forward(graphs, colorings))
    assert_close(model.embed(**arguments, colorings=given), reference.embed(graphs, colorings))
    nodes = reference.embed_nodes(graphs, colorings)
    assert_close(model.embed_nodes(**arguments, colorings=given), nodes)


def test_reference_on_a_graph_worked_out_by_hand() -> None:
    """Two nodes joined by an edge of weight 3, one hidden channel, no normalization."""
    weights = {
        "layers.0.phi.first.weight": [[[1.0], [10.0], [-20.0]]],
        "layers.0.phi.first.bias": [[0.5]],
        "layers.0.phi.second.weight": [[[2.0]]],
        "layers.0.psi.first.weight": [[[1.0], [100.0], [0.0], [-1.0]]],
        "layers.0.psi.first.bias": [[-2.0]],
        "layers.0.psi.second.weight": [[[-1.0]]],
        "layers.0.psi.second.bias": [[7.0]],
        "readout.first.weight": [[[1.0]]],
        "readout.first.bias": [[90.0]],
        "readout.second.weight": [[[0.5]]],
        "readout.second.bias": [[0.25]],
    }
    reference = Reference(
        {name: np.array(value) for name, value in weights.items()},
        in_channels=1,
        num_layers=1,
        num_colors=2,
        norm=False,
    )
    edge = Graphs(
        x=np.array([[4.0], [4.0]]),
        edges=[(0, 1)],
        batch=np.zeros(2, dtype=np.int64),
        edge_weight=np.array([3.0]),
    )
    # Color 0 sends relu(4 + 10 + 0.5) * 2 = 29, color 1 relu(4 - 20 + 0.5) * 2 = 0; thrice that
    # arrives. Colored (0, 1): nodes 7 - relu(4 + 100 - 2) and 7 - relu(4 - 87 - 2), together -88.
    # Colored (1, 0): 7 - relu(4 - 2) and 7 - relu(4 + 100 - 2), together -90.
    assert reference.embed(edge, "all").tolist() == [[-88.0]]
    assert reference.embed(edge, np.array([[1, 0]])).tolist() == [[-90.0]]
    assert reference.embed_nodes(edge, "all").tolist() == [[5.0], [7.0]]
    # The readout: relu(-88 + 90) / 2 + 0.25, and relu(-90 + 90) / 2 + 0.25.
    assert reference.forward(edge, "all").tolist() == [[1.25]]
    assert reference.forward(edge, np.array([[1, 0]])).tolist() == [[0.25]]


def test_color_codes_of_the_reference() -> None:
    assert color_code(2, 4, "one-hot").tolist() == [0, 0, 1, 0]
    assert color_code(6, 8, "binary").tolist() == [-1, 1, 1]
    assert len(color_code(0, 9, "binary")) == 4
    assert color_code(0, 1, "binary").tolist() == [-1]


@every_case
def test_reference_with_all_colorings_is_permutation_invariant(case: Case) -> None:
    generator = np.random.default_rng(1)
    graph = random_graphs(case, generator).one(0)
    reference = reference_of(case, model_of(case, "all").eval())
    order = generator.permutation(5).tolist()
    result = reference.forward(graph.permuted(order), "all")
    assert np.abs(result - reference.forward(graph, "all")).max() < 1e-12


@every_case
def test_without_colors(case: Case) -> None:
    graphs = random_graphs(case, np.random.default_rng(2))
    model = model_of(case, 0).eval()
    assert_agree(model, reference_of(case, model), graphs, None)


@every_case
@pytest.mark.parametrize("at_once", [None, 2])
def test_with_given_colorings(case: Case, at_once: int | None) -> None:
    generator = np.random.default_rng(3)
    graphs = random_graphs(case, generator)
    model = model_of(case, 5, colorings_at_once=at_once).eval()
    colorings = random_colorings(graphs, 5, generator)
    assert_agree(model, reference_of(case, model), graphs, colorings)


@every_case
@pytest.mark.parametrize("at_once", [None, 5])
def test_with_all_colorings(case: Case, at_once: int | None) -> None:
    graphs = random_graphs(case, np.random.default_rng(4))
    model = model_of(case, "all", colorings_at_once=at_once).eval()
    assert_agree(model, reference_of(case, model), graphs, "all")


@every_case
def test_of_several_members_each_has_its_own_weights(case: Case) -> None:
    generator = np.random.default_rng(5)
    graphs = random_graphs(case, generator)
    colorings = random_colorings(graphs, 4, generator)
    model = model_of(case, 4, num_members=3).eval()
    graph_attr = None if graphs.graph_attr is None else torch.from_numpy(graphs.graph_attr)
    given = torch.from_numpy(colorings)
    outputs = model(**tensors(graphs), graph_attr=graph_attr, colorings=given)
    nodes = model.embed_nodes(**tensors(graphs), colorings=given)
    for member in range(3):
        reference = reference_of(case, model, member=member)
        assert_close(outputs[member], reference.forward(graphs, colorings))
        assert_close(nodes[member], reference.embed_nodes(graphs, colorings))


def test_dropout_is_left_out_of_evaluation() -> None:
    case = CASES["plain"]
    generator = np.random.default_rng(6)
    graphs = random_graphs(case, generator)
    model = model_of(case, 3, dropout=0.9).eval()
    assert_agree(model, reference_of(case, model), graphs, random_colorings(graphs, 3, generator))


@every_case
@pytest.mark.parametrize("k", [0, 4])
@pytest.mark.parametrize("members", [1, 2])
def test_batch_statistics_in_training(case: Case, k: int, members: int) -> None:
    """Outputs by the statistics of the batch, and running statistics moved a tenth of the way."""
    generator = np.random.default_rng(7)
    graphs = random_graphs(case, generator)
    colorings = random_colorings(graphs, k, generator) if k else None
    model = model_of(case, k, num_members=members).train()
    references = [reference_of(case, model, member=member) for member in range(members)]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    output = model(
        **tensors(graphs),
        graph_attr=None if graphs.graph_attr is None else torch.from_numpy(graphs.graph_attr),
        colorings=None if colorings is None else torch.from_numpy(colorings),
    )
    after = model.state_dict()
    for member, reference in enumerate(references):
        expected = reference.forward(graphs, colorings)
        assert_close(output if members == 1 else output[member], expected)
        assert set(reference.running) == {name for name in after if "running" in name}
        for name, value in after.items():
            still = before[name][member].numpy()
            updated = reference.running.get(name, still)
            assert np.abs(value[member].numpy() - updated).max() < TOLERANCE


def test_batch_statistics_over_all_colorings_of_a_graph() -> None:
    case = CASES["plain"]
    graphs = random_graphs(case, np.random.default_rng(8)).one(0)
    model = model_of(case, "all").train()
    reference = reference_of(case, model)
    nodes = model.embed_nodes(**tensors(graphs))
    assert_close(nodes, reference.embed_nodes(graphs, "all"))
    for name, value in reference.running.items():
        assert np.abs(model.state_dict()[name][0].numpy() - value).max() < TOLERANCE


def test_streaming_in_training_without_normalization() -> None:
    case = CASES["no norm"]
    graphs = random_graphs(case, np.random.default_rng(9))
    model = model_of(case, "all", colorings_at_once=5).train()
    assert_agree(model, reference_of(case, model), graphs, "all")
