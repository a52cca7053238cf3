"""Vertices with the same neighbors, which a canonization program need not compare.

Twins are vertices of one color with the same neighbors, apart from themselves. Exchanging them does
not change the graph, so that their order is arbitrary. Canonization programs take quadratic time
for them, as in stars and complete graphs.
"""

from dataclasses import dataclass

import numpy as np

from clipgnn.coloring.structures import Integers, Structure


@dataclass(frozen=True)
class WithoutTwins:
    """A graph in which one vertex stands for each class of twins.

    Attributes:
        structure: the graph of the classes, whose colors also distinguish their sizes.
        members: vertices of the classes, in the order of the classes.
        first: place of the first member of each class, and the number of members.
    """

    structure: Structure
    members: Integers
    first: Integers

    @classmethod
    def of(cls, structure: Structure) -> "WithoutTwins":
        """Find the twins of a graph."""
        count = structure.colors.size
        classes = _classes(structure)
        members = np.argsort(classes, kind="stable")
        sizes = np.bincount(classes)
        first = np.concatenate([[0], sizes.cumsum()])
        representative = members[first[:-1]]
        adjacent = np.zeros(count, dtype=np.int64)  # whether a vertex has an adjacent twin
        same = classes[structure.edges[:, 0]] == classes[structure.edges[:, 1]]
        adjacent[structure.edges[same].ravel()] = 1
        described = np.stack([structure.colors[representative], sizes, adjacent[representative]], 1)
        colors = np.unique(described, axis=0, return_inverse=True)[1].reshape(-1)
        is_representative = np.zeros(count, dtype=bool)
        is_representative[representative] = True
        kept = is_representative[structure.edges].all(1)
        num_nodes = int((representative < structure.num_nodes).sum())
        return cls(
            Structure(num_nodes, colors.astype(np.int64), classes[structure.edges[kept]]),
            members,
            first,
        )

    def expanded(self, order: Integers) -> Integers:
        """Vertices of the classes in an order of classes."""
        return np.concatenate(
            [self.members[self.first[own] : self.first[own + 1]] for own in order]
        )


def _classes(structure: Structure) -> Integers:
    """Class of each vertex, in the order of the first vertices of the classes."""
    count = structure.colors.size
    ends = np.concatenate([structure.edges, structure.edges[:, ::-1]])
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    start = np.searchsorted(ends[:, 0], np.arange(count + 1))
    # Of color and neighbors, without the vertex for twins that are apart, and with it for adjacent
    # ones. No vertex has twins of both kinds.
    apart: dict[tuple[int, bytes], int] = {}
    adjacent: dict[tuple[int, bytes], int] = {}
    classes = np.empty(count, dtype=np.int64)
    number = 0
    for vertex, color in enumerate(structure.colors.tolist()):
        neighbors = ends[start[vertex] : start[vertex + 1], 1]
        with_vertex = np.insert(neighbors, np.searchsorted(neighbors, vertex), vertex)
        keys = (color, neighbors.tobytes()), (color, with_vertex.tobytes())
        known = apart.get(keys[0], adjacent.get(keys[1]))
        if known is None:
            known, number = number, number + 1
            apart[keys[0]] = adjacent[keys[1]] = known
        classes[vertex] = known
    return classes
