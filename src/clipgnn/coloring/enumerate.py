"""Every coloring of a graph, by number: the colorings of ∞-CLIP.

The nodes of a group are inserted one after the other: the node at position p may take any of the
p + 1 places among those before it. These choices are the digits of the coloring's number, in a
mixed radix that runs over all nodes of a graph, so that numbers 0..N-1 are its N colorings.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from clipgnn.coloring.groups import Partition
from clipgnn.errors import InvalidParameterError, TooManyColoringsError, shown

MAX_ENUMERATED = 10_000_000
"""More colorings than this are not enumerated: 10! is, 11! is not."""


def all_colorings(groups: Tensor, chunk_size: int = 4096) -> Iterator[Tensor]:
    """Every coloring of one graph exactly once, Eq. (4), streamed in chunks.

    Args:
        groups: group of each node, as `color_groups` returns.
        chunk_size: colorings to hold at a time.

    Yields:
        `[at most chunk_size, nodes]`; a group of s nodes has the colors 0..s-1.

    Raises:
        TooManyColoringsError: if there are more than `MAX_ENUMERATED`.

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
    partition = Partition.of(groups)
    total = int(enumerable_counts(partition)[0])
    for start in range(0, total, chunk_size):
        numbers = torch.arange(start, min(start + chunk_size, total), device=groups.device)
        yield colorings_by_number(partition, numbers[:, None])


def enumerable_counts(partition: Partition) -> Tensor:
    """The number of colorings of each graph, all of them few enough to enumerate.

    Raises:
        TooManyColoringsError: if a graph has more than `MAX_ENUMERATED`.
    """
    counts = torch.exp(partition.log_counts).round()
    largest = int(counts.argmax())
    if counts[largest] > MAX_ENUMERATED:
        power = int(partition.log_counts[largest] / math.log(10))
        digits = f"{partition.exact_counts()[largest]:,}" if power < 30 else f"about 10^{power}"
        raise TooManyColoringsError(
            f'All colorings ("all") can be used up to {MAX_ENUMERATED:,} a graph. '
            f"Graph {largest} has {digits}. Use a number instead, such as num_colorings=16."
        )
    return counts.long()


def colorings_by_number(partition: Partition, numbers: Tensor) -> Tensor:
    """The colorings with these numbers.

    Args:
        partition: the groups of a batch whose colorings are few enough to be numbered.
        numbers: `[colorings, graphs]`, each under its graph's number of colorings.

    Returns:
        `[colorings, nodes]`.
    """
    # A node alone in its group always has color 0, so that only the others need a table.
    shared = partition.sizes > 1
    nodes = shared[partition.groups]
    colors = torch.zeros(numbers.shape[0], nodes.numel(), dtype=torch.int64, device=numbers.device)
    if not bool(nodes.any()):
        return colors
    position = partition.position[nodes]
    place = _place_values(partition)[nodes]
    digits = (numbers[:, partition.graph_of_node[nodes]] // place) % (position + 1)
    largest = int(partition.sizes.max())
    num_groups = int(shared.sum())
    slot = (shared.cumsum(0) - 1)[partition.groups[nodes]] * largest + position
    # Slots past a group's end hold a color over all others, so that nothing moves up for them.
    table = torch.full((numbers.shape[0], num_groups * largest), largest, device=digits.device)
    table[:, slot] = digits
    table = table.view(-1, num_groups, largest)
    for inserted in range(1, largest):
        before = table[:, :, :inserted]
        before += before >= table[:, :, inserted, None]
    colors[:, nodes] = table.view(numbers.shape[0], -1)[:, slot]
    return colors


def _place_values(partition: Partition) -> Tensor:
    """Compute the weight of each node's digit, the product of its graph's earlier radixes.

    The first node of a group has radix 1: it contributes nothing to the products, and its own
    digit is 0 whatever its weight. Every other radix is at least 2, so that a graph with few enough
    colorings to number them has few: at most log2 of their number. A table of these alone,
    `[graphs, at most 24]`, stays linear in the size of the batch.
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
