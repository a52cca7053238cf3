"""PATCHY-SAN: fields against a slow search, the network against torch's convolutions."""

import builtins
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
import torch
from networkx.algorithms.isomorphism import GraphMatcher
from tests.baselines.examples import bias_of, outputs_of_all
from tests.training.examples import some_graphs
from torch import Tensor, nn
from torch_geometric.data import Data

from clipgnn.baselines.patchy_san import PatchySAN
from clipgnn.baselines.receptive_fields import canonical_positions, receptive_fields
from clipgnn.errors import InvalidParameterError, MissingDependencyError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.linear import Linear


@pytest.fixture(autouse=True, params=[torch.float32, torch.float64], ids=["float32", "float64"])
def _dtype(request: pytest.FixtureRequest) -> Iterator[None]:
    torch.manual_seed(0)
    torch.set_default_dtype(request.param)
    yield
    torch.set_default_dtype(torch.float32)


def packed(*graphs: nx.Graph) -> PackedGraphs:
    """Graphs whose nodes are 0, 1, … with a label or attributes in "x"."""
    parts = []
    for graph in graphs:
        edges = torch.tensor(list(graph.edges), dtype=torch.int64).view(-1, 2).t()
        x = torch.tensor([graph.nodes[node].get("x", 0) for node in range(len(graph))])
        parts.append(
            Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], 1), y=torch.tensor([0]))
        )
    return PackedGraphs.from_data_list(parts)


def random_graph(nodes: int, chance: float, labels: int, seed: int) -> nx.Graph:
    graph = nx.gnp_random_graph(nodes, chance, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for node in graph:
        graph.nodes[node]["x"] = int(torch.randint(0, labels, (1,), generator=generator))
    return graph


def is_asymmetric(graph: nx.Graph) -> bool:
    same = GraphMatcher(graph, graph, node_match=lambda a, b: a.get("x") == b.get("x"))
    return sum(1 for _ in same.isomorphisms_iter()) == 1


def relabeled(graph: nx.Graph, seed: int) -> tuple[nx.Graph, dict[int, int]]:
    generator = torch.Generator().manual_seed(seed)
    mapping = dict(enumerate(torch.randperm(len(graph), generator=generator).tolist()))
    return nx.relabel_nodes(graph, mapping), mapping


SYMMETRIC = {
    "petersen": nx.petersen_graph(),
    "cube": nx.hypercube_graph(3),
    "cycle": nx.cycle_graph(12),
    "clique": nx.complete_graph(12),
    "star": nx.star_graph(14),
    "no edges": nx.empty_graph(4),
    "two parts": nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(3)),
    "regular": nx.random_regular_graph(3, 12, seed=0),
    "strongly regular": nx.line_graph(nx.complete_bipartite_graph(4, 4)),
}


@pytest.mark.needs("igraph")
@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("field_size", [1, 4, 10])
def test_what_the_network_sees_does_not_depend_on_the_order_of_nodes(
    name: str, field_size: int
) -> None:
    plain = nx.convert_node_labels_to_integers(SYMMETRIC[name])
    marked = plain.copy()
    for node in list(marked)[::3]:
        marked.nodes[node]["x"] = 1
    for graph in (plain, marked):
        seen = what_is_seen(graph, field_size)
        for seed in range(4):
            assert what_is_seen(relabeled(graph, seed)[0], field_size) == seen


def what_is_seen(graph: nx.Graph, field_size: int) -> list[Any]:
    """Labels of each field in order, and the edges between its places."""
    fields = receptive_fields(packed(graph), 10, field_size)[0].tolist()
    result = []
    for field in fields:
        nodes = [node for node in field if node < len(graph)]
        edges = [(a in graph[b]) for a in nodes for b in nodes]
        result.append(([graph.nodes[node].get("x", 0) for node in nodes], edges))
    return result


@pytest.mark.needs("igraph")
def test_the_canonical_order_respects_colors() -> None:
    for seed in range(30):
        graph = random_graph(8, 0.4, 2, seed)
        forms = []
        for own in (graph, relabeled(graph, seed)[0]):
            colors = [own.nodes[node]["x"] for node in range(8)]
            place = canonical_positions(
                [frozenset(own[node]) for node in range(8)], range(8), colors
            )
            order = sorted(place, key=place.__getitem__)
            edges = [(a in own[b]) for a in order for b in order]
            forms.append(([colors[node] for node in order], edges))
        assert forms[0] == forms[1]


@pytest.mark.needs("igraph")
def test_the_same_neighborhood_is_in_the_same_order_in_different_graphs() -> None:
    """Around the hub all of the rim tie: only the field itself says who comes next."""
    orders = set()
    for step in range(4):  # a second ring around the wheel, if any, whose neighbors are so far off
        for seed in range(4):
            wheel = nx.wheel_graph(9)
            for place in range(8 if step else 0):
                wheel.add_edge(place + 1, place + 9)
                wheel.add_edge(place + 9, (place + step) % 8 + 9)
            graph, mapping = relabeled(wheel, seed)
            fields = receptive_fields(packed(graph), len(graph), 9)[0].tolist()
            field = next(own for own in fields if own[0] == mapping[0])
            assert set(field) == {mapping[node] for node in range(9)}
            orders.add(tuple(a in graph[b] for a in field for b in field))
    assert len(orders) == 1


@pytest.mark.needs("igraph")
def test_nodes_of_graphs_without_symmetries_keep_their_places() -> None:
    tried = 0
    for seed in range(40):
        graph = random_graph(9, 0.35, 2, seed)
        if not is_asymmetric(graph):
            continue
        tried += 1
        other, mapping = relabeled(graph, seed + 1)
        first, second = (receptive_fields(packed(own), 10, 5)[0] for own in (graph, other))
        mapping[9] = 9
        assert second.tolist() == [[mapping[node] for node in row] for row in first.tolist()]
    assert tried > 10


def nested_colors(graph: nx.Graph) -> dict[int, Any]:
    """Weisfeiler-Lehman colors as nested tuples, compared as Python compares them."""
    colors: dict[int, Any] = dict.fromkeys(graph, ())
    for start in (None, "x"):
        if start is not None:
            colors = {node: (colors[node], graph.nodes[node][start]) for node in graph}
        for _ in range(3):
            colors = {
                node: (
                    colors[node],
                    sorted((colors[other] for other in graph[node]), reverse=True),
                )
                for node in graph
            }
    return colors


@pytest.mark.needs("igraph")
def test_fields_are_those_of_a_slow_search() -> None:
    tried = 0
    for seed in range(60):
        graph = random_graph(7, 0.4, 3, seed)
        colors = nested_colors(graph)
        falling = sorted(graph, key=lambda node: colors[node], reverse=True)
        if any(colors[a] == colors[b] for a, b in pairwise(falling)):
            continue  # ties, which the tests above are about
        tried += 1
        for width, size in ((10, 3), (10, 5), (4, 7)):
            expected = []
            for root in falling[:width]:
                steps = nx.single_source_shortest_path_length(graph, root)
                near = sorted(steps, key=lambda node: (steps[node], falling.index(node)))[:size]
                expected.append(near + [7] * (size - len(near)))
            expected += [[7] * size] * (width - len(expected))
            assert receptive_fields(packed(graph), width, size)[0].tolist() == expected
    assert tried > 10


@pytest.mark.needs("igraph")
def test_attributes_break_ties_as_labels_do_and_numbers_count_through_the_data_set() -> None:
    graphs = some_graphs()
    rows = torch.tensor([[0.5, -1.0], [0.5, 2.0]])[graphs.x]
    fields = receptive_fields(graphs, 10, 4)
    same = receptive_fields(replace(graphs, x=rows, in_channels=2), 10, 4)
    assert torch.equal(fields, same)
    missing = graphs.x.shape[0]
    for graph, own in enumerate(fields):
        real = own[own < missing]
        assert set(graphs.graph_of_node[real].tolist()) == {graph}
        assert (own[:, 0] < missing).sum() == graphs.node_pointers.diff()[graph]
        assert own[:, 0][own[:, 0] < missing].unique().numel() == graphs.node_pointers.diff()[graph]


@pytest.mark.needs("igraph")
def test_fields_are_computed_once() -> None:
    graphs = some_graphs()
    first = receptive_fields(graphs, 10, 4)
    assert receptive_fields(replace(graphs, x=graphs.x.clone()), 10, 4) is first
    assert receptive_fields(replace(graphs, x=1 - graphs.x), 10, 4) is not first


@pytest.mark.needs("igraph")
def test_loops_and_repeated_edges_do_not_count() -> None:
    edges = torch.tensor([[0, 1, 0, 1, 2], [1, 0, 1, 0, 2]])
    x, y = torch.zeros(3, dtype=torch.int64), torch.tensor([0])
    noisy = PackedGraphs.from_data_list([Data(x=x, edge_index=edges, y=y)])
    clean = PackedGraphs.from_data_list([Data(x=x, edge_index=edges[:, :2], y=y)])
    assert torch.equal(receptive_fields(noisy, 10, 3), receptive_fields(clean, 10, 3))


def with_attributes(graphs: PackedGraphs) -> PackedGraphs:
    rows = torch.randn(graphs.x.shape[0], 3)
    return replace(graphs, x=rows, in_channels=3)


@pytest.mark.needs("igraph")
@pytest.mark.parametrize("attributes", [False, True])
def test_same_as_with_convolutions_of_torch(attributes: bool) -> None:
    graphs = with_attributes(some_graphs()) if attributes else some_graphs()
    model = PatchySAN(graphs.in_channels, 3, width=12, field_size=4).eval()
    channels = graphs.in_channels
    signal = torch.zeros(len(graphs), channels, 12 * 4)
    rows = graphs.attributes()
    for graph, fields in enumerate(receptive_fields(graphs, 12, 4).flatten(1).tolist()):
        for place, node in enumerate(fields):
            if node < rows.shape[0]:
                signal[graph, :, place] = rows[node]
    first, second = nn.Conv1d(channels, 16, 4, 4), nn.Conv1d(16, 8, 10)
    weight = model.first.linear.weight[0].detach()
    first.weight.data = weight.view(4, channels, 16).permute(2, 1, 0)
    second.weight.data = model.second.linear.weight[0].detach().t().reshape(8, 16, 10)
    for convolution, own in ((first, model.first), (second, model.second)):
        assert convolution.bias is not None
        convolution.bias.data = bias_of(own.linear)
    x = torch.relu(second(torch.relu(first(signal)))).transpose(1, 2).flatten(1)
    x = torch.relu(_affine(model.dense.first, x))
    expected = _affine(model.dense.second, x)
    outputs = outputs_of_all(model, graphs)
    torch.testing.assert_close(outputs, expected)
    assert outputs.std(0).min() > 1e-3
    assert not torch.equal(outputs_of_all(model.train(), graphs), outputs)  # dropout


def _affine(layer: Linear, x: Tensor) -> Tensor:
    return x @ layer.weight[0] + bias_of(layer)


@pytest.mark.needs("igraph")
def test_nodes_may_come_in_any_order() -> None:
    graphs = [random_graph(nodes, 0.3, 3, nodes) for nodes in (1, 5, 12, 16)]
    model = PatchySAN.from_graphs(packed(*graphs), out_channels=2).eval()
    expected = outputs_of_all(model, packed(*graphs))
    moved = packed(*(relabeled(graph, 3)[0] for graph in graphs))
    torch.testing.assert_close(outputs_of_all(model, moved), expected)


@pytest.mark.needs("igraph")
def test_the_width_is_the_mean_number_of_nodes() -> None:
    graphs = packed(nx.path_graph(10), nx.path_graph(20))
    model = PatchySAN.from_graphs(graphs)
    assert model.config.width == 15
    assert model.prepare(graphs)[0].shape == (3, 15, 10)  # one more graph, for padding
    few = packed(nx.path_graph(3))
    assert PatchySAN.from_graphs(few, field_size=2).prepare(few)[0].shape == (2, 10, 2)


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"width": 9}, "'width' parameter of PATCHY-SAN must be an integer from 10 to"),
        ({"field_size": 0}, "'field_size' parameter of PATCHY-SAN"),
        ({"dropout": 1.0}, "'dropout' parameter of PATCHY-SAN"),
        ({"dense_channels": 1.5}, "Got 1.5 instead"),
    ],
)
def test_parameters_that_cannot_be(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        PatchySAN(2, 2, **parameters)


def test_it_says_that_igraph_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_igraph(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name == "igraph":
            raise ImportError
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_igraph)
    graphs = packed(nx.path_graph(13))
    model = PatchySAN.from_graphs(graphs)
    with pytest.raises(MissingDependencyError, match="clipgnn\\[baselines\\]"):
        model.predict(graphs)
