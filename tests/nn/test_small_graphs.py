"""Graphs with isolated nodes, a single node, no edges or no nodes."""

from typing import Any

import pytest
import torch
from tests.drawing import Number, drawing
from tests.nn.examples import assert_close, differ, example_batch, gradients, random_model
from torch import Tensor
from torch.nn.functional import softplus

from clipgnn.coloring import color_groups, sample_colorings
from clipgnn.nn import CLIP

NO_EDGES = torch.zeros(2, 0, dtype=torch.int64)
ROW = torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.float64)
every_k = pytest.mark.parametrize("num_colorings", [0, 1, 3, "all"])
with_and_without_edge_attributes = pytest.mark.parametrize("edge_channels", [0, 2])


def edge_attributes(edge_channels: int, count: int = 0) -> dict[str, Any]:
    if not edge_channels:
        return {}
    return {"edge_attr": torch.ones(count, edge_channels, dtype=torch.float64)}


def model_of(**parameters: Any) -> CLIP:
    """For evaluation, with an activation that is flat nowhere."""
    return random_model(activation="softplus", **parameters).eval().requires_grad_(False)


def alone(model: CLIP, x: Tensor, color: int) -> Tensor:
    """psi(x, 0) layer by layer for a node without neighbors, straight from the equation."""
    code = torch.eye(model.config.num_colors, dtype=torch.float64)[color]
    z = torch.cat([x, code]) if model.config.num_colorings else x
    weights = {name: value[0] for name, value in model.state_dict().items()}
    for layer in range(model.config.num_layers):
        psi = f"layers.{layer}.psi"
        zeros = weights[f"{psi}.first.weight"].shape[0] - z.numel()
        z = torch.cat([z, z.new_zeros(zeros)])
        z = z @ weights[f"{psi}.first.weight"] + weights[f"{psi}.first.bias"]
        seen = weights[f"{psi}.norm.running_weight"]
        mean, variance = (weights[f"{psi}.norm.running_{of}"] / seen for of in ("mean", "var"))
        z = (z - mean) / (variance + 1e-5).sqrt()
        z = softplus(z * weights[f"{psi}.norm.weight"] + weights[f"{psi}.norm.bias"])
        z = z @ weights[f"{psi}.second.weight"] + weights[f"{psi}.second.bias"]
    return z


@every_k
@with_and_without_edge_attributes
@pytest.mark.parametrize("directed", [False, True])
def test_a_single_node(num_colorings: Number, edge_channels: int, directed: bool) -> None:
    model = model_of(**drawing(num_colorings), edge_channels=edge_channels, directed=directed)
    node = model.embed(ROW, NO_EDGES, **edge_attributes(edge_channels))
    assert_close(node, alone(model, ROW[0], color=0)[None])
    assert_close(model.embed_nodes(ROW, NO_EDGES, **edge_attributes(edge_channels)), node)
    assert model(ROW, NO_EDGES, **edge_attributes(edge_channels)).shape == (1, 2)


@with_and_without_edge_attributes
def test_an_isolated_node_beside_others(edge_channels: int) -> None:
    model = model_of(num_colorings=1, edge_channels=edge_channels)
    x = torch.cat([ROW, -ROW, 2 * ROW])
    edges = torch.tensor([[0, 2], [2, 0]])
    attributes = edge_attributes(edge_channels, 2)
    coloring = torch.tensor([[0, 3, 1]])
    nodes = model.embed_nodes(x, edges, **attributes, colorings=coloring)
    assert_close(nodes[1], alone(model, x[1], color=3))
    assert differ(nodes[0], alone(model, x[0], color=0))


@every_k
@with_and_without_edge_attributes
def test_graphs_without_edges(num_colorings: Number, edge_channels: int) -> None:
    """Sums over nodes with equal attributes and no neighbors, which no coloring changes."""
    model = model_of(**drawing(num_colorings), edge_channels=edge_channels)
    x, batch = ROW.expand(5, 3), torch.tensor([0, 0, 0, 1, 1])
    graphs = model.embed(x, NO_EDGES, batch, **edge_attributes(edge_channels))
    colors = [0, 1, 2] if num_colorings else [0, 0, 0]
    assert_close(graphs[0], sum((alone(model, ROW[0], c) for c in colors), torch.zeros(5).double()))


@every_k
@with_and_without_edge_attributes
@pytest.mark.parametrize("norm", ["batch", None])
def test_training_without_edges(
    num_colorings: Number, edge_channels: int, norm: str | None
) -> None:
    model = random_model(**drawing(num_colorings), edge_channels=edge_channels, norm=norm)
    x, batch = torch.cat([ROW.expand(3, 3), -ROW]), torch.tensor([0, 0, 1, 1])
    output = model.train()(x, NO_EDGES, batch, **edge_attributes(edge_channels))
    reached = gradients(model, output)
    assert bool(torch.isfinite(output).all())
    assert all(bool(torch.isfinite(value).all()) for value in reached.values())
    assert any(value.any() for value in reached.values())
    assert all(bool(torch.isfinite(value).all()) for value in model.state_dict().values())


def with_an_empty_graph(arguments: dict[str, Any], place: int) -> dict[str, Any]:
    """The same graphs, with one that has no nodes before graph `place`."""
    batch = arguments["batch"]
    graph_attr = arguments["graph_attr"]
    return {
        **arguments,
        "batch": batch + (batch >= place),
        "graph_attr": torch.cat([graph_attr[:place], 9 * graph_attr[:1], graph_attr[place:]]),
        "batch_size": 5,
    }


@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("at_once", [None, 5])
@pytest.mark.parametrize("members", [1, 2])
def test_a_graph_without_nodes(place: int, at_once: int | None, members: int) -> None:
    """The sum over its nodes is zero, and the others do not notice it."""
    model = random_model(
        coloring="all", graph_channels=2, colorings_at_once=at_once, num_members=members
    ).eval()
    arguments = example_batch(graph_channels=2)
    wider = with_an_empty_graph(arguments, place)
    others = torch.arange(5) != place
    output = model(**wider)
    assert_close(output[..., others, :], model(**arguments))
    pooled = torch.cat([torch.zeros(1, 5).double(), wider["graph_attr"][place, None]], dim=1)
    readout = model.readout
    assert readout.norm is not None
    expected = readout.second(torch.relu(readout.norm(readout.first(pooled.expand(members, 1, 7)))))
    assert_close(output[..., place, :].reshape(members, 2), expected[:, 0])
    wider.pop("graph_attr")
    embedded = model.embed(**wider)
    assert not embedded[..., place, :].any()
    assert gradients(model, embedded)


@pytest.mark.parametrize("k", [1, 4, 30])
@pytest.mark.parametrize("size", [2, 3, 10])
def test_colorings_are_drawn_around_a_graph_without_nodes(k: int, size: int) -> None:
    model = random_model(num_colorings=k, num_colors=10, in_channels=1).eval()
    x, batch = torch.ones(2 * size, 1).double(), torch.tensor([0, 2]).repeat_interleave(size)
    output = model(x, NO_EDGES, batch, generator=torch.Generator().manual_seed(0))
    # Without edges a sum over equal nodes is the same for all colorings, drawn or not.
    colorings = torch.arange(size).repeat(2)[None]
    assert_close(output, model(x, NO_EDGES, batch, colorings=colorings))


def test_self_loops_and_parallel_edges_count() -> None:
    model = random_model(coloring="all", activation="softplus").eval()
    x = torch.cat([ROW, -ROW])
    edges = torch.tensor([[0, 1], [1, 0]])
    plain = model(x, edges)
    assert differ(model(x, torch.cat([edges, torch.tensor([[0], [0]])], dim=1)), plain)
    assert differ(model(x, torch.cat([edges, edges[:, :1]], dim=1)), plain)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_node_among_many_graphs(dtype: torch.dtype) -> None:
    """Batches of single nodes only, in training."""
    model = random_model(num_colorings=2, dtype=dtype).train()
    x = torch.randn(6, 3, dtype=dtype)
    batch = torch.arange(6)
    colorings = sample_colorings(color_groups(x, batch), 2, batch)
    assert not colorings.any()
    output = model(x, NO_EDGES, batch, colorings=colorings)
    assert output.dtype == dtype
    assert bool(torch.isfinite(output).all())
