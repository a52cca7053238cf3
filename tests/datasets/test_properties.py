"""Every graph of the paper's synthetic tasks, checked by networkx."""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest
import torch

from clipgnn.datasets.properties import (
    SKIP_LENGTHS,
    bipartiteness,
    circular_skip_links,
    connectivity,
    matched_triangle_freeness,
    triangle_freeness,
)
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.refinement import refine_colors

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
else:
    Graph = nx.Graph

PAIRED: list[Callable[..., PackedGraphs]] = [connectivity, bipartiteness, triangle_freeness]
TASKS = [*PAIRED, matched_triangle_freeness, circular_skip_links]


def networkx_graphs(data: PackedGraphs) -> list[Graph]:
    graphs = []
    for own in data.to_data_list():
        both_ways = {(source, target) for source, target in own.edge_index.t().tolist()}
        assert len(both_ways) == own.edge_index.shape[1], "an edge is there twice"
        assert all((target, source) in both_ways for source, target in both_ways)
        assert all(source != target for source, target in both_ways)
        graph: Graph = nx.Graph()
        graph.add_nodes_from(range(own.num_nodes))
        graph.add_edges_from(both_ways)
        graphs.append(graph)
    return graphs


def pairs(data: PackedGraphs) -> list[tuple[Graph, Graph, list[tuple[int, int]]]]:
    """Positive graph, the negative one made from it, and the edges that were added."""
    assert data.targets.tolist() == [1, 0] * (len(data) // 2)
    graphs = networkx_graphs(data)
    result = []
    for positive, negative in zip(graphs[::2], graphs[1::2], strict=True):
        before = {frozenset(edge) for edge in positive.edges}
        after = {frozenset(edge) for edge in negative.edges}
        assert before < after, "the negative graph must be the positive one and more edges"
        result.append((positive, negative, [tuple(edge) for edge in after - before]))
    return result


def triangles(graph: Graph) -> int:
    counts = nx.triangles(graph)
    assert isinstance(counts, dict)
    return sum(counts.values()) // 3


@pytest.mark.parametrize("seed", [0, 1])
def test_connectivity(seed: int) -> None:
    data = connectivity(seed)
    assert len(data) == 1000
    for positive, negative, added in pairs(data):
        components = list(nx.connected_components(positive))
        assert [len(nodes) for nodes in components] == [10, 10]
        assert nx.is_connected(negative)
        ((source, target),) = added
        assert (source in components[0]) != (target in components[0])
        assert {source, target} in [set(bridge) for bridge in nx.bridges(negative)]


@pytest.mark.parametrize("seed", [0, 1])
def test_bipartiteness(seed: int) -> None:
    data = bipartiteness(seed)
    assert len(data) == 1000
    for positive, negative, added in pairs(data):
        assert positive.number_of_nodes() == 20
        assert nx.is_bipartite(positive)
        assert not nx.is_bipartite(negative)
        ((source, target),) = added
        cycle = nx.shortest_path_length(positive, source, target) + 1
        assert cycle % 2 == 1


@pytest.mark.parametrize("seed", [0, 1])
def test_triangle_freeness(seed: int) -> None:
    data = triangle_freeness(seed)
    assert len(data) == 1000
    for positive, negative, added in pairs(data):
        assert positive.number_of_nodes() == 20
        assert triangles(positive) == 0
        assert triangles(negative) >= 1
        # Edges were added until there was a triangle, so one of them, the last, is in all of them.
        assert any(triangles(nx.restricted_view(negative, [], [edge])) == 0 for edge in added)


@pytest.mark.parametrize("seed", [0, 1])
def test_matched_triangle_freeness(seed: int) -> None:
    data = matched_triangle_freeness(seed)
    assert data.targets.tolist() == [1, 0] * 500
    graphs = networkx_graphs(data)
    changes = []
    for positive, negative in zip(graphs[::2], graphs[1::2], strict=True):
        assert positive.number_of_nodes() == negative.number_of_nodes() == 20
        assert positive.number_of_edges() == negative.number_of_edges() >= 3
        assert triangles(positive) == 0
        assert triangles(negative) >= 1
        before = {frozenset(edge) for edge in positive.edges}
        changes.append(len(before - {frozenset(edge) for edge in negative.edges}))
    assert max(changes) > min(changes) >= 0
    assert sum(changes) > 500  # edges of the original are removed, not only added ones


def test_circular_skip_links_are_4_regular_copies_of_their_class() -> None:
    data = circular_skip_links(0)
    assert data.targets.tolist() == [label for label in range(10) for _ in range(15)]
    for graph, label in zip(networkx_graphs(data), data.targets.tolist(), strict=True):
        assert graph.number_of_nodes() == 41
        assert {degree for _, degree in graph.degree} == {4}
        ring = nx.circulant_graph(41, [1, SKIP_LENGTHS[label]])
        assert nx.vf2pp_is_isomorphic(graph, ring)


def test_circular_skip_links_are_ten_isomorphism_classes() -> None:
    one_each = networkx_graphs(circular_skip_links(0, copies=1))
    assert len(one_each) == 10
    # Isomorphic graphs have the same eigenvalues.
    spectra = [np.linalg.eigvalsh(nx.to_numpy_array(graph)) for graph in one_each]
    for first, second in itertools.combinations(spectra, 2):
        assert not np.allclose(first, second, atol=1e-6)


def test_copies_of_a_class_are_relabeled() -> None:
    data = circular_skip_links(0)
    edges = [frozenset(map(tuple, own.edge_index.t().tolist())) for own in data.to_data_list()]
    assert len(set(edges)) == 150


@pytest.mark.parametrize("make", TASKS)
def test_nodes_have_no_attributes(make: Callable[..., PackedGraphs]) -> None:
    data = make(0)
    assert data.in_channels == 1
    assert data.x.dtype == torch.int64
    assert not data.x.any()
    assert data.edge_attr is None
    assert data.targets.dtype == torch.int64


@pytest.mark.parametrize("make", TASKS)
def test_the_seed_decides_everything(make: Callable[..., PackedGraphs]) -> None:
    torch.manual_seed(0)
    first = make(5)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    again, other = make(5), make(6)
    assert torch.equal(torch.get_rng_state(), state), "the global generator was used"
    for name in ("edge_index", "edge_pointers", "node_pointers", "y"):
        assert torch.equal(getattr(first, name), getattr(again, name))
    assert not torch.equal(first.edge_index, other.edge_index)


def test_edges_are_as_frequent_as_the_probability_says() -> None:
    """Nearly all draws are accepted, except of triangle-free graphs, which have fewer edges."""
    for make, possible in ((connectivity, 90), (bipartiteness, 100)):
        positive = make(0).edge_pointers.diff()[::2].double() / 2
        assert float(positive.mean()) == pytest.approx(possible / 2, rel=0.03)
    positive = triangle_freeness(0).edge_pointers.diff()[::2].double() / 2
    assert 14 < float(positive.mean()) < 19


@pytest.mark.parametrize("make", PAIRED)
def test_added_edges_are_spread_over_the_nodes(make: Callable[..., PackedGraphs]) -> None:
    ends = [node for *_, added in pairs(make(0)) for edge in added for node in edge]
    counts = torch.tensor(ends).bincount(minlength=20).double()
    assert float(counts.max() / counts.mean()) < 1.5


@pytest.mark.parametrize(
    ("make", "share"),
    [
        (connectivity, 0.980),
        (bipartiteness, 0.995),
        (triangle_freeness, 0.834),
        (matched_triangle_freeness, 0.734),
        (circular_skip_links, 1 / 41),
    ],
)
def test_neighborhoods_identify_most_nodes(make: Callable[..., PackedGraphs], share: float) -> None:
    """Number of distinct colors of 1-WL, relative to the number of nodes; see results/README.md."""
    graphs = make()
    colors = refine_colors(torch.zeros_like(graphs.x), graphs.global_edge_index)
    parts = colors.split(graphs.node_pointers.diff().tolist())
    found = sum(own.unique().numel() for own in parts) / len(colors)
    assert found == pytest.approx(share, abs=5e-4)


def test_sizes_are_parameters() -> None:
    for positive, negative, _ in pairs(connectivity(0, num_pairs=5, component_size=4)):
        assert sorted(map(len, nx.connected_components(positive))) == [4, 4]
        assert nx.is_connected(negative)
    for positive, negative, _ in pairs(bipartiteness(0, num_pairs=5, part_size=3)):
        assert positive.number_of_nodes() == 6
        assert nx.is_bipartite(positive)
        assert not nx.is_bipartite(negative)
    for positive, negative, _ in pairs(triangle_freeness(0, num_pairs=5, num_nodes=3)):
        assert triangles(positive) == 0
        assert triangles(negative) == 1
    data = circular_skip_links(0, num_nodes=9, skip_lengths=(2, 3), copies=4)
    assert data.targets.tolist() == [0] * 4 + [1] * 4
    assert all(graph.number_of_nodes() == 9 for graph in networkx_graphs(data))


def test_sparse_bipartite_graphs_get_an_odd_cycle_too() -> None:
    for _, negative, _ in pairs(bipartiteness(0, num_pairs=50, probability=0.05)):
        assert not nx.is_bipartite(negative)


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (connectivity, {"num_pairs": 0}, "num_pairs must be an integer of at least 1"),
        (connectivity, {"component_size": 0}, "component_size must be an integer of at least 1"),
        (connectivity, {"probability": 1.5}, "probability must be a number from 0 to 1. Got 1.5"),
        (connectivity, {"probability": 0.0}, "connected components often enough. Got 0 of"),
        (connectivity, {"seed": -1}, "seed must be an integer from 0"),
        (bipartiteness, {"part_size": 1}, "part_size must be an integer of at least 2"),
        (bipartiteness, {"probability": 0.0}, "odd cycle often enough"),
        (triangle_freeness, {"num_nodes": 2}, "num_nodes must be an integer of at least 3"),
        (triangle_freeness, {"probability": 1.0}, "without triangles often enough"),
        (circular_skip_links, {"skip_lengths": (1,)}, "from 2 to under half .* Got 1"),
        (circular_skip_links, {"skip_lengths": (21,)}, "from 2 to under half .* Got 21"),
        (circular_skip_links, {"skip_lengths": ()}, "skip_lengths must be a list of at least one"),
        (circular_skip_links, {"copies": 0}, "copies must be an integer of at least 1"),
    ],
)
def test_parameters_that_cannot_be(
    make: Callable[..., PackedGraphs], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make(**parameters)


@pytest.mark.parametrize("skip", [-3, 0, 1, 6, 7, 12, 13])
def test_skip_lengths_that_are_not_4_regular(skip: int) -> None:
    message = f"2 to under half of the 12 nodes.* Got {skip}"
    with pytest.raises(InvalidParameterError, match=message):
        circular_skip_links(num_nodes=12, skip_lengths=[2, skip])
