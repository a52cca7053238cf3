"""Ring-GNN: the 15 operations one by one, symmetry, padding, and what only products can see."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from tests.baselines.examples import batch_of, bias_of, outputs_of_all
from tests.training.examples import rings, some_graphs
from torch import Tensor

from clipgnn.baselines import ring_gnn
from clipgnn.baselines.equivariant import EquivariantLinear, GraphNorm
from clipgnn.baselines.ring_gnn import RingGNN, RingLayer
from clipgnn.datasets.properties import circular_skip_links
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training import ModelSpec, Recipe, Split, train


@pytest.fixture(autouse=True)
def seeded(double: None) -> None:
    torch.manual_seed(0)


def _tensors(sizes: list[int], room: int, channels: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random entries, vectors and the mask for one member's graphs of these sizes."""
    mask = (torch.arange(room) < torch.tensor(sizes)[:, None]).double()[None, :, None]
    entries = torch.randn(1, len(sizes), channels, room, room)
    vectors = torch.randn(1, len(sizes), 2, room) * mask
    return entries * mask[..., None] * mask[..., None, :], vectors, mask


def _literally(linear: EquivariantLinear, x: Tensor, vectors: Tensor) -> Tensor:
    """The map on one graph without padding, `[channels, n, n]`: every operation as written."""
    n = x.shape[1]
    eye, ones = torch.eye(n), torch.ones(n)
    diagonal, rows, columns = (torch.einsum(to, x) for to in ("cii->ci", "cij->ci", "cij->cj"))
    rows, columns = rows / n, columns / n
    spreads = [
        lambda v: torch.einsum("ci,ij->cij", v, eye),
        lambda v: torch.einsum("ci,j->cij", v, ones),
        lambda v: torch.einsum("cj,i->cij", v, ones),
    ]
    numbers = [diagonal.sum(1) / n, x.sum((1, 2)) / n**2, vectors.sum(1) / n]
    of_vectors = [[spread(v) for v in (diagonal, rows, columns, vectors)] for spread in spreads]
    of_numbers = [
        [torch.einsum("c,ij->cij", number, to) for number in numbers]
        for to in (eye, torch.ones(n, n))
    ]
    parts = linear.vectors.weight[0].chunk(3, dim=1)
    result = torch.einsum(
        "cij,co->oij", torch.cat([x, x.transpose(1, 2)]), linear.entries.weight[0]
    )
    for operations, weight in zip(of_vectors, parts, strict=True):
        result = result + torch.einsum("cij,co->oij", torch.cat(operations), weight)
    biases = bias_of(linear.numbers).chunk(2)
    for operations, weight, bias, to in zip(
        of_numbers,
        linear.numbers.weight[0].chunk(2, dim=1),
        biases,
        (eye, torch.ones(n, n)),
        strict=True,
    ):
        result = result + torch.einsum("cij,co->oij", torch.cat(operations), weight)
        result = result + torch.einsum("o,ij->oij", bias, to)
    return result


def _shaken(model: RingGNN) -> RingGNN:
    """No weight is 0 or 1, as it may be before training and hide what it does."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.rand_like(weight) + 0.1)
    return model


def _with_attributes(graphs: PackedGraphs) -> PackedGraphs:
    return dataclasses.replace(graphs, x=torch.randn(graphs.x.shape[0], 3), in_channels=3)


def _reversed(graphs: PackedGraphs) -> PackedGraphs:
    """The same graphs, the nodes of each in reverse order."""
    counts, of_node = graphs.node_pointers.diff(), graphs.graph_of_node
    of_edge = torch.arange(len(graphs)).repeat_interleave(graphs.edge_pointers.diff())
    mirror = 2 * graphs.node_pointers[of_node] + counts[of_node] - 1
    mirror = mirror - torch.arange(graphs.x.shape[0])
    edges = counts[of_edge] - 1 - graphs.edge_index
    return dataclasses.replace(graphs, x=graphs.x[mirror], edge_index=edges)


def test_the_map_is_the_fifteen_operations_and_two_biases() -> None:
    sizes = [5, 3, 1]
    x, vectors, mask = _tensors(sizes, 6, 2)
    linear = EquivariantLinear(1, 2, 3, diagonal_channels=2)
    result = linear(x, vectors, mask)
    for graph, n in enumerate(sizes):
        expected = _literally(linear, x[0, graph, :, :n, :n], vectors[0, graph, :, :n])
        torch.testing.assert_close(result[0, graph, :, :n, :n], expected, rtol=0, atol=1e-12)
    assert (result[(mask[..., None] * mask[..., None, :]).expand_as(result) == 0] == 0).all()


def test_entries_have_fifteen_weights_that_all_matter() -> None:
    linear = EquivariantLinear(1, 1, 1)
    weights = [weight for weight in linear.parameters() if weight.dim() == 3]
    assert sum(weight.numel() for weight in weights) == 15
    assert bias_of(linear.numbers).numel() == 2
    x, _, mask = _tensors([4], 4, 1)
    outputs = []
    for weight in linear.parameters():
        for place in range(weight.numel()):
            with torch.no_grad():
                for other in linear.parameters():
                    other.zero_()
                weight.view(-1)[place] = 1
            outputs.append(linear(x, None, mask).detach().flatten())
    # One graph of four nodes is enough to see that no operation repeats others, but for the
    # numbers, which differ from the biases by a factor that is the graph's own.
    assert torch.linalg.matrix_rank(torch.stack(outputs)) == 13


@pytest.mark.parametrize("norm", [True, False])
def test_the_layer_follows_a_relabelling(norm: bool) -> None:
    x, vectors, mask = _tensors([6, 6], 6, 2)
    layer = RingLayer(1, 2, 4, diagonal_channels=2, norm=norm)
    order = torch.randperm(6)
    shuffled = layer(x[..., order, :][..., order], vectors[..., order], mask)
    expected = layer(x, vectors, mask)[..., order, :][..., order]
    torch.testing.assert_close(shuffled, expected, rtol=0, atol=1e-11)


def test_the_layer_multiplies_matrices() -> None:
    x, vectors, mask = _tensors([4], 4, 2)
    layer = RingLayer(1, 2, 3, diagonal_channels=2, norm=False, product_weight=0.25)
    first, left, right = layer.maps(x, vectors, mask)[0, 0].split(3)
    product = torch.einsum("cik,ckj->cij", left, right)
    expected = torch.relu(first + 0.25 * product)
    torch.testing.assert_close(layer(x, vectors, mask)[0, 0], expected)
    normalised = GraphNorm(1, 2)(x, mask)
    torch.testing.assert_close(normalised.mean((3, 4)), torch.zeros(1, 1, 2))
    torch.testing.assert_close(
        normalised.var((3, 4), correction=0), torch.ones(1, 1, 2), rtol=0, atol=1e-4
    )


def test_the_whole_network_on_one_graph_at_a_time() -> None:
    """Edges weighted by degrees, what is read out, and the MLP: in NumPy but for the layers."""
    graphs = some_graphs(6)
    model = _shaken(RingGNN.from_graphs(graphs, hidden_channels=4)).eval()
    outputs = outputs_of_all(model, graphs).detach().numpy()
    readout = model.readout
    for number, graph in enumerate(graphs.to_data_list()):
        n = graph.num_nodes
        adjacency = np.zeros((n, n))
        adjacency[tuple(graph.edge_index.numpy())] = 1
        scale = 1 / np.sqrt(np.maximum(adjacency.sum(1), 1))
        x = torch.tensor(scale[:, None] * adjacency * scale)[None, None, None]
        vectors, mask = graph.x.t()[None, None], torch.ones(1, 1, 1, n)
        read = [graph.x.numpy().sum(0)]
        for layer in (None, *model.layers):
            if layer is not None:
                x, vectors = layer(x, vectors, mask), None
            entries = x[0, 0].detach().numpy()
            read += [np.trace(entries, axis1=1, axis2=2), entries.sum((1, 2)) / n]
        hidden = np.concatenate(read) @ readout.first.weight[0].detach().numpy()
        hidden = hidden + bias_of(readout.first).numpy()
        norm = readout.norm
        assert norm is not None
        hidden = hidden / np.sqrt(1 + norm.epsilon) * norm.weight[0].detach().numpy()
        hidden = np.maximum(hidden + norm.bias[0].detach().numpy(), 0)
        expected = hidden @ readout.second.weight[0].detach().numpy()
        expected = expected + bias_of(readout.second).numpy()
        np.testing.assert_allclose(outputs[number], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("norm", ["graph", None])
@pytest.mark.parametrize("kind", ["labels", "attributes"])
def test_relabelling_nodes_changes_nothing(kind: str, norm: str | None) -> None:
    graphs = some_graphs() if kind == "labels" else _with_attributes(some_graphs())
    model = RingGNN.from_graphs(graphs, norm=norm).eval()
    outputs = outputs_of_all(model, graphs)
    torch.testing.assert_close(outputs, outputs_of_all(model, _reversed(graphs)))
    assert outputs.std(0).min() > 1e-4


def test_a_larger_graph_in_the_data_set_changes_nothing() -> None:
    graphs = some_graphs(4)
    largest = int(graphs.node_pointers.diff().max()) + 7
    more = PackedGraphs(
        name="more",
        x=torch.cat([graphs.x, torch.zeros(largest, dtype=torch.int64)]),
        in_channels=graphs.in_channels,
        edge_index=graphs.edge_index,
        node_pointers=torch.cat([graphs.node_pointers, graphs.node_pointers[-1:] + largest]),
        edge_pointers=torch.cat([graphs.edge_pointers, graphs.edge_pointers[-1:]]),
        y=torch.cat([graphs.targets, graphs.targets[:1]]),
    )
    model = _shaken(RingGNN.from_graphs(graphs)).eval()
    chosen = torch.arange(4)[None]
    alone, beside = (
        model.forward_batch(batch_of(model, these, chosen), None) for these in (graphs, more)
    )
    torch.testing.assert_close(alone, beside)


@pytest.mark.parametrize("norm", ["graph", None])
def test_it_tells_apart_what_message_passing_cannot(norm: str | None) -> None:
    graphs = circular_skip_links(copies=2, skip_lengths=(2, 3))
    model = RingGNN.from_graphs(graphs, out_channels=4, norm=norm).eval()
    outputs = outputs_of_all(model, graphs)
    for one, same in ((0, 1), (2, 3)):
        torch.testing.assert_close(outputs[one], outputs[same], rtol=1e-10, atol=1e-10)
    assert (outputs[0] - outputs[2]).abs().max() > 1e-6


def test_it_learns_what_message_passing_cannot() -> None:
    torch.set_default_dtype(torch.float32)
    graphs, numbers = rings(40), torch.arange(40)
    split = Split(numbers[:30], numbers[30:])
    spec = ModelSpec("ring-gnn", {"hidden_channels": 8, "dropout": 0.1})
    recipe = Recipe(epochs=15, batch_size=10, learning_rate=0.01)
    assert train(graphs, spec, recipe, [split], [0])[0].score == 1.0


def test_graphs_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    large = PackedGraphs(
        name="large",
        x=torch.zeros(620, dtype=torch.int64),
        in_channels=1,
        edge_index=torch.empty(2, 0, dtype=torch.int64),
        node_pointers=torch.tensor([0, 620]),
        edge_pointers=torch.tensor([0, 0]),
        y=torch.tensor([0]),
    )
    with pytest.raises(InvalidGraphError, match=r"more than 295 nodes.*'large' has 620"):
        RingGNN.from_graphs(large).prepare(large)
    monkeypatch.setattr(ring_gnn, "MAX_STORED_ENTRIES", 9 * 5**2)
    graphs, numbers = some_graphs(), torch.arange(8)
    with pytest.raises(InvalidGraphError, match=r"8 graphs .* more than 5 nodes"):
        train(
            graphs, ModelSpec("ring-gnn"), Recipe(epochs=1), [Split(numbers[:6], numbers[6:])], [0]
        )


@pytest.mark.parametrize(
    "wrong", [{"hidden_channels": 0}, {"num_layers": 1.5}, {"norm": "layer"}, {"dropout": 1.0}]
)
@pytest.mark.usefixtures("without_shape_checks")
def test_parameters_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"{next(iter(wrong))}.*of Ring-GNN"):
        RingGNN(2, 2, **wrong)
