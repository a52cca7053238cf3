"""Colorings from a seed and a counter, without a generator's state: the same on every device.

Members that train side by side each draw from their own seed, so that a member's colorings do not
depend on who else is there; and a captured GPU program can draw new ones at every replay.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from clipgnn.graphs.padded import PaddedBatch
from clipgnn.shapes import Colorings


def hashed_colorings(
    batch: PaddedBatch, k: int, seeds: Int[Tensor, "members"], counter: Int[Tensor, ""]
) -> Colorings:
    """k colorings of every graph of a padded batch, uniformly and independently.

    Differs from `sample_colorings`: colorings are not compared, so that one may repeat. With
    groups of any size that is as rare as it is harmless to a maximum; a graph with hardly more
    than k colorings may miss some of them.

    Args:
        batch: the batch.
        k: how many colorings.
        seeds: one for each member.
        counter: a number that is new at every draw, such as the step.

    Returns:
        `[k, nodes]`; padding has colors too, none larger than those of nodes.
    """
    members, nodes = seeds.numel(), batch.num_nodes // seeds.numel()
    device = batch.x.device
    # Groups are sorted by number, inside a group by a random key: ranks there are the colors.
    coloring = torch.arange(k, device=device)[:, None]
    random_bits = 63 - (k * batch.num_nodes).bit_length()
    key = (coloring * batch.num_nodes + batch.group) << random_bits
    # The highest bits: how many there is room for must not change their order.
    random = _shift(hashed_integers(seeds, counter, k, nodes), 64 - random_bits)
    order = torch.argsort((key + random.view(k, members * nodes)).flatten()) % batch.num_nodes
    order = order.view(k, -1)
    rank = torch.arange(batch.num_nodes, device=device) - batch.group_start[order]
    return torch.empty_like(order).scatter_(1, order, rank)


def hashed_integers(
    seeds: Int[Tensor, "members"], counter: Int[Tensor, ""], rows: int, columns: int
) -> Int[Tensor, "rows members columns"]:
    """64 random bits for each place, a function of the member's seed, the counter and the place."""
    row = torch.arange(rows, device=seeds.device)[:, None, None]
    column = torch.arange(columns, device=seeds.device)
    start = _mix(seeds + _mix(counter + 1))
    return _mix(start[:, None] ^ _mix((row << 32) + column + 1))


def _mix(bits: Tensor) -> Tensor:
    """The finalizer of SplitMix64: every bit of the input changes every bit of the result."""
    bits = bits * -7046029254386353131
    bits = (bits ^ _shift(bits, 30)) * -4658895280553007687
    bits = (bits ^ _shift(bits, 27)) * -7723592293110705685
    return bits ^ _shift(bits, 31)


def _shift(bits: Tensor, places: int) -> Tensor:
    """A shift to the right that brings in zeros."""
    return (bits >> places) & (2 ** (64 - places) - 1)
