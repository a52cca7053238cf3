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
from clipgnn.errors import InvalidParameterError, TooManyColoringsError

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
            f"chunk_size must be an integer of at least 1. Got {chunk_size!r} instead."
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
    place = _place_values(partition)
    digits = (numbers[:, partition.graph_of_node] // place) % (partition.position + 1)
    largest = int(partition.sizes.max())
    num_groups = partition.sizes.numel()
    slot = partition.groups * largest + partition.position
    # Slots past a group's end hold a color over all others, so that nothing moves up for them.
    table = torch.full((numbers.shape[0], num_groups * largest), largest, device=digits.device)
    table[:, slot] = digits
    table = table.view(-1, num_groups, largest)
    for inserted in range(1, largest):
        before = table[:, :, :inserted]
        before += before >= table[:, :, inserted, None]
    return table.view(numbers.shape[0], -1)[:, slot]


def _place_values(partition: Partition) -> Tensor:
    """The weight of each node's digit: the product of the radixes of its graph's earlier nodes."""
    nodes_of_graph = torch.bincount(partition.graph_of_node, minlength=partition.num_graphs)
    starts = nodes_of_graph.cumsum(0) - nodes_of_graph
    column = torch.arange(partition.groups.numel(), device=starts.device)
    column = column - starts[partition.graph_of_node]
    radix = partition.position.new_ones(partition.num_graphs, int(nodes_of_graph.max()))
    radix[partition.graph_of_node, column] = partition.position + 1
    return radix.cumprod(1)[partition.graph_of_node, column] // (partition.position + 1)
