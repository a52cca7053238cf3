"""How often the anonymous walks of a length occur in graphs: exactly, or from samples."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs

WALKS_AT_ONCE = 2**16
"""Walks that are advanced together: a few megabytes, which fit into a processor's cache."""

ALL_WALKS = 2**20
"""Walks of one graph up to which all are taken: a twentieth of a second, and no error at all."""

MOST_WALKS = 2**33
"""Walks through a whole data set that are still attempted: about an hour."""

COUNTED_BY_TABLE = 2**20
"""Numbers of walks no further apart than this are counted in a table, which is faster than sorting.
"""

LONGEST = 15
"""Steps of the longest walks whose numbers fit into 64 bits, for a thousand graphs and more."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def bell_number(number: int) -> int:
    """The number of partitions of a set of this size.

    As many anonymous walks have this number of steps in graphs without loops.

    Example:
        >>> [bell_number(steps) for steps in range(8)]
        [1, 1, 2, 5, 15, 52, 203, 877]
    """
    row = [1]
    for _ in range(number):
        following = [row[-1]]
        for value in row:
            following.append(following[-1] + value)
        row = following
    return row[0]


def walks_needed(num_patterns: int, epsilon: float, delta: float) -> int:
    """How many walks to sample: m = ⌈2/ε² (ln(2^η − 2) − ln δ)⌉, the paper's bound.

    Then all frequencies together are off by ε or more with a probability of at most δ.

    Args:
        num_patterns: anonymous walks η to tell apart.
        epsilon: bound on the sum of the absolute errors.
        delta: probability to miss it.

    Example:
        >>> walks_needed(877, epsilon=0.5, delta=0.05)
        4888
    """
    if num_patterns < 2:
        return 1  # one pattern has all walks
    # 2^η is far beyond floats.
    logarithm = num_patterns * math.log(2) + math.log1p(-(2.0 ** (1 - num_patterns)))
    return math.ceil(2 / epsilon**2 * (logarithm - math.log(delta)))


@lru_cache(maxsize=2)
def walk_distributions(
    graphs: PackedGraphs, length: int, epsilon: float, delta: float, sampling: str, seed: int
) -> Any:
    """The distribution over the anonymous walks of each graph, kept for the next call.

    See `clipgnn.baselines.awl.AWL` for the arguments.

    Returns:
        A sparse matrix of scipy, `[graphs, anonymous walks]`, whose rows sum to one; those of
        graphs without nodes to zero. The columns are the anonymous walks that occur, in no
        meaningful order.
    """
    roads = _Roads.of(graphs)
    patterns = bell_number(length) + bool(roads.standing)
    samples = walks_needed(patterns, epsilon, delta)
    counts = roads.walks_of_graphs(length)
    choice = {"auto": counts <= max(samples, ALL_WALKS), "never": counts >= 0, "always": counts < 0}
    exact = choice[sampling] | (roads.size == 0)
    total = counts[exact].sum() + float(samples) * np.count_nonzero(~exact)
    if total > MOST_WALKS:
        raise InvalidParameterError(
            f"At most {MOST_WALKS:.0e} walks can be taken through a data set. Walks of {length} "
            f"steps through {graphs.name!r} are {total:.1e} with sampling {sampling!r}; make "
            "'length' smaller, 'epsilon' larger, or sampling \"auto\"."
        )
    occurrences = _Tally(length)
    for walks in chain(
        roads.all_walks(np.flatnonzero(exact[roads.graph]), length),
        roads.sampled_walks(np.flatnonzero(~exact), samples, length, seed),
    ):
        occurrences.add(roads.graph[walks.nodes[0]], walks)
    return occurrences.matrix(len(graphs))


@dataclass(frozen=True, eq=False)
class _Walks:
    """Walks of as many steps.

    Attributes:
        nodes: for each step and the beginning, the nodes where they were.
        places: the anonymous walks: for each of these nodes, how many others were met before it.
        met: how many nodes were met.
        number: of the anonymous walk, whose digits are its places.
        weight: probability of the walk, or share among the samples.
    """

    nodes: tuple[Integers, ...]
    places: tuple[Integers, ...]
    met: Integers
    number: Integers
    weight: Floats

    @classmethod
    def beginning(cls, nodes: Integers, weight: Floats) -> "_Walks":
        zeros = np.zeros_like(nodes)
        return cls((nodes,), (zeros,), zeros + 1, zeros, weight)

    @property
    def here(self) -> Integers:
        """The nodes where they are."""
        return self.nodes[-1]

    def __getitem__(self, chosen: Integers | slice) -> "_Walks":
        return _Walks(
            tuple(nodes[chosen] for nodes in self.nodes),
            tuple(places[chosen] for places in self.places),
            self.met[chosen],
            self.number[chosen],
            self.weight[chosen],
        )

    def moved(self, node: Integers) -> "_Walks":
        """The walks after one more step, to these nodes."""
        place = self.met
        for before, its_place in zip(self.nodes, self.places, strict=True):
            place = np.where(before == node, its_place, place)
        return _Walks(
            (*self.nodes, node),
            (*self.places, place),
            np.maximum(self.met, place + 1),
            self.number * (len(self.nodes) + 1) + place,
            self.weight,
        )


@dataclass(frozen=True, eq=False)
class _Roads:
    """Where a walk can go: the neighbors of every node of a data set.

    Loops are no roads. A node without neighbors is its own, and a walk there stays.

    Attributes:
        graph: the graph of each node.
        first: the first node of each graph.
        size: nodes of each graph.
        begin: where the neighbors of each node begin.
        degree: how many they are.
        neighbor: the neighbors of all nodes, end to end.
        standing: whether there is a node without neighbors.
    """

    graph: Integers
    first: Integers
    size: Integers
    begin: Integers
    degree: Integers
    neighbor: Integers
    standing: bool

    @classmethod
    def of(cls, graphs: PackedGraphs) -> "_Roads":
        pointers = graphs.node_pointers.cpu().numpy()
        size = np.diff(pointers)
        source, target = graphs.edges_through.cpu().numpy()
        source, target = source[source != target], target[source != target]
        alone = np.setdiff1d(np.arange(pointers[-1]), source)
        source, target = np.append(source, alone), np.append(target, alone)
        degree = np.bincount(source, minlength=pointers[-1])
        return cls(
            graph=np.repeat(np.arange(size.size), size),
            first=pointers[:-1],
            size=size,
            begin=np.cumsum(degree) - degree,
            degree=degree,
            neighbor=target[np.argsort(source, kind="stable")],
            standing=alone.size > 0,
        )

    def walks_of_graphs(self, length: int) -> Floats:
        """How many walks of this length each graph has."""
        counts = np.ones(self.graph.size)
        for _ in range(length):
            counts = np.add.reduceat(counts[self.neighbor], self.begin)
        return _sums(self.graph, counts, self.size.size)

    def all_walks(self, starts: Integers, length: int) -> Iterator[_Walks]:
        """Every walk from these nodes with its probability, in parts, depth first."""
        weight = 1.0 / self.size[self.graph[starts]]
        waiting = [_Walks.beginning(starts, weight)] if starts.size else []
        while waiting:
            walks = waiting.pop()
            if len(walks.nodes) > length:
                yield walks
                continue
            continued = np.cumsum(self.degree[walks.here]) // WALKS_AT_ONCE
            bounds = [0, *(np.flatnonzero(np.diff(continued)) + 1).tolist(), continued.size]
            if len(bounds) > 2:
                waiting += [walks[slice(*between)] for between in pairwise(bounds)]
            else:
                waiting.append(self._every_step(walks))

    def _every_step(self, walks: _Walks) -> _Walks:
        degree = self.degree[walks.here]
        parent = np.repeat(np.arange(degree.size), degree)
        which = np.arange(parent.size) - np.repeat(np.cumsum(degree) - degree, degree)
        continued = replace(walks, weight=walks.weight / degree)[parent]
        return continued.moved(self.neighbor[self.begin[continued.here] + which])

    def sampled_walks(
        self, graphs: Integers, samples: int, length: int, seed: int
    ) -> Iterator[_Walks]:
        """The given number of random walks through each of these graphs, in parts."""
        generator = np.random.default_rng(seed)
        for begin in range(0, graphs.size * samples, WALKS_AT_ONCE):
            end = min(begin + WALKS_AT_ONCE, graphs.size * samples)
            graph = graphs[np.arange(begin, end) // samples]
            # Drawn walk by walk, so that the size of the parts changes nothing.
            chance = generator.random((graph.size, length + 1))
            node = self.first[graph] + (chance[:, 0] * self.size[graph]).astype(np.int64)
            walks = _Walks.beginning(node, np.full(graph.size, 1.0 / samples))
            for step in range(length):
                which = (chance[:, step + 1] * self.degree[walks.here]).astype(np.int64)
                walks = walks.moved(self.neighbor[self.begin[walks.here] + which])
            yield walks


class _Tally:
    """Adds up the weights of walks by graph and anonymous walk."""

    def __init__(self, length: int) -> None:
        self.numbers = math.factorial(length + 1)
        self.keys: list[Integers] = []
        self.weights: list[Floats] = []

    def add(self, graph: Integers, walks: _Walks) -> None:
        key = graph * self.numbers + walks.number
        least = key.min()
        if key.max() - least < COUNTED_BY_TABLE:
            sums = _sums(key - least, walks.weight)
            own = np.flatnonzero(sums)
            self.keys.append(own + least)
            self.weights.append(sums[own])
        else:
            own, place = np.unique(key, return_inverse=True)
            self.keys.append(own)
            self.weights.append(_sums(place, walks.weight))

    def matrix(self, num_graphs: int) -> Any:
        from scipy.sparse import csr_matrix

        key = np.concatenate([np.empty(0, dtype=np.int64), *self.keys])
        graph, number = np.divmod(key, self.numbers)
        patterns, column = np.unique(number, return_inverse=True)
        weight = np.concatenate([np.empty(0), *self.weights])
        return csr_matrix((weight, (graph, column)), shape=(num_graphs, patterns.size))


def _sums(place: Integers, weight: Floats, room: int = 0) -> Floats:
    """What falls on each place, added up."""
    return np.asarray(np.bincount(place, weight, minlength=room), dtype=np.float64)
