"""The Weisfeiler-Lehman kernel against color refinement by networkx."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from tests.training.examples import rings, some_graphs
from torch_geometric.data import Data

from clipgnn.baselines.wl import WL
from clipgnn.errors import InvalidGraphError, InvalidParameterError, MissingDependencyError
from clipgnn.graphs.packed import PackedGraphs


def refined(graphs: PackedGraphs, labels: list[object], height: int) -> Iterator[Counter[object]]:
    """How often each color of each refinement occurs in a graph."""
    pointers = graphs.node_pointers.tolist()
    for number, data in enumerate(graphs.to_data_list()):
        graph: nx.Graph[int] = nx.Graph()
        own = labels[pointers[number] : pointers[number + 1]]
        graph.add_nodes_from((node, {"label": str(label)}) for node, label in enumerate(own))
        graph.add_edges_from(data.edge_index.t().tolist())
        counts: Counter[object] = Counter((0, str(label)) for label in own)
        hashes = (
            nx.weisfeiler_lehman_subgraph_hashes(
                graph, node_attr="label", iterations=height, digest_size=16
            )
            if height
            else {}
        )
        for colors in hashes.values():
            counts.update(enumerate(colors, start=1))
        yield counts


def by_networkx(graphs: PackedGraphs, labels: list[object], height: int) -> np.ndarray:
    counted = list(refined(graphs, labels, height))
    return np.array(
        [[sum(a[color] * b[color] for color in a) for b in counted] for a in counted], dtype=float
    )


@pytest.mark.needs("grakel")
@pytest.mark.parametrize("height", [0, 1, 2, 4, 10])
def test_the_whole_matrix_is_that_of_networkx(height: int) -> None:
    graphs = some_graphs(12, seed=3)
    expected = by_networkx(graphs, graphs.x.tolist(), height)
    gram = WL(height=height, normalize=False).gram(graphs)
    assert gram.dtype == np.float64
    np.testing.assert_array_equal(gram, expected)
    size = np.sqrt(expected.diagonal())
    normalized = expected / np.outer(size, size)
    np.testing.assert_allclose(WL(height=height).gram(graphs), normalized, rtol=1e-12)


@pytest.mark.needs("grakel")
def test_height_0_counts_labels() -> None:
    graphs = some_graphs(5)
    counts = np.zeros((5, 2))
    np.add.at(counts, (graphs.graph_of_node.numpy(), graphs.x.numpy()), 1)
    np.testing.assert_array_equal(WL(height=0, normalize=False).gram(graphs), counts @ counts.T)


@pytest.mark.needs("grakel")
def test_graphs_without_labels_edges_and_nodes() -> None:
    nothing = torch.empty(2, 0, dtype=torch.int64)
    edge = torch.tensor([[0, 1], [1, 0]])
    graphs = PackedGraphs.from_data_list(
        [
            Data(edge_index=nothing, num_nodes=3, y=torch.tensor([0])),
            Data(edge_index=edge, num_nodes=3, y=torch.tensor([1])),  # and an isolated node
            Data(edge_index=nothing, num_nodes=0, y=torch.tensor([1])),
            Data(edge_index=nothing, num_nodes=1, y=torch.tensor([0])),
        ]
    )
    # nodes 3, 3, 0, 1; in each of two refinements isolated nodes 3, 1, 0, 1 and others 0, 2, 0, 0
    nodes, isolated, joined = np.array([[3, 3, 0, 1], [3, 1, 0, 1], [0, 2, 0, 0]], dtype=float)
    expected = np.outer(nodes, nodes) + 2 * (
        np.outer(isolated, isolated) + np.outer(joined, joined)
    )
    np.testing.assert_array_equal(WL(height=2, normalize=False).gram(graphs), expected)
    normal = WL(height=2).gram(graphs)
    assert np.isfinite(normal).all()
    np.testing.assert_allclose(normal.diagonal(), [1, 1, 0, 1])
    only_alone = PackedGraphs.from_data_list([graphs.to_data_list()[0]])
    np.testing.assert_array_equal(WL(height=1).gram(only_alone), [[1.0]])


@pytest.mark.needs("grakel")
def test_what_refinement_cannot_tell_apart() -> None:
    np.testing.assert_allclose(WL(height=4).gram(rings(4)), 1.0)


@pytest.mark.needs("grakel")
def test_rows_of_identical_attributes_are_one_label() -> None:
    graphs = some_graphs(6)
    rows = torch.tensor([[0.25, 1.0], [0.5, 1.0]])[graphs.x]
    floats = replace(graphs, x=rows, in_channels=2, name="floats")
    np.testing.assert_array_equal(WL(height=2).gram(floats), WL(height=2).gram(graphs))
    different = torch.arange(rows.shape[0], dtype=torch.float32)[:, None]
    floats = replace(graphs, x=different, in_channels=1)
    with pytest.raises(InvalidGraphError, match="round the attributes"):
        WL(height=2).gram(floats)


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("wrong", [{"height": -1}, {"height": 1.5}, {"normalize": 1}])
def test_parameters(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        WL(**wrong)  # type: ignore[arg-type]


def test_without_grakel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grakel.kernels", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'clipgnn\[baselines\]'"):
        WL(height=1).gram(some_graphs(2))
