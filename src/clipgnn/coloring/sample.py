"""Colorings at random: k distinct ones for every graph, uniformly, without replacement (Eq. 4)."""

import math

import torch
from torch import Tensor

from clipgnn.coloring.enumerate import colorings_by_number
from clipgnn.coloring.groups import Partition
from clipgnn.errors import InvalidColoringError, shown

MOST_SAMPLED = 10_000_000
"""Colorings of a graph that are drawn at most; no network needs more."""


def sample_colorings(
    groups: Tensor,
    k: int,
    batch: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """k distinct colorings of every graph, uniformly at random without replacement, Eq. (4).

    A graph with k colorings or fewer has each of them at least once; the rest of its k are
    repeats, which a maximum over colorings does not notice.

    Args:
        groups: group of each node, as `color_groups` returns.
        k: how many colorings.
        batch: the graph of each node, ascending; one graph without it.
        generator: source of randomness; torch's global one without it.

    Returns:
        `[k, nodes]`; a group of s nodes has the colors 0..s-1, each once in every coloring.

    Raises:
        InvalidColoringError: if k is under 1 or over `MOST_SAMPLED`, or `groups` is not a group for
            each node.

    Example:
        >>> colors = sample_colorings(torch.tensor([0, 0, 0, 1]), k=6)
        >>> sorted(map(tuple, colors.tolist()))[:2]
        [(0, 1, 2, 0), (0, 2, 1, 0)]
    """
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_SAMPLED:
        raise InvalidColoringError(
            f"k must be an integer of at least 1 and at most {MOST_SAMPLED:,}. Got {shown(k)} "
            "instead."
        )
    return sample_from_partition(Partition.of(groups, batch), k, generator)


def sample_from_partition(
    partition: Partition, k: int, generator: torch.Generator | None = None
) -> Tensor:
    """`sample_colorings` for groups that are already numbered across the batch."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise InvalidColoringError(f"generator must be a torch.Generator. Got {shown(generator)}.")
    # Where distinct colorings are scarce, drawing them by number cannot run out of luck;
    # elsewhere at least three of four draws are new, and the others are drawn again.
    scarce = partition.log_counts <= math.log(4 * k) + 1e-9
    if bool(scarce.all()):
        return _draw_by_number(partition, k, generator)
    colors = _shuffle(partition, k, generator)
    nodes = scarce[partition.graph_of_node]
    if bool(nodes.any()):
        colors[:, nodes] = _draw_by_number(partition.subset(scarce), k, generator)
    _redraw_repeats(colors, partition, scarce, generator)
    return colors


def _shuffle(partition: Partition, k: int, generator: torch.Generator | None) -> Tensor:
    """k independent colorings: in each group, the ranks of random keys."""
    # The group in the high bits of a key and randomness in the rest: one sort ranks all groups.
    free_bits = 62 - partition.sizes.numel().bit_length()
    shape = (k, partition.groups.numel())
    keys = _random_integers(2**free_bits, shape, generator, partition.groups.device)
    order = torch.argsort(keys + (partition.groups << free_bits), dim=1)
    starts = partition.sizes.cumsum(0) - partition.sizes
    rank = torch.arange(shape[1], device=order.device) - starts.repeat_interleave(partition.sizes)
    return torch.empty_like(order).scatter_(1, order, rank.expand(shape))


def _draw_by_number(partition: Partition, k: int, generator: torch.Generator | None) -> Tensor:
    """k colorings of each graph from a random order of all its colorings, taken in turns."""
    counts = torch.exp(partition.log_counts).round().long()
    shape = (partition.num_graphs, int(counts.max()))
    keys = _random_integers(2**62, shape, generator, counts.device)
    numbers = torch.arange(shape[1], device=counts.device)
    keys = keys.masked_fill(numbers >= counts[:, None], 2**62)
    turn = torch.arange(k, device=counts.device) % counts[:, None]
    return colorings_by_number(partition, torch.argsort(keys, dim=1).gather(1, turn).t())


def _redraw_repeats(
    colors: Tensor, partition: Partition, settled: Tensor, generator: torch.Generator | None
) -> None:
    """Draw again, in place, whatever repeats an earlier coloring of its graph, until none does."""
    remaining = ~settled
    while True:
        repeated = _find_repeats(colors, partition, generator) & remaining
        if not bool(repeated.any()):
            return
        remaining = repeated.any(0)
        nodes = remaining[partition.graph_of_node]
        fresh = _shuffle(partition.subset(remaining), colors.shape[0], generator)
        again = repeated[:, partition.graph_of_node[nodes]]
        colors[:, nodes] = torch.where(again, fresh, colors[:, nodes])


def _find_repeats(
    colors: Tensor, partition: Partition, generator: torch.Generator | None
) -> Tensor:
    """`[k, graphs]`: does this coloring of the graph equal one before it?

    Equal colorings have equal fingerprints (a random sum of their colors, in 64 bits); two
    different ones meet with probability 2^-50 or less, and are then drawn again for nothing.
    """
    weights = _random_integers(2**62, (colors.shape[1],), generator, colors.device)
    fingerprint = colors.new_zeros(partition.num_graphs, colors.shape[0])
    fingerprint.index_add_(0, partition.graph_of_node, (colors * weights).t())
    ordered, order = torch.sort(fingerprint, dim=1, stable=True)
    repeats = torch.zeros_like(ordered, dtype=torch.bool)
    repeats[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return torch.zeros_like(repeats).scatter_(1, order, repeats).t()


def _random_integers(
    high: int, shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device
) -> Tensor:
    drawn_on = device if generator is None else generator.device
    return torch.randint(high, shape, generator=generator, device=drawn_on).to(device)
