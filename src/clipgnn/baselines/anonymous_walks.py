"""Distributions over the anonymous walks of graphs, exact or estimated from samples."""

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

WALKS_PER_CHUNK = 2**16
"""Walks that are extended together: a few megabytes, which fit in the cache of a processor."""

MAX_EXACT_WALKS = 2**20
"""Largest number of walks of a graph that are all enumerated, which takes about 0.05 seconds."""

MAX_WALKS = 2**33
"""Largest number of walks of a data set, which takes about an hour."""

MAX_TABLE_SIZE = 2**20
"""Largest range of keys that are summed with a table, which is faster than sorting them."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def bell_number(number: int) -> int:
    """Number of partitions of a set with `number` elements.

    It is also the number of anonymous walks with `number` steps in graphs without self-loops.

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
    """Number of walks to sample: m = ⌈2/ε² (ln(2^η − 2) − ln δ)⌉, the bound of the paper.

    With m samples, the sum of the absolute errors of all frequencies is at least ε with a
    probability of at most δ.

    Args:
        num_patterns: number η of anonymous walks.
        epsilon: bound ε on the sum of the absolute errors.
        delta: probability δ that the error exceeds the bound.

    Example:
        >>> walks_needed(877, epsilon=0.5, delta=0.05)
        4888
    """
    if num_patterns < 2:
        return 1  # all walks have the same pattern
    # ln(2^η − 2) without 2^η, which overflows.
    logarithm = num_patterns * math.log(2) + math.log1p(-(2.0 ** (1 - num_patterns)))
    return math.ceil(2 / epsilon**2 * (logarithm - math.log(delta)))


@lru_cache(maxsize=2)
def walk_distributions(
    graphs: PackedGraphs, length: int, epsilon: float, delta: float, sampling: str, seed: int
) -> Any:
    """Distribution over the anonymous walks of each graph, cached for the next call.

    See `clipgnn.baselines.awl.AWL` for the arguments.

    Returns:
        A SciPy sparse matrix `[graphs, anonymous walks]`. Each row sums to 1, or to 0 for a graph
        without nodes. The columns are the anonymous walks that occur, in arbitrary order.
    """
    neighborhoods = _Neighborhoods.of(graphs)
    # A walk that stays at an isolated node is one more pattern.
    patterns = bell_number(length) + bool(neighborhoods.has_isolated_nodes)
    samples = walks_needed(patterns, epsilon, delta)
    counts = neighborhoods.walk_counts(length)
    choice = {
        "auto": counts <= max(samples, MAX_EXACT_WALKS),
        "never": counts >= 0,
        "always": counts < 0,
    }
    exact = choice[sampling] | (neighborhoods.size == 0)
    total = counts[exact].sum() + float(samples) * np.count_nonzero(~exact)
    if total > MAX_WALKS:
        raise InvalidParameterError(
            f"A data set must have at most {MAX_WALKS:.0e} walks. Got {total:.1e} walks of "
            f"{length} steps in {graphs.name!r} with sampling {sampling!r}. Make 'length' smaller "
            "or 'epsilon' larger, or use sampling \"auto\"."
        )
    sums = _WalkSums(length)
    for walks in chain(
        neighborhoods.all_walks(np.flatnonzero(exact[neighborhoods.graph]), length),
        neighborhoods.sampled_walks(np.flatnonzero(~exact), samples, length, seed),
    ):
        sums.add(neighborhoods.graph[walks.nodes[0]], walks)
    return sums.matrix(len(graphs))


@dataclass(frozen=True, eq=False)
class _Walks:
    """Walks of the same number of steps. Every array has one entry for each walk.

    Attributes:
        nodes: nodes of the walks, an array for the start and for each step.
        places: the anonymous walks: for each array of `nodes`, the number of distinct nodes that
            the walk visited before it first visited this node.
        num_visited: number of distinct nodes.
        number: number of the anonymous walk, whose digits are its places.
        weight: probability of the walk, or its share of the samples.
    """

    nodes: tuple[Integers, ...]
    places: tuple[Integers, ...]
    num_visited: Integers
    number: Integers
    weight: Floats

    @classmethod
    def starting_at(cls, nodes: Integers, weight: Floats) -> "_Walks":
        """Walks without steps."""
        zeros = np.zeros_like(nodes)
        return cls((nodes,), (zeros,), zeros + 1, zeros, weight)

    @property
    def last_nodes(self) -> Integers:
        """Last node of each walk."""
        return self.nodes[-1]

    def __getitem__(self, chosen: Integers | slice) -> "_Walks":
        return _Walks(
            tuple(nodes[chosen] for nodes in self.nodes),
            tuple(places[chosen] for places in self.places),
            self.num_visited[chosen],
            self.number[chosen],
            self.weight[chosen],
        )

    def extended(self, node: Integers) -> "_Walks":
        """Append a step to `node` to each walk."""
        place = self.num_visited
        for visited, its_place in zip(self.nodes, self.places, strict=True):
            place = np.where(visited == node, its_place, place)
        return _Walks(
            (*self.nodes, node),
            (*self.places, place),
            np.maximum(self.num_visited, place + 1),
            self.number * (len(self.nodes) + 1) + place,
            self.weight,
        )


@dataclass(frozen=True, eq=False)
class _Neighborhoods:
    """Neighbors of every node of a data set.

    Self-loops are removed. A node without neighbors becomes its own neighbor: a walk stays there.

    Attributes:
        graph: the graph of each node.
        first: the first node of each graph.
        size: number of nodes of each graph.
        begin: position in `neighbor` of the first neighbor of each node.
        degree: number of neighbors of each node.
        neighbor: neighbors of all nodes, concatenated.
        has_isolated_nodes: whether there is a node without neighbors.
    """

    graph: Integers
    first: Integers
    size: Integers
    begin: Integers
    degree: Integers
    neighbor: Integers
    has_isolated_nodes: bool

    @classmethod
    def of(cls, graphs: PackedGraphs) -> "_Neighborhoods":
        """Neighbors of the nodes of a data set."""
        pointers = graphs.node_pointers.cpu().numpy()
        size = np.diff(pointers)
        source, target = graphs.global_edge_index.cpu().numpy()
        source, target = source[source != target], target[source != target]
        isolated = np.setdiff1d(np.arange(pointers[-1]), source)
        source, target = np.append(source, isolated), np.append(target, isolated)
        degree = np.bincount(source, minlength=pointers[-1])
        return cls(
            graph=np.repeat(np.arange(size.size), size),
            first=pointers[:-1],
            size=size,
            begin=np.cumsum(degree) - degree,
            degree=degree,
            neighbor=target[np.argsort(source, kind="stable")],
            has_isolated_nodes=isolated.size > 0,
        )

    def walk_counts(self, length: int) -> Floats:
        """Number of walks with `length` steps of each graph."""
        counts = np.ones(self.graph.size)
        for _ in range(length):
            counts = np.add.reduceat(counts[self.neighbor], self.begin)
        return _sums(self.graph, counts, self.size.size)

    def all_walks(self, starts: Integers, length: int) -> Iterator[_Walks]:
        """Yield every walk from these nodes with its probability, in chunks, depth first."""
        weight = 1.0 / self.size[self.graph[starts]]
        pending = [_Walks.starting_at(starts, weight)] if starts.size else []
        while pending:
            walks = pending.pop()
            if len(walks.nodes) > length:
                yield walks
                continue
            # Chunk of each walk after it is extended by every neighbor of its last node.
            chunk = np.cumsum(self.degree[walks.last_nodes]) // WALKS_PER_CHUNK
            bounds = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), chunk.size]
            if len(bounds) > 2:
                pending += [walks[begin:end] for begin, end in pairwise(bounds)]
            else:
                pending.append(self._extended_by_all_neighbors(walks))

    def _extended_by_all_neighbors(self, walks: _Walks) -> _Walks:
        """Replace each walk by its extensions by one step, with equal probabilities."""
        degree = self.degree[walks.last_nodes]
        parent = np.repeat(np.arange(degree.size), degree)
        # Position of each new step among the neighbors: 0, 1, ..., degree - 1 for each parent.
        position = np.arange(parent.size) - np.repeat(np.cumsum(degree) - degree, degree)
        copies = replace(walks, weight=walks.weight / degree)[parent]
        return copies.extended(self.neighbor[self.begin[copies.last_nodes] + position])

    def sampled_walks(
        self, graphs: Integers, samples: int, length: int, seed: int
    ) -> Iterator[_Walks]:
        """Yield `samples` random walks of each of these graphs, in chunks."""
        generator = np.random.default_rng(seed)
        for begin in range(0, graphs.size * samples, WALKS_PER_CHUNK):
            end = min(begin + WALKS_PER_CHUNK, graphs.size * samples)
            graph = graphs[np.arange(begin, end) // samples]
            # [walks, steps + 1], so that the result does not depend on the size of the chunks.
            uniform = generator.random((graph.size, length + 1))
            node = self.first[graph] + (uniform[:, 0] * self.size[graph]).astype(np.int64)
            walks = _Walks.starting_at(node, np.full(graph.size, 1.0 / samples))
            for step in range(length):
                position = (uniform[:, step + 1] * self.degree[walks.last_nodes]).astype(np.int64)
                walks = walks.extended(self.neighbor[self.begin[walks.last_nodes] + position])
            yield walks


class _WalkSums:
    """Sums of the weights of walks by graph and anonymous walk.

    Args:
        length: number of steps of the walks.
    """

    def __init__(self, length: int) -> None:
        self.stride = math.factorial(length + 1)  # larger than the number of any anonymous walk
        self.keys: list[Integers] = []
        self.weights: list[Floats] = []

    def add(self, graph: Integers, walks: _Walks) -> None:
        """Add the weights of walks in these graphs."""
        key = graph * self.stride + walks.number
        smallest = key.min()
        if key.max() - smallest < MAX_TABLE_SIZE:
            sums = _sums(key - smallest, walks.weight)
            found = np.flatnonzero(sums)
            self.keys.append(found + smallest)
            self.weights.append(sums[found])
        else:
            found, index = np.unique(key, return_inverse=True)
            self.keys.append(found)
            self.weights.append(_sums(index, walks.weight))

    def matrix(self, num_graphs: int) -> Any:
        """Return the sums as a SciPy sparse matrix `[graphs, anonymous walks]`."""
        from scipy.sparse import csr_matrix

        key = np.concatenate([np.empty(0, dtype=np.int64), *self.keys])
        graph, number = np.divmod(key, self.stride)
        patterns, column = np.unique(number, return_inverse=True)
        weight = np.concatenate([np.empty(0), *self.weights])
        return csr_matrix((weight, (graph, column)), shape=(num_graphs, patterns.size))


def _sums(index: Integers, weight: Floats, min_length: int = 0) -> Floats:
    """Sum the weights of each index."""
    return np.asarray(np.bincount(index, weight, minlength=min_length), dtype=np.float64)
