"""Color refinement (1-WL), and the lexicographic ranks that it uses."""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from clipgnn.ops.pointers import pointers_from_index


def refine_colors(
    colors: Int[Tensor, "nodes"], edge_index: Int[Tensor, "2 edges"]
) -> Int[Tensor, "nodes"]:
    """Refine colors by the colors of the neighbors until the partition of nodes is stable.

    In each round the new color of a node encodes its color and the sorted colors of its neighbors
    (the sources of edges that point to it). New colors are ordered by the old color, then
    lexicographically by the descending colors of the neighbors. The result does not depend on the
    order of the nodes, and colors of different graphs can be compared.

    Args:
        colors: integers, equal for nodes that are equal before the refinement.
        edge_index: edges of all graphs, with nodes numbered across the graphs.

    Returns:
        Colors from 0, without gaps.
    """
    *_, stable = refinement_rounds(colors, edge_index)
    return stable


def refinement_rounds(
    colors: Int[Tensor, "nodes"], edge_index: Int[Tensor, "2 edges"]
) -> Iterator[Int[Tensor, "nodes"]]:
    """Yield the colors of `refine_colors` before the refinement and after each round.

    The last colors are stable. They are yielded once, although another round is needed to know it.

    Args:
        colors: integers, equal for nodes that are equal before the refinement.
        edge_index: edges of all graphs, with nodes numbered across the graphs.
    """
    source, target = edge_index
    colors = torch.unique(colors, return_inverse=True)[1]
    pointers = pointers_from_index(target.sort().values, colors.numel())
    count = -1
    while count < (largest := _count(colors)):
        yield colors
        count = largest
        # Sort by target, and by the color of the neighbor, descending.
        order = torch.argsort(target * largest + (largest - 1 - colors[source]))
        ranks = lexicographic_ranks(colors[source][order], pointers, first=colors)
        colors = torch.unique(ranks, return_inverse=True)[1]


def refine_within_graphs(
    colors: Int[Tensor, "nodes"],
    edge_index: Int[Tensor, "2 edges"],
    graph_of_node: Int[Tensor, "nodes"],
    max_rounds: int | None = None,
) -> Int[Tensor, "nodes"]:
    """Refine colors as `refine_colors` does, if colors of different graphs are not compared.

    The nodes of each graph have the same classes in the same order. Graphs whose classes are stable
    and nodes that are alone in their class leave the computation, which `refine_colors` continues
    until the last graph is stable.

    Args:
        colors: integers, equal for nodes that are equal before the refinement.
        edge_index: edges of all graphs, with nodes numbered across the graphs.
        graph_of_node: number of the graph of each node.
        max_rounds: number of rounds after which colors are returned that may not be stable. They do
            not depend on the order of the nodes either.

    Returns:
        Colors that are ordered by graph first: a color is the number of nodes with smaller colors.
    """
    source, target = edge_index
    colors = torch.unique(colors, return_inverse=True)[1]
    colors = _smaller(graph_of_node * _count(colors) + colors)
    active = _in_shared_classes(colors, torch.arange(colors.numel(), device=colors.device))
    position = torch.full_like(colors, -1)
    rounds = 0
    while active.numel() and rounds != max_rounds:
        rounds += 1
        position.fill_(-1)
        position[active] = torch.arange(active.numel(), device=active.device)
        kept = position[target] >= 0  # nodes that have left do not return
        source, target = source[kept], target[kept]
        old, neighbor = colors[active], colors[source]
        # Sort by target, and by the color of the neighbor, descending.
        order = torch.argsort((position[target] + 1) * colors.numel() - neighbor)
        pointers = pointers_from_index(position[target][order], active.numel())
        ranks = lexicographic_ranks(neighbor[order], pointers, first=old)
        # Ranks count the active nodes. All nodes of a class are active, or none, and the first ones
        # keep their color.
        first = torch.full_like(colors, colors.numel())
        first.scatter_reduce_(0, old, ranks, "amin")
        moved = ranks - first[old]
        colors[active] = old + moved
        unstable = torch.zeros_like(colors, dtype=torch.bool)
        unstable[graph_of_node[active[moved > 0]]] = True
        active = _in_shared_classes(colors, active[unstable[graph_of_node[active]]])
    return colors


def _in_shared_classes(colors: Tensor, nodes: Tensor) -> Tensor:
    """Those of the nodes whose color another of them has."""
    own = colors[nodes]
    return nodes[torch.bincount(own, minlength=1)[own] > 1]


def lexicographic_ranks(
    values: Int[Tensor, "entries"],
    pointers: Int[Tensor, "sequences_plus_one"],
    first: Int[Tensor, "sequences"] | None = None,
) -> Int[Tensor, "sequences"]:
    """Rank of each sequence: the number of smaller sequences.

    Sequences are compared by the first values that differ, and a prefix is smaller. There is one
    sort for each position, of the sequences that are long enough and whose rank is not yet known.

    Args:
        values: the sequences, concatenated.
        pointers: first entry of each sequence, and the number of entries.
        first: values to compare before all others.
    """
    begin, length = pointers[:-1], pointers.diff()
    rank = torch.zeros_like(begin)
    active = torch.arange(begin.numel(), device=begin.device)
    group = torch.zeros_like(begin)  # of each active sequence: those that are equal so far
    if first is not None:
        active, group = _divide(rank, active, group, first)
    position = 0
    while active.numel():
        # Sequences that end at this position are smaller than longer ones of the same group.
        longer = length[active] > position
        ended = torch.bincount(group[~longer], minlength=_count(group))
        active, group = active[longer], group[longer]
        rank[active] += ended[group]
        active, group = _divide(rank, active, group, values[begin[active] + position])
        position += 1
    return rank


def _divide(rank: Tensor, active: Tensor, group: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Divide groups of sequences by a value, and add the number of smaller ones to their ranks.

    Args:
        rank: rank of each sequence, which is changed.
        active: numbers of the sequences to divide.
        group: group of each of them.
        value: value of each of them.

    Returns:
        The sequences that are not alone in their new group, and this group.
    """
    if not active.numel():
        return active, group
    low, high = (int(own) for own in value.aminmax())
    if (high - low + 1) * _count(group) > 2**62:
        value = torch.unique(value, return_inverse=True)[1]
        low, high = 0, _count(value) - 1
    values = high - low + 1
    key, divided, count = torch.unique(
        group * values + (value - low), return_inverse=True, return_counts=True
    )
    before = count.cumsum(0) - count
    divided_from = key // values
    # Number of sequences before the first key of each group.
    start = torch.full((_count(group),), active.numel(), device=rank.device)
    start.scatter_reduce_(0, divided_from, before, "amin")
    rank[active] += (before - start[divided_from])[divided]
    shared = count[divided] > 1
    return active[shared], divided[shared]


def _smaller(values: Tensor) -> Tensor:
    """Number of smaller values of each value."""
    _, inverse, count = torch.unique(values, return_inverse=True, return_counts=True)
    return (count.cumsum(0) - count)[inverse]


def _count(colors: Tensor) -> int:
    """Number of colors, which are numbered from 0 without gaps."""
    return int(colors.max()) + 1 if colors.numel() else 0
