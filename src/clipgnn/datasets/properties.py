"""Graphs that test a property, made from a seed: the synthetic tasks of the paper's appendix.

In the first three, a graph that has a property is drawn, and a copy of it loses the property by a
few added edges, so that little else tells the two apart. `y` is 1 for the graph as it was drawn
(the paper's positive sample) and 0 for the copy with added edges, which comes right after it. No
graph has attributes: every node has the label 0. Nodes are in a random order, the same in both
graphs of a pair, so that a node's number says nothing about the graph.
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
"""The ten skip lengths of the literature; on 41 nodes no two give isomorphic graphs."""

Adjacency = NDArray[np.bool_]  # [graphs, nodes, nodes]

_ENTRIES_AT_ONCE = 4_000_000  # of adjacency matrices, which bounds memory
_FIRST_DRAWS = 20_000  # before a share of graphs that fit is taken for too small
_SMALLEST_SHARE = 0.001


def connectivity(
    seed: int = 0, *, num_pairs: int = 500, component_size: int = 10, probability: float = 0.5
) -> PackedGraphs:
    """Connectivity: has this graph two components, or did an edge join them?

    Args:
        seed: seed of everything random.
        num_pairs: graphs of each class.
        component_size: nodes of each of the two components.
        probability: of each edge inside a component; disconnected ones are drawn again.

    Returns:
        Graphs of two connected components (class 1), each followed by itself with one more edge,
        between two random nodes of different components (class 0).

    Raises:
        InvalidParameterError: if a size is under 1, or so few edges are drawn that hardly any
            component is connected.
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
    """Bipartiteness: can this graph be drawn in two colors, or has it an odd cycle?

    Args:
        seed: seed of everything random.
        num_pairs: graphs of each class.
        part_size: nodes of each of the two parts.
        probability: of each edge between the parts.

    Returns:
        Bipartite graphs (class 1), each followed by itself with one more edge, which closes an odd
        cycle (class 0): it joins two random nodes of one part that a path joins already, as an
        edge between two components of a bipartite graph leaves it bipartite.

    Raises:
        InvalidParameterError: if a part has under 2 nodes, or so few edges are drawn that hardly
            any graph has a path between two nodes of one part.
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
    """Triangle-freeness: are there three nodes all joined to each other?

    Args:
        seed: seed of everything random.
        num_pairs: graphs of each class.
        num_nodes: nodes of each graph.
        probability: of each edge; graphs with a triangle are drawn again.

    Returns:
        Graphs without triangles (class 1), each followed by itself with random edges added one by
        one until there is a triangle (class 0).

    Raises:
        InvalidParameterError: if there are under 3 nodes, or edges are so
            numerous that hardly any graph is without triangles.
    """
    random = _random("triangle-freeness", seed)
    _check_at_least(1, num_pairs=num_pairs)
    _check_at_least(3, num_nodes=num_nodes)
    _check_probability(probability)
    graphs = _select(
        num_pairs,
        num_nodes,
        lambda count: _symmetric(random.random((count, num_nodes, num_nodes)) < probability),
        lambda drawn: ~_has_triangle(drawn),
        "graphs without triangles",
    )
    others, missing = graphs.copy(), np.arange(num_pairs)
    pairs = np.triu(np.ones((num_nodes, num_nodes), np.bool_), 1)
    while missing.size:
        grown = others[missing]
        first, second = _random_entry(pairs & ~grown, random)
        others[missing] = _joined(grown, first, second)
        missing = missing[~_has_triangle(others[missing])]
    return _pairs("triangle-freeness", graphs, others, random)


def circular_skip_links(
    seed: int = 0,
    *,
    num_nodes: int = 41,
    skip_lengths: Sequence[int] = SKIP_LENGTHS,
    copies: int = 15,
) -> PackedGraphs:
    """Circular skip links: which of ten 4-regular graphs is this one?

    Nodes on a ring are joined to their neighbors and to those a skip length away. All graphs of
    one size are 4-regular, so no message-passing network can tell any two of them apart.

    Args:
        seed: seed of the random relabelings of the nodes.
        num_nodes: nodes of each graph.
        skip_lengths: a class for each; from 2 to under half of the nodes.
        copies: graphs of each class, each with its nodes in another random order.

    Returns:
        Graphs with label 0 on every node and the skip length's place as `y`, class by class.

    Raises:
        InvalidParameterError: if a skip length gives a graph that is not 4-regular, or there are
            none.
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


def _ring(num_nodes: int, skip: int) -> Tensor:
    """Edges of the circular skip link graph, both ways."""
    node = torch.arange(num_nodes).repeat(2)
    step = torch.tensor([1, skip]).repeat_interleave(num_nodes)
    forth = torch.stack([node, (node + step) % num_nodes])
    return torch.cat([forth, forth.flip(0)], dim=1)


def _random(task: str, seed: int) -> np.random.Generator:
    """Different numbers for each task, also from the same seed."""
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
    fits: Callable[[Adjacency], NDArray[np.bool_]],
    what: str,
) -> Adjacency:
    """Draw until enough graphs fit, in bounded time."""
    at_once = min(1000, max(1, _ENTRIES_AT_ONCE // num_nodes**2))
    found: list[Adjacency] = []
    have = drawn = 0
    while have < wanted:
        if drawn >= _FIRST_DRAWS and have < _SMALLEST_SHARE * drawn:
            raise InvalidParameterError(
                f"Sizes and probability must give {what} often enough. Got {have} of the {wanted} "
                f"needed among {drawn} random graphs. Change the probability."
            )
        batch = draw(at_once)
        found.append(batch[fits(batch)])
        have += len(found[-1])
        drawn += at_once
    return np.concatenate(found)[:wanted]


def _symmetric(draws: Adjacency) -> Adjacency:
    """Undirected graphs without loops from the entries above the diagonals."""
    above = np.triu(draws, 1)
    return above | above.transpose(0, 2, 1)


def _reachable(graphs: Adjacency) -> Adjacency:
    """Which nodes does a path join? Every node reaches itself."""
    reach = graphs | np.eye(graphs.shape[1], dtype=np.bool_)
    for _ in range(graphs.shape[1].bit_length()):  # each step doubles the length of paths
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
    """Row and column of a random true entry of each matrix."""
    keys = np.where(allowed, random.random(allowed.shape), -1.0).reshape(len(allowed), -1)
    row, column = np.divmod(keys.argmax(1), allowed.shape[2])
    return row, column


def _joined(graphs: Adjacency, first: NDArray[np.intp], second: NDArray[np.intp]) -> Adjacency:
    """The graphs with an edge more each."""
    result, graph = graphs.copy(), np.arange(len(graphs))
    result[graph, first, second] = result[graph, second, first] = True
    return result


def _pairs(
    name: str, positive: Adjacency, negative: Adjacency, random: np.random.Generator
) -> PackedGraphs:
    """Each positive graph and the negative one made from it, in one random order of the nodes."""
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
