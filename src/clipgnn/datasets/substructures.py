"""Exact numbers of small subgraphs, from powers of adjacency matrices.

A subgraph is a choice of edges: additional edges between its nodes do not matter (counts are not
induced). A complete graph of four nodes therefore has three 4-cycles, although each of them has
both chords.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs

Counts = NDArray[np.int64]

ENTRIES_AT_ONCE = 2_000_000
"""Number of entries of adjacency matrices that are computed at the same time."""


class Products:
    """Products of adjacency matrices that the formulas share, in integers.

    Args:
        adjacency: symmetric matrices of zeros and ones with zero diagonals,
            `[graphs, nodes, nodes]`.

    Attributes:
        adjacency: the matrices as integers.
        degree: number of neighbors of each node, `[graphs, nodes]`.
        common: number of common neighbors of each pair of nodes, 0 on the diagonal.
        at_node: number of triangles at each node, `[graphs, nodes]`.
    """

    def __init__(self, adjacency: NDArray[np.bool_] | NDArray[np.int64]) -> None:
        self.adjacency = _checked(adjacency)
        self.degree: Counts = self.adjacency.sum(2)
        self.squared: Counts = self.adjacency @ self.adjacency
        self.common: Counts = self.squared * (1 - np.eye(adjacency.shape[1], dtype=np.int64))
        self.at_node: Counts = (self.squared * self.adjacency).sum(2) // 2


def triangles(products: Products) -> Counts:
    """Number of triangles."""
    return products.at_node.sum(1) // 3


def four_cycles(products: Products) -> Counts:
    """Number of 4-cycles: pairs of paths of two edges between the same nodes, each found twice."""
    return _pairs(products.common).sum((1, 2)) // 4


def five_cycles(products: Products) -> Counts:
    """Number of 5-cycles: closed walks of five edges, less those around a triangle.

    A closed walk of five edges that is not a 5-cycle goes around a triangle and along one edge at
    it in both directions: 30 walks for each triangle, and 10 for each tailed triangle.
    """
    cubed = products.squared @ products.adjacency
    closed = (products.squared * cubed).sum((1, 2))
    return (closed - 30 * triangles(products) - 10 * tailed_triangles(products)) // 10


def six_cycles(products: Products) -> Counts:
    """Number of 6-cycles: closed walks of six edges, less those whose edges are another subgraph.

    The factor of a subgraph is the number of closed walks of six edges that use all of its edges.
    """
    cubed = products.squared @ products.adjacency
    degree = products.degree
    edges = degree.sum(1) // 2
    two_edges = _pairs(degree).sum(1)
    ends = (degree[:, :, None] - 1) * (degree[:, None, :] - 1) * products.adjacency
    three_edges = ends.sum((1, 2)) // 2 - 3 * triangles(products)
    at_node = _pairs(products.common).sum(2)  # number of 4-cycles at each node
    tailed = (at_node * (degree - 2)).sum(1) - 2 * chordal_cycles(products)
    bow_ties = _pairs(products.at_node).sum(1) - 2 * chordal_cycles(products)
    others = (
        2 * edges
        + 12 * two_edges
        + 6 * three_edges
        + 12 * stars(products)
        + 24 * triangles(products)
        + 48 * four_cycles(products)
        + 36 * chordal_cycles(products)
        + 12 * tailed
        + 24 * bow_ties
    )
    closed: Counts = (cubed * cubed).sum((1, 2))
    return (closed - others) // 12


def chordal_cycles(products: Products) -> Counts:
    """Number of 4-cycles with a chord: pairs of triangles with a common edge."""
    return (_pairs(products.common) * products.adjacency).sum((1, 2)) // 2


def tailed_triangles(products: Products) -> Counts:
    """Number of triangles with another edge at one of their nodes."""
    tails: Counts = (products.at_node * (products.degree - 2)).sum(1)
    return tails


def stars(products: Products) -> Counts:
    """Number of stars: a node and three of its neighbors."""
    degree = products.degree
    return (degree * (degree - 1) * (degree - 2)).sum(1) // 6


SUBSTRUCTURES: Mapping[str, Callable[[Products], Counts]] = {
    "triangles": triangles,
    "4-cycles": four_cycles,
    "5-cycles": five_cycles,
    "6-cycles": six_cycles,
    "chordal-cycles": chordal_cycles,
    "tailed-triangles": tailed_triangles,
    "stars": stars,
}
"""Functions that count a subgraph, by its name."""


def count_substructures(
    graphs: PackedGraphs | NDArray[np.bool_] | NDArray[np.int64],
) -> dict[str, Counts]:
    """Count all subgraphs of `SUBSTRUCTURES`.

    Args:
        graphs: undirected graphs without self-loops: a data set, whose attributes and weights do
            not matter, or adjacency matrices `[graphs, nodes, nodes]`, where zero rows for graphs
            with fewer nodes do not change counts.

    Returns:
        For each name the number of subgraphs of each graph.

    Raises:
        InvalidParameterError: if a graph is directed or has self-loops, or an array does not have
            adjacency matrices.

    Example:
        >>> complete = 1 - np.eye(4, dtype=np.int64)
        >>> {name: int(count[0]) for name, count in count_substructures(complete[None]).items()}
        {'triangles': 4, '4-cycles': 3, '5-cycles': 0, '6-cycles': 0, 'chordal-cycles': 6,
         'tailed-triangles': 12, 'stars': 4}
    """
    if isinstance(graphs, PackedGraphs):
        return _counts_of_packed(graphs)
    products = Products(graphs)
    return {name: count(products) for name, count in SUBSTRUCTURES.items()}


def _counts_of_packed(graphs: PackedGraphs) -> dict[str, Counts]:
    """Count the subgraphs of graphs of one size at the same time, in bounded memory."""
    found = {name: np.zeros(len(graphs), np.int64) for name in SUBSTRUCTURES}
    sizes = graphs.node_pointers.diff().numpy()
    for size in np.unique(sizes[sizes > 0]):
        numbers = np.flatnonzero(sizes == size)
        parts = -(-numbers.size * int(size) ** 2 // ENTRIES_AT_ONCE)
        for part in np.array_split(numbers, min(parts, numbers.size)):
            own = count_substructures(_adjacency(graphs.subset(torch.from_numpy(part)), int(size)))
            for name, counts in own.items():
                found[name][part] = counts
    return found


def _adjacency(graphs: PackedGraphs, size: int) -> Counts:
    """Adjacency matrices of graphs of one size, `[graphs, nodes, nodes]`."""
    matrices = np.zeros((len(graphs), size, size), np.int64)
    graph = torch.arange(len(graphs)).repeat_interleave(graphs.edge_pointers.diff())
    matrices[graph, *graphs.edge_index] = 1
    return matrices


def _checked(adjacency: NDArray[np.bool_] | NDArray[np.int64]) -> Counts:
    if not isinstance(adjacency, np.ndarray):
        raise InvalidParameterError(
            "graphs must be a PackedGraphs, or an array of adjacency matrices. Got "
            f"{type(adjacency).__name__}. Use PackedGraphs.from_networkx, from_data_list or "
            "another conversion."
        )
    matrices = adjacency
    square = matrices.ndim == 3 and matrices.shape[1] == matrices.shape[2]
    simple = square and bool(
        np.isin(matrices, (0, 1)).all()
        and (matrices == matrices.transpose(0, 2, 1)).all()
        and not np.diagonal(matrices, axis1=1, axis2=2).any()
    )
    if not simple:
        raise InvalidParameterError(
            "graphs must be undirected and without self-loops: symmetric matrices [graphs, nodes, "
            "nodes] of zeros and ones with zero diagonals. Got an array of shape "
            f"{list(matrices.shape)} that does not have them."
        )
    return matrices.astype(np.int64)


def _pairs(numbers: Counts) -> Counts:
    """Number of pairs of different things, for each number of things."""
    return numbers * (numbers - 1) // 2
