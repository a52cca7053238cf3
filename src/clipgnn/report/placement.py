"""Positions of the nodes of drawn graphs."""

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


def place_nodes(graph: Graph, *, rings: bool = False) -> dict[Any, NDArray[np.float64]]:
    """Place the components side by side, with edges of a mean length of 1.

    Args:
        graph: the graph.
        rings: whether to place the nodes of each component on a circle, in their order; by default
            at distances like those in the graph (Kamada and Kawai).
    """
    places: dict[Any, NDArray[np.float64]] = {}
    left = 0.0
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
        spots -= [spots[:, 0].min() - left, spots[:, 1].mean()]
        places.update(zip(own, spots, strict=True))
        left = float(spots[:, 0].max()) + 1.0
    return places


def smallest_distance(places: NDArray[np.float64]) -> float:
    """Return the smallest distance between two of the positions `[nodes, 2]`."""
    distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
    return float(distances[~np.eye(len(places), dtype=bool)].min(initial=np.inf))


def place_alike(*graphs: Graph) -> list[NDArray[np.float64]]:
    """Place the nodes of several graphs in the same way: rings, if nodes of one would be too close.

    Returns:
        Positions `[nodes, 2]` of each graph, in the order of its nodes.
    """
    for rings in (False, True):
        found = [place_nodes(graph, rings=rings) for graph in graphs]
        spots = [
            np.array([own[node] for node in graph])
            for own, graph in zip(found, graphs, strict=True)
        ]
        if all(smallest_distance(own) >= SMALLEST_DISTANCE for own in spots):
            break
    return spots
