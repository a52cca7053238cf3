"""Enumeration of all colorings of a graph, the colorings of ∞-CLIP.

A permutation of a group is built by inserting its nodes one after the other: the node at position p
has p + 1 possible ranks among the nodes before it and itself. These choices are the digits of the
number of a coloring, in a mixed radix over all nodes of the graph, so that the N colorings of a
graph have the numbers 0..N-1.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from clipgnn.coloring.groups import Partition
from clipgnn.errors import InvalidParameterError, TooManyColoringsError, shown

MAX_ENUMERATED_COLORINGS = 10_000_000
"""Largest number of colorings of a graph that are enumerated, between 10! and 11!."""


def all_colorings(groups: Tensor | Partition, chunk_size: int = 4096) -> Iterator[Tensor]:
    """Yield every coloring of one graph exactly once, Eq. (4), in chunks.

    Args:
        groups: group of each node, as `color_groups` returns, or the partition of a scheme.
        chunk_size: largest number of colorings of a chunk.

    Yields:
        `[at most chunk_size, nodes]`; a group of s nodes has the colors 0..s-1.

    Raises:
        TooManyColoringsError: if there are more than `MAX_ENUMERATED_COLORINGS`.

    Example:
        >>> for chunk in all_colorings(torch.tensor([0, 0, 1])):
        ...     print(chunk)
        tensor([[1, 0, 0],
                [0, 1, 0]])
    """
    if isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size < 1:
        raise InvalidParameterError(
            f"chunk_size must be an integer of at least 1. Got {shown(chunk_size)} instead."
        )
    partition = groups if isinstance(groups, Partition) else Partition.of(groups)
    if partition.num_graphs != 1:
        raise InvalidParameterError(
            f"groups must be those of one graph. Got {partition.num_graphs} graphs."
        )
    total = int(enumerable_counts(partition)[0])
    for start in range(0, total, chunk_size):
        numbers = torch.arange(start, min(start + chunk_size, total))
        numbers = numbers.to(partition.groups.device)
        yield colorings_by_number(partition, numbers[:, None])


def enumerable_counts(
    partition: Partition,
    most: int = MAX_ENUMERATED_COLORINGS,
    purpose: str = "to use all of them",
) -> Tensor:
    """Number of colorings of each graph, if all can be enumerated.

    Args:
        partition: the groups.
        most: largest number of colorings of a graph.
        purpose: what they are needed for, for the message.

    Raises:
        TooManyColoringsError: if a graph has more colorings.
    """
    counts = torch.exp(partition.log_counts).round()
    largest = int(counts.argmax())
    if counts[largest] > most:
        power = int(partition.log_counts[largest] / math.log(10))
        digits = f"{partition.exact_counts()[largest]:,}" if power < 30 else f"about 10^{power}"
        raise TooManyColoringsError(
            f"A graph must have at most {most:,} colorings {purpose}. Graph {largest} has "
            f'{digits}. Use coloring="canonical", or "random" with num_colorings=16.'
        )
    return counts.long()


def colorings_by_number(partition: Partition, numbers: Tensor) -> Tensor:
    """Compute colorings from their numbers.

    Args:
        partition: the groups of a batch whose graphs pass `enumerable_counts`.
        numbers: `[colorings, graphs]`, each less than the number of colorings of its graph.

    Returns:
        `[colorings, nodes]`.
    """
    # A node that is alone in its group has rank 0. Only the other nodes are computed.
    shared = partition.sizes > 1
    nodes = shared[partition.groups]
    ranks = torch.zeros(numbers.shape[0], nodes.numel(), dtype=torch.int64, device=numbers.device)
    if not bool(nodes.any()):
        return partition.colors_of_ranks(ranks)
    position = partition.position[nodes]
    place = _place_values(partition)[nodes]
    digits = (numbers[:, partition.graph_of_node[nodes]] // place) % (position + 1)
    # digits: [colorings, nodes in shared groups]
    largest = int(partition.sizes.max())
    num_groups = int(shared.sum())
    slot = (shared.cumsum(0) - 1)[partition.groups[nodes]] * largest + position
    # table: [colorings, groups * largest]. Slots past the end of a group contain `largest`, which
    # is greater than every color of the group and therefore does not change it.
    table = torch.full((numbers.shape[0], num_groups * largest), largest, device=digits.device)
    table[:, slot] = digits
    table = table.view(-1, num_groups, largest)
    for inserted in range(1, largest):
        # An inserted color increases the equal and larger colors of the nodes before it by 1.
        before = table[:, :, :inserted]
        before += before >= table[:, :, inserted, None]
    ranks[:, nodes] = table.view(numbers.shape[0], -1)[:, slot]
    return partition.colors_of_ranks(ranks)


def _place_values(partition: Partition) -> Tensor:
    """Compute the place value of the digit of each node: the product of the radixes before it.

    The first node of a group has radix 1: it does not change the products, and its digit is 0.
    Every other radix is at least 2, so that a graph has at most log2(number of colorings) of them.
    The table `[graphs, at most 24]` of these is linear in the size of the batch.
    """
    chosen = partition.position > 0
    graph = partition.graph_of_node[chosen]
    radix = partition.position[chosen] + 1
    counts = torch.bincount(graph, minlength=partition.num_graphs)
    starts = counts.cumsum(0) - counts
    column = torch.arange(graph.numel(), device=graph.device) - starts[graph]
    table = torch.ones(
        partition.num_graphs, int(counts.max()), dtype=torch.int64, device=graph.device
    )
    table[graph, column] = radix
    values = torch.ones_like(partition.position)
    values[chosen] = table.cumprod(1)[graph, column] // radix
    return values
