"""Positions of the nodes of drawn graphs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    Graph = nx.Graph[Any]  # generic in its type stubs only
else:
    Graph = nx.Graph

SMALLEST_DISTANCE = 0.4
"""Smallest distance between two nodes, in mean lengths of edges, that is large enough to draw."""


SMALLEST_ROOM = 1 / 40
"""Smallest distance between two nodes, as part of the width or height of a drawing, for which
nodes can be drawn with numbers in a box of limited size."""

_MANY = 4
"""Number of components that are placed in rows, at distances larger than those of neighbors."""

_ROW = 1.2
"""Largest width of a row of components, in square roots of their area."""


def place_nodes(graph: Graph, *, rings: bool = False) -> dict[Any, NDArray[np.float64]]:
    """Place the components side by side, many of them in rows, with edges of a mean length of 1.

    Args:
        graph: the graph.
        rings: whether to place the nodes of each component on a circle, in their order; by default
            at distances like those in the graph (Kamada and Kawai).
    """
    placed: list[tuple[list[Any], NDArray[np.float64]]] = []
    for component in nx.connected_components(graph.to_undirected()):
        # A subgraph has the order of a set; `graph` has the order of its nodes.
        part: Graph = nx.Graph()
        part.add_nodes_from(node for node in graph if node in component)
        part.add_edges_from(graph.subgraph(component).edges())
        method = nx.circular_layout if rings else nx.kamada_kawai_layout
        own = method(part) if len(part) > 1 else dict.fromkeys(part, np.zeros(2))
        lengths = [np.linalg.norm(own[one] - own[other]) for one, other in part.edges()]
        lengths = [length for length in lengths if length > 0]
        if rings:
            # The distance between neighbors on the circle, which can be less than that of edges.
            lengths = [2 * np.sin(np.pi / max(len(part), 2))]
        scale = max(float(np.mean(lengths)), 1e-9) if lengths else 1.0
        spots = np.array([own[node] for node in own]) / scale
        placed.append((list(own), spots - [spots[:, 0].min(), spots[:, 1].mean()]))
    _arrange([spots for _, spots in placed])
    return {node: spot for nodes, spots in placed for node, spot in zip(nodes, spots, strict=True)}


def _arrange(parts: Sequence[NDArray[np.float64]]) -> None:
    """Move components `[nodes, 2]`, which begin at x = 0, into one row, or into rows if many."""
    gap, widest = 1.0, np.inf
    sizes = [np.ptp(part, axis=0) for part in parts]
    if len(parts) >= _MANY:
        gap = 1.7
        widest = _ROW * float(sum((size + gap).prod() for size in sizes)) ** 0.5
    rows: list[list[NDArray[np.float64]]] = []
    left = 0.0
    for part, size in zip(parts, sizes, strict=True):
        if not rows or (left > 0 and left + size[0] > widest):
            rows.append([])
            left = 0.0
        rows[-1].append(part)
        part[:, 0] += left
        left += float(size[0]) + gap
    bottom = 0.0
    for row in rows if len(rows) > 1 else ():
        shift = bottom - max(float(part[:, 1].max()) for part in row)
        for part in row:
            part[:, 1] += shift
        bottom = min(float(part[:, 1].min()) for part in row) - gap


def smallest_distance(places: NDArray[np.float64]) -> float:
    """Return the smallest distance between two of the positions `[nodes, 2]`."""
    distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
    return float(distances[~np.eye(len(places), dtype=bool)].min(initial=np.inf))


def room(places: NDArray[np.float64]) -> float:
    """Return the smallest distance between two nodes as part of the width or height."""
    extent = float(np.ptp(places, axis=0).max())
    return smallest_distance(places) / extent if extent > 0 else np.inf


def place_alike(*graphs: Graph) -> list[NDArray[np.float64]]:
    """Place the nodes of several graphs in the same way: rings, if nodes of one would be too close.

    Returns:
        Positions `[nodes, 2]` of each graph, in the order of its nodes.
    """
    by_distance, on_rings = (
        [
            np.array([own[node] for node in graph])
            for graph in graphs
            for own in [place_nodes(graph, rings=rings)]
        ]
        for rings in (False, True)
    )
    if not all(smallest_distance(own) >= SMALLEST_DISTANCE for own in by_distance):
        return on_rings
    # A long path is a line, whose nodes would be smaller than those of a ring.
    needed = min(SMALLEST_ROOM, *map(room, on_rings))
    return by_distance if min(map(room, by_distance)) >= needed else on_rings


def turned(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn positions `[nodes, 2]` if this reduces the larger of their width and height clearly."""
    angles = [np.pi * step / 12 for step in range(1, 12)]
    rotations = [
        np.array([[np.cos(own), np.sin(own)], [-np.sin(own), np.cos(own)]]) for own in angles
    ]
    found = min((places @ own for own in rotations), key=lambda own: np.ptp(own, axis=0).max())
    return found if np.ptp(found, axis=0).max() < 0.9 * np.ptp(places, axis=0).max() else places
