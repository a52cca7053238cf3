"""Sampling of k distinct colorings of every graph, uniformly without replacement (Eq. 4)."""

import itertools
import math

import torch
from torch import Tensor

from clipgnn.coloring.enumerate import colorings_by_number
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.random_bits import RandomBits
from clipgnn.errors import InvalidColoringError, shown
from clipgnn.ops.numbering import ranks_in_groups
from clipgnn.parameters import MAX_COLORINGS


def sample_colorings(
    groups: Tensor,
    k: int,
    batch: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Sample k distinct colorings of every graph, uniformly without replacement, Eq. (4).

    For a graph with fewer than k colorings, each coloring is returned at least once and some are
    repeated, which does not change a maximum over colorings.

    Args:
        groups: group of each node, as `color_groups` returns.
        k: number of colorings.
        batch: the graph of each node, ascending; one graph without it.
        generator: source of randomness; the global generator of torch by default.

    Returns:
        `[k, nodes]`; in every coloring, a group of s nodes has each of the colors 0..s-1 once.

    Raises:
        InvalidColoringError: if k is not from 1 to `MAX_COLORINGS`, or `groups` is not a group
            for each node.

    Example:
        >>> colors = sample_colorings(torch.tensor([0, 0, 0, 1]), k=6)
        >>> sorted(map(tuple, colors.tolist()))[:2]
        [(0, 1, 2, 0), (0, 2, 1, 0)]
    """
    check_number(k)
    return sample_from_partition(Partition.of(groups, batch), k, generator)


def check_number(k: object) -> None:
    """Check a number k of colorings.

    Raises:
        InvalidColoringError: if it is not an integer from 1 to `MAX_COLORINGS`.
    """
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_COLORINGS:
        raise InvalidColoringError(
            f"k must be an integer from 1 to {MAX_COLORINGS:,}. Got {shown(k)} instead."
        )


def sample_from_partition(
    partition: Partition, k: int, generator: torch.Generator | None = None
) -> Tensor:
    """Sample as `sample_colorings`, for groups that are numbered across the batch.

    With `Partition.keys`, the colorings of a graph do not depend on the other graphs, and the
    generator is not used.
    """
    if generator is not None and not isinstance(generator, torch.Generator):
        raise InvalidColoringError(f"generator must be a torch.Generator. Got {shown(generator)}.")
    bits = RandomBits(generator)
    # Graphs with at most 4k colorings draw numbers of colorings without replacement. For all others
    # a draw is new with a probability of at least 3/4; repetitions are drawn again.
    scarce = partition.log_counts <= math.log(4 * k) + 1e-9
    if bool(scarce.all()):
        return _draw_by_number(partition, k, bits)
    colors = _shuffle(partition, k, bits, draw=0)
    nodes = scarce[partition.graph_of_node]
    if bool(nodes.any()):
        colors[:, nodes] = _draw_by_number(partition.subset(scarce), k, bits)
    _redraw_repeats(colors, partition, scarce, bits)
    return colors


def _shuffle(partition: Partition, k: int, bits: RandomBits, *, draw: int) -> Tensor:
    """Draw k independent colorings: the ranks of random keys in each group."""
    random = bits.of_nodes(partition, k, draw)
    return partition.colors_of_ranks(ranks_in_groups(random, partition.groups, partition.starts))


def _draw_by_number(partition: Partition, k: int, bits: RandomBits) -> Tensor:
    """Take the first k of a random order of all colorings of each graph, cyclically."""
    counts = torch.exp(partition.log_counts).round().long()
    largest = int(counts.max())
    keys = bits.of_graphs(partition, largest) & (2**62 - 1)
    numbers = torch.arange(largest, device=counts.device)
    keys = keys.masked_fill(numbers >= counts[:, None], 2**62)
    turn = torch.arange(k, device=counts.device) % counts[:, None]  # [graphs, k]
    return colorings_by_number(partition, torch.argsort(keys, dim=1).gather(1, turn).t())


def _redraw_repeats(
    colors: Tensor, partition: Partition, excluded: Tensor, bits: RandomBits
) -> None:
    """Replace colorings that repeat an earlier one of their graph, in place, until none does."""
    remaining = ~excluded
    for draw in itertools.count(1):
        repeated = _find_repeats(colors, partition, bits, draw=-draw) & remaining
        if not bool(repeated.any()):
            return
        remaining = repeated.any(0)
        nodes = remaining[partition.graph_of_node]
        drawn = _shuffle(partition.subset(remaining), colors.shape[0], bits, draw=draw)
        replaced = repeated[:, partition.graph_of_node[nodes]]  # [k, nodes]
        colors[:, nodes] = torch.where(replaced, drawn, colors[:, nodes])


def _find_repeats(colors: Tensor, partition: Partition, bits: RandomBits, *, draw: int) -> Tensor:
    """Find colorings that equal an earlier one of their graph, `[k, graphs]`.

    Equal colorings have equal fingerprints (a random sum of their colors, in 64 bits). Distinct
    colorings have equal fingerprints with a probability of at most 2^-50; one is then redrawn
    unnecessarily.
    """
    [weights] = bits.of_nodes(partition, 1, draw)
    fingerprint = colors.new_zeros(partition.num_graphs, colors.shape[0])
    fingerprint.index_add_(0, partition.graph_of_node, (colors * weights).t())
    ordered, order = torch.sort(fingerprint, dim=1, stable=True)
    repeats = torch.zeros_like(ordered, dtype=torch.bool)
    repeats[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return torch.zeros_like(repeats).scatter_(1, order, repeats).t()
