"""What is said about pairs whose answer is known, and about isomorphic copies."""

import random
import sys
from typing import Any

import networkx as nx
import pytest

from clipgnn.coloring import labeling
from clipgnn.comparison.compare import compare
from clipgnn.comparison.inputs import GivenGraph, read_graph
from clipgnn.comparison.results import Comparison
from clipgnn.errors import InvalidGraphError, InvalidParameterError

needs_igraph = pytest.mark.needs("igraph")


def pair(first: str, second: str, **options: Any) -> Comparison:
    return compare(read_graph(first), read_graph(second), **options)


def shuffled(graph: nx.Graph, seed: int) -> nx.Graph:
    order = list(graph)
    random.Random(seed).shuffle(order)
    copy: nx.Graph[int] = nx.Graph()
    copy.add_nodes_from((order[node], data) for node, data in graph.nodes(data=True))
    copy.add_edges_from((order[one], order[other]) for one, other in graph.edges())
    nodes = sorted(copy)
    result: nx.Graph[int] = nx.Graph()
    result.add_nodes_from((node, copy.nodes[node]) for node in nodes)
    result.add_edges_from(copy.edges())
    return result


@needs_igraph
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("hexagon", "two-triangles"),
        ("decalin", "bicyclopentyl"),
        ("prism", "k-3-3"),
        ("petersen", "pentagonal-prism"),
        ("rook-4x4", "shrikhande"),
        ("csl-11-2", "csl-11-3"),
    ],
)
def test_pairs_that_message_passing_cannot_distinguish(first: str, second: str) -> None:
    found = pair(first, second, num_colorings=3)
    assert found.first_difference is None
    assert found.is_zero(found.without_colors)
    assert found.isomorphic is False
    assert found.canonical is not None
    assert not found.is_zero(found.canonical.difference)
    enumerable = found.first.num_colorings <= found.most_enumerated
    assert (found.complete is not None) == enumerable
    if found.complete is not None:
        assert not found.is_zero(found.complete)
        # All colorings are drawn, so that the curve ends at the level of ∞-CLIP.
        number, last = found.curve[-1]
        assert number == 720
        assert last == pytest.approx(found.complete, rel=1e-9)


@needs_igraph
@pytest.mark.parametrize("name", ["hexagon", "decalin", "shrikhande", "csl-13-5"])
def test_isomorphic_copies(name: str) -> None:
    given = read_graph(name)
    for seed in range(3):
        copy = GivenGraph("copy", shuffled(given.graph, seed))
        found = compare(given, copy, num_colorings=2, seed=seed)
        assert found.isomorphic is True
        assert found.is_zero(found.without_colors)
        assert found.canonical is not None
        assert found.is_zero(found.canonical.difference)
        assert found.complete is None or found.is_zero(found.complete)


@needs_igraph
def test_canonical_colors_are_an_isomorphism() -> None:
    for seed in range(8):
        graph = nx.gnp_random_graph(9, 0.4, seed=seed)
        nx.set_node_attributes(graph, {node: "ab"[node % 2] for node in graph}, "kind")
        graph.add_edge(seed % 9, seed % 9)
        found = compare(
            GivenGraph("a", graph), GivenGraph("b", shuffled(graph, seed)), most_enumerated=0
        )
        own = found.canonical
        assert own is not None
        assert own.isomorphic
        first, second = (
            {frozenset((view.names[node], colors[node]) for node in edge) for edge in view.edges}
            for view, colors in ((found.first, own.first), (found.second, own.second))
        )
        assert first == second
    # A loop at another node, or another attribute, is another graph.
    moved, without, other = (graph.copy() for _ in range(3))
    for own in (moved, without):
        own.remove_edge(seed % 9, seed % 9)
    moved.add_edge((seed + 2) % 9, (seed + 2) % 9)
    other.nodes[0]["kind"] = "b"
    for changed in (moved, without, other):
        found = compare(GivenGraph("a", graph), GivenGraph("b", changed), most_enumerated=0)
        assert found.isomorphic is False
        assert found.canonical is not None
        assert found.canonical.isomorphic is False


def with_kinds(kinds: str, *edges: tuple[int, int]) -> nx.Graph:
    """A graph with a node for each letter."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from((node, {"kind": kind}) for node, kind in enumerate(kinds))
    graph.add_edges_from(edges)
    return graph


@needs_igraph
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (with_kinds("aaa", (0, 1)), with_kinds("aab", (0, 1))),  # only an isolated node differs
        (with_kinds("aa"), with_kinds("aaa")),
        (with_kinds("a"), with_kinds("b")),
        (with_kinds("aba", (0, 1), (1, 2)), with_kinds("bab", (0, 1), (1, 2))),  # equal colors
        (with_kinds("aab", (0, 1)), with_kinds("aab", (0, 2))),
    ],
)
def test_canonical_colorings_compare_nodes_and_attributes(
    first: nx.Graph, second: nx.Graph
) -> None:
    found = compare(given(first), given(second), most_enumerated=0)
    assert found.canonical is not None
    assert found.canonical.isomorphic is False
    copy = compare(given(first), given(shuffled(first, 0)), most_enumerated=0)
    assert copy.canonical is not None
    assert copy.canonical.isomorphic is True


def test_the_graph_with_more_colorings_decides_which_are_used() -> None:
    """∞-CLIP needs all colorings of both graphs, and the curve ends with all of the larger one."""
    for first, second in (("cycle-5", "hexagon"), ("hexagon", "cycle-5")):
        found = pair(first, second)
        assert sorted([found.first.num_colorings, found.second.num_colorings]) == [120, 720]
        assert found.complete is not None
        number, last = found.curve[-1]
        assert number == 720
        assert last == pytest.approx(found.complete, rel=1e-9)
    for first, second in (("hexagon", "cycle-7"), ("cycle-7", "hexagon")):
        assert pair(first, second, most_enumerated=5039).complete is None
        assert pair(first, second, most_enumerated=5040).complete is not None


def test_colorings_that_were_all_drawn_are_infinity_clip() -> None:
    found = pair("hexagon", "two-triangles", most_enumerated=0)
    assert found.complete is not None
    assert found.complete == pair("hexagon", "two-triangles").complete
    assert found.most_enumerated == 1024


def test_rounds_of_color_refinement() -> None:
    found = pair("star", "path")
    assert [own.equal for own in found.rounds] == [True, False, False]
    assert found.first_difference == 1
    assert found.isomorphic is False
    assert len({*found.rounds[-1].first, *found.rounds[-1].second}) == 5
    assert not found.is_zero(found.without_colors)
    assert pair("path", "cycle-7").first_difference == 0, "another number of nodes"


def test_colors_are_distinct_where_attributes_are_equal() -> None:
    graph = nx.path_graph(5)
    nx.set_node_attributes(graph, dict(enumerate("CCONN")), "element")
    found = compare(GivenGraph("a", graph), GivenGraph("b", nx.Graph(graph)), num_colorings=100)
    assert found.first.names == ["C", "C", "O", "N", "N"]
    assert found.first.num_colorings == 4
    assert len(found.steps) == 4
    assert sorted({tuple(own.first) for own in found.steps}) == [
        *((0, 1, 0, 0, 1), (0, 1, 0, 1, 0), (1, 0, 0, 0, 1), (1, 0, 0, 1, 0)),
    ]
    assert found.steps[-1].maximum == pytest.approx(found.complete, abs=1e-12)


def test_the_same_seed_has_the_same_numbers() -> None:
    assert pair("prism", "k-3-3", seed=3) == pair("prism", "k-3-3", seed=3)
    assert pair("prism", "k-3-3", seed=3).complete != pair("prism", "k-3-3", seed=4).complete


def test_the_running_maximum() -> None:
    found = pair("hexagon", "two-triangles", num_colorings=5)
    assert [k for k, _ in found.curve[:5]] == [1, 2, 3, 4, 5]
    assert [own.maximum for own in found.steps] == [value for _, value in found.curve[:5]]
    assert found.steps[0].difference == found.steps[0].maximum


def test_without_igraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    monkeypatch.setattr(labeling, "_caches", {})
    found = pair("hexagon", "two-triangles")
    assert found.canonical is None
    assert "require igraph" in str(found.canonical_problem)
    assert found.isomorphic is False  # by ∞-CLIP
    assert pair("cycle-7", "cycle-7", most_enumerated=0).isomorphic is None
    assert pair("star", "path").isomorphic is False


@needs_igraph
def test_a_labeling_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labeling, "_caches", {})
    monkeypatch.setattr(labeling, "_late", {})
    monkeypatch.setattr(labeling, "TIME_LIMIT", 1e-6)
    graph = nx.random_regular_graph(3, 20, seed=0)
    for _ in range(2):  # the second time, the labeling is not tried again
        found = compare(given(graph), given(shuffled(graph, 1)))
        assert found.canonical is None
        assert "took more than" in str(found.canonical_problem)
        assert found.isomorphic is None


def test_a_graph_without_nodes() -> None:
    with pytest.raises(InvalidGraphError, match=r"at least one node\. B has none"):
        compare(given(nx.path_graph(2)), GivenGraph("B", nx.Graph()))


@needs_igraph
@pytest.mark.parametrize("values", [(180.95, 180.95), (0.0, 1000.0)])
def test_numbers_of_any_size(values: tuple[float, float]) -> None:
    graphs = [nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: values[node % 2] for node in graph}, "mass")
    found = compare(*map(given, graphs))
    assert found.canonical is not None
    assert found.complete is not None
    assert not found.is_zero(found.complete)
    assert not found.is_zero(found.canonical.difference)


def given(graph: nx.Graph) -> GivenGraph:
    return GivenGraph("graph", graph)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            nx.DiGraph([(0, 1)]),
            r"must be undirected to be compared. graph \(A\) has directed edges",
        ),
        (nx.MultiGraph([(0, 1), (0, 1)]), "must have no parallel edges"),
        (nx.Graph([(0, 1, {"weight": 2.5})]), "has the weight 2.5"),
    ],
)
def test_graphs_that_are_not_supported(graph: nx.Graph, message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        compare(given(graph), given(nx.path_graph(2)))


def test_attributes() -> None:
    labeled = nx.path_graph(3)
    nx.set_node_attributes(labeled, {0: "a", 1: "b", 2: "a"}, "kind")
    nx.set_edge_attributes(labeled, {edge: {"bond": "single"} for edge in labeled.edges()})
    plain = nx.path_graph(3)
    with pytest.raises(InvalidParameterError, match=r"Only graph \(A\) has 'kind'. Compare"):
        compare(given(labeled), given(plain))
    with pytest.raises(InvalidParameterError, match="kinds"):
        compare(given(labeled), given(labeled), node_attributes=["kinds"])
    found = compare(given(labeled), given(plain), node_attributes=[])
    assert found.first.names == ["", "", ""]
    assert found.notes == [
        "Attributes of edges are not compared: bond.",
        "Attributes of nodes are not compared: kind.",
    ]
    assert found.unused == {"edges": ["bond"], "nodes": ["kind"]}
    weights_of_one = nx.Graph([(0, 1, {"weight": 1.0})])
    assert compare(given(weights_of_one), given(nx.path_graph(2))).first_difference is None


def with_masses(*masses: float | None) -> nx.Graph:
    """A path with masses at its nodes; None for a node without one."""
    graph: nx.Graph[int] = nx.path_graph(len(masses))
    nx.set_node_attributes(
        graph, {node: own for node, own in enumerate(masses) if own is not None}, "mass"
    )
    return graph


def test_numbers_that_are_equal_in_single_precision_are_named() -> None:
    found = compare(given(with_masses(0.1, 2.0)), given(with_masses(0.100000001, 2.0)))
    assert found.notes == [
        "Numbers are compared in single precision, as networks read them: 0.1 and 0.100000001 are "
        "equal."
    ]
    found = compare(given(with_masses(0.1, 2.0)), given(with_masses(0.10000001, 2.0)))
    assert found.notes == []
    views = found.first, found.second
    assert [view.attributes[0]["mass"] for view in views] == ["0.1", "0.10000001"]


def test_an_attribute_of_some_nodes_can_be_missing_in_the_other_graph() -> None:
    some = nx.path_graph(3)
    some.nodes[1]["configuration"] = "S"
    for pair in ((some, nx.path_graph(3)), (nx.path_graph(3), some)):
        found = compare(*map(given, pair))
        assert found.first_difference == 0
        names = [
            {own["configuration"] for own in view.attributes}
            for view in (found.first, found.second)
        ]
        assert sorted(names, key=len) == [{"none"}, {"none", "S"}]


def test_errors_have_the_names_of_the_graphs() -> None:
    first = GivenGraph("first.gml", with_masses(1.5, 2.5))
    second = GivenGraph("second.gml", with_masses(1.5, None))
    with pytest.raises(InvalidGraphError, match=r"Got None in second\.gml, node 1"):
        compare(first, second)
    first.graph.add_nodes_from(first.graph, kind="a")
    second.graph.add_nodes_from(second.graph, kind="a", charge=0)
    with pytest.raises(InvalidParameterError, match=r"second\.gml has 'charge'. Choose among kind"):
        compare(first, second)


def test_two_layers_see_two_rounds() -> None:
    paths = [nx.disjoint_union(nx.path_graph(one), nx.path_graph(20 - one)) for one in (10, 8)]
    found = compare(*map(given, paths))
    assert found.first_difference is not None
    assert found.first_difference > found.layers
    assert found.is_zero(found.without_colors)
