"""Generators of the synthetic tasks of the paper's appendix.

The first three tasks consist of pairs. A random graph with a property (class 1, the paper's
positive sample) is followed by a copy that loses the property by a few added edges (class 0), so
that the two graphs differ in little else. Graphs have no attributes: every node has the label 0.
Nodes are in a random order, the same for both graphs of a pair.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import check_seed

SKIP_LENGTHS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
"""The ten skip lengths of the literature, whose graphs of 41 nodes are not isomorphic."""

Adjacency = NDArray[np.bool_]  # [graphs, nodes, nodes]

_ENTRIES_AT_ONCE = 4_000_000  # entries of adjacency matrices per step, which bounds memory
_MIN_DRAWS = 20_000  # random graphs before the share of accepted ones is judged
_MIN_SHARE = 0.001


def connectivity(
    seed: int = 0, *, num_pairs: int = 500, component_size: int = 10, probability: float = 0.5
) -> PackedGraphs:
    """Generate the connectivity task: graphs of two components, and with an edge between them.

    Args:
        seed: seed of the random graphs.
        num_pairs: number of graphs of each class.
        component_size: number of nodes of each of the two components.
        probability: probability of each edge inside a component; components that are not
            connected are drawn again.

    Returns:
        Graphs of two connected components (class 1), each followed by its copy with an edge between
        two random nodes of different components (class 0).

    Raises:
        InvalidParameterError: if a size is under 1, or the probability is so small that random
            components are almost never connected.
    """
    random = _random("connectivity", seed)
    _check_at_least(1, num_pairs=num_pairs, component_size=component_size)
    _check_probability(probability)
    parts = _select(
        2 * num_pairs,
        component_size,
        lambda count: _symmetric(random.random((count,) + 2 * (component_size,)) < probability),
        lambda drawn: ~_any(~_reachable(drawn)),
        "connected components",
    )
    graphs = np.zeros((num_pairs, 2 * component_size, 2 * component_size), np.bool_)
    graphs[:, :component_size, :component_size] = parts[:num_pairs]
    graphs[:, component_size:, component_size:] = parts[num_pairs:]
    first, second = random.integers(component_size, size=(2, num_pairs))
    return _pairs("connectivity", graphs, _joined(graphs, first, component_size + second), random)


def bipartiteness(
    seed: int = 0, *, num_pairs: int = 500, part_size: int = 10, probability: float = 0.5
) -> PackedGraphs:
    """Generate the bipartiteness task: bipartite graphs, and with an odd cycle.

    Args:
        seed: seed of the random graphs.
        num_pairs: number of graphs of each class.
        part_size: number of nodes of each of the two parts.
        probability: probability of each edge between the parts.

    Returns:
        Bipartite graphs (class 1), each followed by its copy with an edge that closes an odd cycle
        (class 0). The edge joins two random nodes of one part and of one component; an edge between
        components would leave the graph bipartite.

    Raises:
        InvalidParameterError: if a part has under 2 nodes, or the probability is so small that
            random graphs almost never have a path between two nodes of one part.
    """
    random = _random("bipartiteness", seed)
    _check_at_least(1, num_pairs=num_pairs)
    _check_at_least(2, part_size=part_size)
    _check_probability(probability)
    part = np.arange(2 * part_size) // part_size
    same_part = np.triu(part[:, None] == part, 1)
    graphs = _select(
        num_pairs,
        part.size,
        lambda count: _symmetric(
            (random.random((count, part.size, part.size)) < probability) & ~same_part
        ),
        lambda drawn: _any(_reachable(drawn) & same_part),
        "bipartite graphs that an edge can give an odd cycle",
    )
    closing = _random_entry(_reachable(graphs) & same_part, random)
    return _pairs("bipartiteness", graphs, _joined(graphs, *closing), random)


def triangle_freeness(
    seed: int = 0, *, num_pairs: int = 500, num_nodes: int = 20, probability: float = 0.1
) -> PackedGraphs:
    """Generate the triangle-freeness task: graphs without triangles, and with one.

    Args:
        seed: seed of the random graphs.
        num_pairs: number of graphs of each class.
        num_nodes: number of nodes of each graph.
        probability: probability of each edge; graphs with a triangle are drawn again.

    Returns:
        Graphs without triangles (class 1), each followed by its copy with random edges, added one
        by one until there is a triangle (class 0).

    Raises:
        InvalidParameterError: if there are under 3 nodes, or the probability is so large that
            random graphs almost always have a triangle.
    """
    random = _random("triangle-freeness", seed)
    graphs = _triangle_free(random, num_pairs, num_nodes, probability, min_edges=0)
    return _pairs("triangle-freeness", graphs, _with_triangles(graphs, random), random)


def matched_triangle_freeness(
    seed: int = 0, *, num_pairs: int = 500, num_nodes: int = 20, probability: float = 0.1
) -> PackedGraphs:
    """Generate triangle-freeness with equal numbers of edges in both classes.

    In `triangle_freeness` the number of edges alone, which message passing can count, classifies
    77 % of the graphs: a copy has more edges than its original. Here edges are also removed.

    Args:
        seed: seed of the random graphs.
        num_pairs: number of graphs of each class.
        num_nodes: number of nodes of each graph.
        probability: probability of each edge; graphs with a triangle, or with under three edges,
            are drawn again.

    Returns:
        Graphs without triangles (class 1), each followed by its copy with random edges, added one
        by one until there is a triangle, and then as many random other edges removed (class 0).

    Raises:
        InvalidParameterError: if there are under 3 nodes, or the probability is so large that
            random graphs almost always have a triangle, or so small that they have no edges.
    """
    random = _random("matched-triangle-freeness", seed)
    graphs = _triangle_free(random, num_pairs, num_nodes, probability, min_edges=3)
    others = _with_triangles(graphs, random)
    removable = np.triu(others & ~_one_triangle(others, random), 1)
    surplus = np.triu(others, 1).sum((1, 2)) - np.triu(graphs, 1).sum((1, 2))
    keys = np.where(removable, random.random(others.shape), 2.0).reshape(num_pairs, -1)
    removed = keys.argsort(1).argsort(1) < surplus[:, None]
    removed = _symmetric(removed.reshape(others.shape))
    return _pairs("matched-triangle-freeness", graphs, others & ~removed, random)


def circular_skip_links(
    seed: int = 0,
    *,
    num_nodes: int = 41,
    skip_lengths: Sequence[int] = SKIP_LENGTHS,
    copies: int = 15,
) -> PackedGraphs:
    """Generate the circular skip links task: rings with additional edges of one length.

    Each node of a ring is joined to the next node and to the node a skip length away. All graphs
    are 4-regular and of the same size, so message-passing networks cannot distinguish them.

    Args:
        seed: seed of the random orders of the nodes.
        num_nodes: number of nodes of each graph.
        skip_lengths: skip length of each class, from 2 to under half of the nodes.
        copies: number of graphs of each class, each in another random order of the nodes.

    Returns:
        Graphs sorted by class. The class is the index of the skip length.

    Raises:
        InvalidParameterError: if there is no skip length, or one whose graph is not 4-regular.
    """
    if not isinstance(skip_lengths, Sequence) or not skip_lengths:
        raise InvalidParameterError(
            f"skip_lengths must be a list of at least one integer. Got {shown(skip_lengths)}."
        )
    _check_at_least(1, copies=copies, num_nodes=num_nodes)
    for skip in skip_lengths:
        if isinstance(skip, bool) or not isinstance(skip, int) or not 4 <= 2 * skip < num_nodes:
            raise InvalidParameterError(
                "A skip length must be an integer from 2 to under half of the "
                f"{shown(num_nodes)} nodes, or the graph is not 4-regular. Got {shown(skip)}."
            )
    generator = torch.Generator().manual_seed(check_seed(seed))
    edges = [
        torch.randperm(num_nodes, generator=generator)[_ring(num_nodes, skip)]
        for skip in skip_lengths
        for _ in range(copies)
    ]
    return PackedGraphs(
        name="csl",
        x=torch.zeros(num_nodes * len(edges), dtype=torch.int64),
        in_channels=1,
        edge_index=torch.cat(edges, dim=1),
        node_pointers=num_nodes * torch.arange(len(edges) + 1),
        edge_pointers=4 * num_nodes * torch.arange(len(edges) + 1),
        y=torch.arange(len(skip_lengths)).repeat_interleave(copies),
    )


def _triangle_free(
    random: np.random.Generator, count: int, num_nodes: int, probability: float, min_edges: int
) -> Adjacency:
    """Draw random graphs without triangles."""
    _check_at_least(1, num_pairs=count)
    _check_at_least(3, num_nodes=num_nodes)
    _check_probability(probability)
    return _select(
        count,
        num_nodes,
        lambda wanted: _symmetric(random.random((wanted, num_nodes, num_nodes)) < probability),
        lambda drawn: ~_has_triangle(drawn) & (drawn.sum((1, 2)) >= 2 * min_edges),
        "graphs without triangles",
    )


def _with_triangles(graphs: Adjacency, random: np.random.Generator) -> Adjacency:
    """Return copies of graphs with random edges, added one by one until there is a triangle."""
    others, missing = graphs.copy(), np.arange(len(graphs))
    pairs = np.triu(np.ones(graphs.shape[1:], np.bool_), 1)
    while missing.size:
        grown = others[missing]
        first, second = _random_entry(pairs & ~grown, random)
        others[missing] = _joined(grown, first, second)
        missing = missing[~_has_triangle(others[missing])]
    return others


def _one_triangle(graphs: Adjacency, random: np.random.Generator) -> Adjacency:
    """Return the edges of a random triangle of each graph, which must have one."""
    steps = graphs.astype(np.float32)
    first, second = _random_entry(np.triu((steps @ steps > 0) & graphs, 1), random)
    graph = np.arange(len(graphs))
    common = graphs[graph, first] & graphs[graph, second]
    third = np.where(common, random.random(common.shape), -1.0).argmax(1)
    result = np.zeros_like(graphs)
    for one, other in ((first, second), (first, third), (second, third)):
        result[graph, one, other] = result[graph, other, one] = True
    return result


def _ring(num_nodes: int, skip: int) -> Tensor:
    """Return the edges of a circular skip link graph in both directions."""
    node = torch.arange(num_nodes).repeat(2)
    step = torch.tensor([1, skip]).repeat_interleave(num_nodes)
    forward = torch.stack([node, (node + step) % num_nodes])
    return torch.cat([forward, forward.flip(0)], dim=1)


def _random(task: str, seed: int) -> np.random.Generator:
    """Return a generator whose numbers depend on the task and the seed."""
    return np.random.default_rng([check_seed(seed), *task.encode()])


def _check_at_least(least: int, **sizes: int) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < least:
            raise InvalidParameterError(
                f"{name} must be an integer of at least {least}. Got {shown(size)}."
            )


def _check_probability(probability: float) -> None:
    number = isinstance(probability, int | float) and not isinstance(probability, bool)
    if not number or not 0 <= probability <= 1:
        raise InvalidParameterError(
            f"probability must be a number from 0 to 1. Got {shown(probability)}."
        )


def _select(
    wanted: int,
    num_nodes: int,
    draw: Callable[[int], Adjacency],
    accepts: Callable[[Adjacency], NDArray[np.bool_]],
    what: str,
) -> Adjacency:
    """Draw graphs until enough of them are accepted, in bounded time."""
    at_once = min(1000, max(1, _ENTRIES_AT_ONCE // num_nodes**2))
    found: list[Adjacency] = []
    accepted = drawn = 0
    while accepted < wanted:
        if drawn >= _MIN_DRAWS and accepted < _MIN_SHARE * drawn:
            raise InvalidParameterError(
                f"Sizes and probability must give {what} often enough. Got {accepted} of the "
                f"{wanted} needed among {drawn} random graphs. Use another probability."
            )
        batch = draw(at_once)
        found.append(batch[accepts(batch)])
        accepted += len(found[-1])
        drawn += at_once
    return np.concatenate(found)[:wanted]


def _symmetric(draws: Adjacency) -> Adjacency:
    """Return undirected graphs without self-loops from the entries above the diagonals."""
    above = np.triu(draws, 1)
    return above | above.transpose(0, 2, 1)


def _reachable(graphs: Adjacency) -> Adjacency:
    """Return which pairs of nodes have a path between them; every node has one to itself."""
    reach = graphs | np.eye(graphs.shape[1], dtype=np.bool_)
    for _ in range(graphs.shape[1].bit_length()):  # each step doubles the length of the paths
        steps = reach.astype(np.float32)
        reach = (steps @ steps) > 0
    return reach


def _has_triangle(graphs: Adjacency) -> NDArray[np.bool_]:
    steps = graphs.astype(np.float32)
    return _any((steps @ steps > 0) & graphs)


def _any(entries: Adjacency) -> NDArray[np.bool_]:
    return np.logical_or.reduce(entries, axis=(1, 2))


def _random_entry(
    allowed: Adjacency, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row and column of a random true entry of each matrix."""
    keys = np.where(allowed, random.random(allowed.shape), -1.0).reshape(len(allowed), -1)
    row, column = np.divmod(keys.argmax(1), allowed.shape[2])
    return row, column


def _joined(graphs: Adjacency, first: NDArray[np.intp], second: NDArray[np.intp]) -> Adjacency:
    """Return copies of the graphs with one more edge each."""
    result, graph = graphs.copy(), np.arange(len(graphs))
    result[graph, first, second] = result[graph, second, first] = True
    return result


def _pairs(
    name: str, positive: Adjacency, negative: Adjacency, random: np.random.Generator
) -> PackedGraphs:
    """Return pairs of a positive and a negative graph in a common random order of the nodes."""
    count, num_nodes = positive.shape[:2]
    order = random.random((count, num_nodes)).argsort(1)
    pair = np.arange(count)[:, None, None]
    chosen = (pair, order[:, :, None], order[:, None, :])
    graphs = np.stack([positive[chosen], negative[chosen]], axis=1).reshape(
        2 * count, num_nodes, num_nodes
    )
    graph, source, target = torch.from_numpy(graphs).nonzero(as_tuple=True)
    return PackedGraphs(
        name=name,
        x=torch.zeros(2 * count * num_nodes, dtype=torch.int64),
        in_channels=1,
        edge_index=torch.stack([source, target]),
        node_pointers=num_nodes * torch.arange(2 * count + 1),
        edge_pointers=torch.searchsorted(graph, torch.arange(2 * count + 1)),
        y=torch.tensor([1, 0]).repeat(count),
    )
