"""Theorem 3: infinity-CLIP with one iteration tells all graphs apart; 0-CLIP is bound by 1-WL."""

import copy
import itertools
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import pytest
import torch
from tests.drawing import Number, drawing
from torch import Tensor

from clipgnn.nn import CLIP

ATTRIBUTE = "attribute"
SEEDS = (7, 8, 10)
"""Signs for integer weights under which most graphs differ: others let a ReLU hide too much."""

Graph: TypeAlias = "nx.Graph[Any]"


@cache
def atlas() -> list[Graph]:
    """Every graph on one to seven nodes, once, all nodes with the same attribute."""
    graphs = [graph for graph in nx.graph_atlas_g() if len(graph) > 0]
    for graph in graphs:
        nx.set_node_attributes(graph, dict.fromkeys(graph, 0), ATTRIBUTE)
    return graphs


@cache
def attributed_graphs() -> list[Graph]:
    """Every way to give two attribute values to the nodes of the graphs on up to five nodes."""
    graphs = []
    for graph in atlas():
        if len(graph) > 5:
            continue
        for values in itertools.product((0, 1), repeat=len(graph)):
            colored = graph.copy()
            nx.set_node_attributes(colored, dict(zip(graph, values, strict=True)), ATTRIBUTE)
            graphs.append(colored)
    return graphs


def one_batch(graphs: list[Graph]) -> tuple[Tensor, Tensor, Tensor]:
    """Attributes `[nodes, 1]`, both directions of all edges, and the batch vector."""
    values: list[list[float]] = []
    edges: list[tuple[int, int]] = []
    batch: list[int] = []
    for number, graph in enumerate(graphs):
        position = {node: len(batch) + place for place, node in enumerate(graph)}
        for i, j in graph.edges:
            edges += [(position[i], position[j]), (position[j], position[i])]
        values += [[1.0 + graph.nodes[node][ATTRIBUTE]] for node in graph]
        batch += [number] * len(graph)
    edge_index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t()
    return torch.tensor(values, dtype=torch.float64), edge_index, torch.tensor(batch)


def represent(model: CLIP, graphs: list[Graph], graphs_at_once: int = 64) -> Tensor:
    """The representation of each graph before the last MLP; graphs of one size go together."""
    rows: dict[int, Tensor] = {}
    by_size = defaultdict(list)
    for number, graph in enumerate(graphs):
        by_size[len(graph)].append(number)
    with torch.no_grad():
        for numbers in by_size.values():
            for start in range(0, len(numbers), graphs_at_once):
                chosen = numbers[start : start + graphs_at_once]
                embedded = model.embed(*one_batch([graphs[number] for number in chosen]))
                rows.update(zip(chosen, embedded, strict=True))
    return torch.stack([rows[number] for number in range(len(graphs))])


def random_model(
    num_colorings: Number,
    num_layers: int,
    hidden_channels: int,
    activation: str = "relu",
) -> CLIP:
    """A network in float64 without normalization, all weights from a normal distribution."""
    model = CLIP(
        1,
        2,
        hidden_channels=hidden_channels,
        num_layers=num_layers,
        **drawing(num_colorings),
        num_colors=7,
        activation=activation,
        norm=None,
        colorings_at_once=256,  # small activations are reused, large ones fetched from the system
    )
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5, generator=generator)
    return model.double().eval()


def relabelled(graph: Graph, seed: int) -> Graph:
    """The same graph with its nodes in another order."""
    order = torch.randperm(len(graph), generator=torch.Generator().manual_seed(seed)).tolist()
    result: Graph = nx.Graph()
    nodes = list(graph)
    result.add_nodes_from((nodes[place], graph.nodes[nodes[place]]) for place in order)
    result.add_edges_from(graph.edges)
    return result


def smallest_distance(representations: Tensor) -> float:
    distances = torch.cdist(
        representations, representations, compute_mode="donot_use_mm_for_euclid_dist"
    )
    return float(distances.fill_diagonal_(torch.inf).min())


def test_one_iteration_with_random_weights_separates_all_graphs_on_seven_nodes() -> None:
    graphs = atlas()
    model = random_model("all", num_layers=1, hidden_channels=8)
    representations = represent(model, graphs)
    small = [number for number, graph in enumerate(graphs) if len(graph) <= 6]
    copies = represent(model, [relabelled(graphs[number], seed=number) for number in small])
    rounding = float((representations[small] - copies).abs().max())
    assert len(graphs) == 1252
    assert rounding < 1e-11
    assert smallest_distance(representations) > 1e-3


def test_attributed_graphs_are_told_apart_exactly_when_they_are_not_isomorphic() -> None:
    graphs = attributed_graphs()
    classes = isomorphism_classes(graphs)
    representations = represent(random_model("all", num_layers=1, hidden_channels=8), graphs)
    firsts = representations[[members[0] for members in classes]]
    spread = max(
        float((representations[members] - first).abs().max())
        for members, first in zip(classes, firsts, strict=True)
    )
    assert len(graphs) == 1306
    assert len(classes) == 2 + 6 + 20 + 90 + 544  # two-colored graphs on 1, ..., 5 nodes
    assert spread < 1e-11
    assert smallest_distance(firsts) > 1e-3


def isomorphism_classes(graphs: list[Graph]) -> list[list[int]]:
    """Numbers of the graphs that are the same up to relabelling, attributes included."""
    same_attribute = nx.algorithms.isomorphism.categorical_node_match(ATTRIBUTE, None)
    alike: dict[object, list[list[int]]] = defaultdict(list)
    for number, graph in enumerate(graphs):
        candidates = alike[
            tuple(sorted((graph.degree[node], graph.nodes[node][ATTRIBUTE]) for node in graph))
        ]
        for members in candidates:
            if nx.is_isomorphic(graph, graphs[members[0]], node_match=same_attribute):
                members.append(number)
                break
        else:
            candidates.append([number])
    return list(itertools.chain.from_iterable(alike.values()))


def wl_hash(graph: Graph) -> str:
    """The 1-WL hash of stable colors: no partition is refined more often than there are nodes."""
    return nx.weisfeiler_lehman_graph_hash(graph, node_attr=ATTRIBUTE, iterations=len(graph))


def integer_model(seed: int) -> CLIP:
    """0-CLIP whose weights are all 1 or -1: sums of integers have no rounding and no order."""
    model = random_model(0, num_layers=4, hidden_channels=4)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        signs = torch.randint(2, parameter.shape, generator=generator) * 2 - 1
        parameter.data.copy_(signs)
    return model


def assert_sums_are_exact(model: CLIP, graphs: list[Graph]) -> None:
    """With all weights 1, nothing cancels: no number inside the model is larger than the last."""
    bound = copy.deepcopy(model)
    for parameter in bound.parameters():
        parameter.data.abs_()
    with torch.no_grad():
        assert float(bound(*one_batch(graphs)).max()) < 2**53


@cache
def atlas_by_hash() -> list[list[int]]:
    """Numbers of the graphs that 1-WL cannot separate from each other."""
    by_hash = defaultdict(list)
    for number, graph in enumerate(atlas()):
        by_hash[wl_hash(graph)].append(number)
    return list(by_hash.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_0_clip_agrees_exactly_on_the_52_graphs_that_share_a_1_wl_hash(seed: int) -> None:
    model = integer_model(seed)
    assert_sums_are_exact(model, atlas())
    representations = represent(model, atlas())
    shared = [numbers for numbers in atlas_by_hash() if len(numbers) > 1]
    assert sum(map(len, shared)) == 52
    for numbers in shared:
        for number in numbers:
            assert torch.equal(representations[number], representations[numbers[0]])
    assert len(torch.unique(representations, dim=0)) > 900


def test_0_clip_separates_whatever_1_wl_does() -> None:
    """With a smooth activation: a ReLU is linear on too many of these nodes."""
    model = random_model(0, num_layers=4, hidden_channels=64, activation="tanh")
    representations = represent(model, atlas())
    firsts = representations[[numbers[0] for numbers in atlas_by_hash()]]
    assert len(firsts) == 1226
    assert smallest_distance(firsts) > 1e-7


def are_isomorphic(one: Graph, other: Graph) -> bool:
    """Search for an isomorphism, which takes long, only if the eigenvalues are the same."""
    first, second = (np.linalg.eigvalsh(nx.to_numpy_array(graph)) for graph in (one, other))
    return np.allclose(first, second, atol=1e-6) and nx.is_isomorphic(one, other)


def hexagon_and_triangles() -> list[Graph]:
    return [nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))]


def decalin_and_bicyclopentyl() -> list[Graph]:
    """Two hexagons that share an edge, and two pentagons joined by one."""
    decalin = nx.cycle_graph(10)
    decalin.add_edge(0, 5)
    bicyclopentyl = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))
    bicyclopentyl.add_edge(0, 5)
    return [decalin, bicyclopentyl]


def circular_skip_links() -> list[Graph]:
    return [nx.circulant_graph(41, [1, skip]) for skip in (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)]


@pytest.mark.parametrize(
    "make_graphs", [hexagon_and_triangles, decalin_and_bicyclopentyl, circular_skip_links]
)
def test_0_clip_agrees_exactly_on_graphs_that_1_wl_cannot_separate(
    make_graphs: Callable[[], list[Graph]],
) -> None:
    graphs = make_graphs()
    for graph in graphs:
        nx.set_node_attributes(graph, dict.fromkeys(graph, 0), ATTRIBUTE)
    assert len({wl_hash(graph) for graph in graphs}) == 1
    assert not any(are_isomorphic(*pair) for pair in itertools.combinations(graphs, 2))
    for seed in SEEDS:
        model = integer_model(seed)
        assert_sums_are_exact(model, graphs)
        together = represent(model, graphs)
        one_at_a_time = [represent(model, [graph])[0] for graph in graphs]
        for row, alone in zip(together, one_at_a_time, strict=True):
            assert torch.equal(row, together[0])
            assert torch.equal(alone, together[0])
        with torch.no_grad():
            first, *others = model(*one_batch(graphs))
        assert all(torch.equal(other, first) for other in others)
