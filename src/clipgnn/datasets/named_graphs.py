"""Graphs by name: classic pairs that message passing does, or does not, distinguish."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx

from clipgnn.errors import InvalidParameterError

if TYPE_CHECKING:
    Graph = nx.Graph[Any]  # generic in its type stubs only
else:
    Graph = nx.Graph

MOST_RING_NODES = 200
"""Largest number of nodes of `cycle-N` and `csl-N-S`."""


@dataclass(frozen=True)
class NamedGraph:
    """A graph that has a name.

    Attributes:
        description: what the graph is, in a few words.
        partner: name of a graph that is interesting to compare it with.
        make: function that returns the graph, with nodes of any kind that can be sorted.
    """

    description: str
    partner: str
    make: Callable[[], Graph]


def named_graph(name: str) -> Graph | None:
    """Return the graph with a name: one of `NAMED_GRAPHS`, `cycle-N` or `csl-N-S`.

    Returns:
        The graph, or None if there is no graph with this name.

    Raises:
        InvalidParameterError: if the numbers of `cycle-N` or `csl-N-S` are out of range.

    Example:
        >>> named_graph("csl-11-2")
        <networkx.classes.graph.Graph object at ...>
        >>> named_graph("csl-11-2").number_of_edges(), named_graph("no such graph")
        (22, None)
    """
    if name in NAMED_GRAPHS:
        return _numbered(NAMED_GRAPHS[name].make())
    found = re.fullmatch(r"(cycle|csl)-([0-9]{1,9})(?:-([0-9]{1,9}))?", name)
    if found is None or (found[1] == "csl") != (found[3] is not None):
        return None
    size = int(found[2])
    if not 3 <= size <= MOST_RING_NODES:
        raise InvalidParameterError(
            f"N of cycle-N and csl-N-S must be from 3 to {MOST_RING_NODES}. Got {name}."
        )
    if found[3] is None:
        return nx.cycle_graph(size)
    if not 4 <= 2 * int(found[3]) < size:
        raise InvalidParameterError(
            f"S of csl-N-S must be from 2 to under half of N, or the graph is not 4-regular. Got "
            f"{name}."
        )
    return nx.circulant_graph(size, [1, int(found[3])])


def _numbered(graph: Graph) -> Graph:
    """Copy a graph with the nodes 0, 1, … in this order, and without attributes."""
    number = {node: place for place, node in enumerate(sorted(graph))}
    copy: Graph = nx.empty_graph(len(graph))
    copy.add_edges_from((number[one], number[other]) for one, other in graph.edges())
    return copy


def _two_triangles() -> Graph:
    return nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))


def _decalin() -> Graph:
    """Two hexagons with a common edge."""
    graph = nx.cycle_graph(10)
    graph.add_edge(0, 5)
    return graph


def _bicyclopentyl() -> Graph:
    """Two pentagons that an edge connects."""
    graph = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))
    graph.add_edge(0, 5)
    return graph


def _shrikhande() -> Graph:
    """Nodes are pairs of integers modulo 4, with edges along (1, 0), (0, 1) and (1, 1)."""
    graph: Graph = nx.Graph()
    for x in range(4):
        for y in range(4):
            for dx, dy in ((1, 0), (0, 1), (1, 1)):
                graph.add_edge((x, y), ((x + dx) % 4, (y + dy) % 4))
    return graph


def _rook() -> Graph:
    return nx.cartesian_product(nx.complete_graph(4), nx.complete_graph(4))


NAMED_GRAPHS: Mapping[str, NamedGraph] = {
    "hexagon": NamedGraph("ring of 6 nodes", "two-triangles", lambda: nx.cycle_graph(6)),
    "two-triangles": NamedGraph("two rings of 3 nodes", "hexagon", _two_triangles),
    "decalin": NamedGraph("two hexagons with a common edge", "bicyclopentyl", _decalin),
    "bicyclopentyl": NamedGraph("two pentagons, connected", "decalin", _bicyclopentyl),
    "prism": NamedGraph("triangular prism", "k-3-3", lambda: nx.circular_ladder_graph(3)),
    "k-3-3": NamedGraph(
        "complete bipartite graph of 3 and 3 nodes",
        "prism",
        lambda: nx.complete_bipartite_graph(3, 3),
    ),
    "petersen": NamedGraph("Petersen graph", "pentagonal-prism", nx.petersen_graph),
    "pentagonal-prism": NamedGraph(
        "pentagonal prism", "petersen", lambda: nx.circular_ladder_graph(5)
    ),
    "rook-4x4": NamedGraph("moves of a rook on a board of 4 x 4", "shrikhande", _rook),
    "shrikhande": NamedGraph(
        "strongly regular, with the parameters of rook-4x4", "rook-4x4", _shrikhande
    ),
    "star": NamedGraph("a node with 5 neighbors", "path", lambda: nx.star_graph(5)),
    "path": NamedGraph("path of 6 nodes", "star", lambda: nx.path_graph(6)),
}
"""The graphs by name."""

PATTERNS: Mapping[str, str] = {
    "cycle-N": "ring of N nodes, such as cycle-8",
    "csl-N-S": "circular skip links: a ring of N nodes with edges of length S, such as csl-11-3",
}
"""Names with numbers."""
