"""DCNN against a plain implementation, graph by graph."""

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from tests.baselines.examples import bias_of, outputs_of_all
from tests.training.examples import some_graphs

from clipgnn.baselines.dcnn import DCNN
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs


def _with_attributes(graphs: PackedGraphs) -> PackedGraphs:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(graphs.x.shape[0], 4, generator=generator)
    return dataclasses.replace(graphs, x=x, in_channels=4)


def _relabelled(graphs: PackedGraphs) -> PackedGraphs:
    """The same graphs, the nodes of each in reverse order."""
    counts = graphs.node_pointers.diff()
    of_node, of_edge = (
        torch.arange(len(graphs)).repeat_interleave(pointers.diff())
        for pointers in (graphs.node_pointers, graphs.edge_pointers)
    )
    nodes = torch.arange(graphs.x.shape[0])
    mirror = 2 * graphs.node_pointers[of_node] + counts[of_node] - 1 - nodes
    edges = counts[of_edge] - 1 - graphs.edge_index
    return dataclasses.replace(graphs, x=graphs.x[mirror], edge_index=edges)


def _plain(
    graphs: PackedGraphs, model: DCNN, member: int, hops: int, columns: bool = False
) -> np.ndarray:
    """tanh(W ⊙ 1ᵀ P* X / N), then the dense layer, one graph at a time."""
    weight = model.scale.weight[member].detach().numpy()
    dense = model.last.weight[member].detach().numpy()
    bias = bias_of(model.last, member).numpy()
    attributes = graphs.attributes().double().numpy()
    nodes, edges = graphs.node_pointers.tolist(), graphs.edge_pointers.tolist()
    rows = []
    for graph in range(len(graphs)):
        size = nodes[graph + 1] - nodes[graph]
        adjacency = np.zeros((size, size))
        for source, target in graphs.edge_index.t()[edges[graph] : edges[graph + 1]].tolist():
            adjacency[source, target] = 1
        degree = adjacency.sum(1)
        transition = np.zeros_like(adjacency)
        if columns:
            for column in range(size):
                transition[:, column] = adjacency[:, column] / (adjacency[:, column].sum() + 1)
        else:
            transition[degree > 0] = adjacency[degree > 0] / degree[degree > 0, None]
        own = attributes[nodes[graph] : nodes[graph + 1]]
        series = [np.linalg.matrix_power(transition, hop) for hop in range(hops + 1)]
        z = np.tanh(weight * np.stack([np.ones(size) @ power @ own / size for power in series]))
        rows.append(z.reshape(-1) @ dense + bias)
    return np.stack(rows)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("kind", ["labels", "attributes"])
@pytest.mark.parametrize("hops", [0, 1, 4])
def test_what_the_paper_says_graph_by_graph(kind: str, hops: int) -> None:
    graphs = some_graphs()
    if kind == "attributes":
        graphs = _with_attributes(graphs)
    model = DCNN.from_graphs(graphs, out_channels=3, num_members=2, num_hops=hops)
    outputs = outputs_of_all(model, graphs)
    expected = np.stack([_plain(graphs, model, member, hops) for member in range(2)])
    np.testing.assert_allclose(outputs.detach().numpy(), expected, atol=1e-12)
    assert np.abs(expected[0] - expected[1]).max() > 1e-2


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", ["labels", "attributes", "directed"])
def test_the_transition_matrix_of_the_authors_code(kind: str, training: bool) -> None:
    graphs = some_graphs()
    if kind != "labels":
        graphs = _with_attributes(graphs)
    if kind == "directed":  # degrees of rows and columns differ
        one_way = graphs.edge_index[0] < graphs.edge_index[1]
        counts = [
            int(one_way[start:end].sum()) for start, end in pairwise(graphs.edge_pointers.tolist())
        ]
        graphs = dataclasses.replace(
            graphs,
            edge_index=graphs.edge_index[:, one_way],
            edge_pointers=torch.tensor([0, *counts]).cumsum(0),
        )
    model = DCNN.from_graphs(
        graphs, out_channels=3, num_members=2, num_hops=3, transition="columns"
    ).train(training)
    outputs = outputs_of_all(model, graphs)
    expected = np.stack([_plain(graphs, model, member, 3, columns=True) for member in range(2)])
    np.testing.assert_allclose(outputs.detach().numpy(), expected, atol=1e-12)
    as_in_the_paper = _plain(graphs, model, 0, 3)
    assert np.abs(expected[0] - as_in_the_paper).max() > 1e-3


def test_degrees_count_where_attributes_are_constant() -> None:
    """A ring and a path: the same representation in the paper, not in the authors' code."""
    graphs = PackedGraphs(
        name="small",
        x=torch.zeros(6, dtype=torch.int64),
        in_channels=1,
        edge_index=torch.tensor([[0, 1, 1, 2, 0, 2, 0, 1, 1, 2], [1, 0, 2, 1, 2, 0, 1, 0, 2, 1]]),
        node_pointers=torch.tensor([0, 3, 6]),
        edge_pointers=torch.tensor([0, 6, 10]),
        y=torch.tensor([0, 1]),
    )
    [rows] = DCNN.from_graphs(graphs, num_hops=1).prepare(graphs)
    torch.testing.assert_close(rows[0], rows[1])
    [columns] = DCNN.from_graphs(graphs, num_hops=1, transition="columns").prepare(graphs)
    # Weights d / (d + 1) of the nodes: 2/3 on the ring; 1/2, 2/3 and 1/2 on the path.
    torch.testing.assert_close(columns[:2, 1, 0], torch.tensor([2 / 3, 5 / 9]))


@pytest.mark.usefixtures("double")
def test_relabelling_nodes_changes_nothing() -> None:
    graphs = _with_attributes(some_graphs())
    model = DCNN.from_graphs(graphs)
    same = outputs_of_all(model, _relabelled(graphs))
    torch.testing.assert_close(outputs_of_all(model, graphs), same, rtol=0, atol=1e-12)


def test_no_edges_one_node_and_a_walk_that_ends() -> None:
    graphs = PackedGraphs(
        name="small",
        x=torch.tensor([0, 1, 1, 0]),
        in_channels=2,
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        node_pointers=torch.tensor([0, 1, 4]),
        edge_pointers=torch.tensor([0, 0, 2]),
        y=torch.tensor([0, 1]),
    )
    [diffused] = DCNN.from_graphs(graphs, num_hops=2).prepare(graphs)
    third = 1 / 3
    expected = [
        [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        [[third, 2 * third], [0.0, 2 * third], [0.0, 2 * third]],
        [[0.0, 0.0]] * 3,
    ]
    torch.testing.assert_close(diffused, torch.tensor(expected))


@pytest.mark.parametrize(
    "wrong", [{"num_hops": -1}, {"num_hops": 1.5}, {"dropout": 1.0}, {"dropout": True}]
)
@pytest.mark.usefixtures("without_shape_checks")
def test_parameters_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"{next(iter(wrong))}.*of DCNN"):
        DCNN(2, 2, **wrong)
