"""Numbers of distinct rows, and ranks of keys within groups."""

import torch
from jaxtyping import Int
from torch import Tensor

from clipgnn.ops.hashing import shift_right


def number_rows(x: Tensor) -> Tensor:
    """Number distinct rows from 0, `[rows]`: equal rows have equal numbers.

    Values `[rows]` are numbered in ascending order; rows `[rows, channels]` in any order. Rows are
    first distinguished by a fingerprint of their bits, with one sort of integers, and then compared
    for equality, so that the result is exact even if the fingerprints of distinct rows are equal.
    """
    if x.dim() == 1:
        return torch.unique(x, return_inverse=True)[1]
    if x.shape[1] == 1:
        return torch.unique(x[:, 0], return_inverse=True)[1]
    if x.shape[1] == 0:
        return torch.zeros(x.shape[0], dtype=torch.int64, device=x.device)
    generator = torch.Generator().manual_seed(0)
    odd = torch.randint(-(2**62), 2**62, (x.shape[1],), generator=generator) * 2 + 1
    bits = (x.double() + 0.0).view(torch.int64)
    bits = bits ^ (bits >> 32)  # low bits are zero for short fractions, and would be in products
    _, number = torch.unique((bits * odd.to(x.device)).sum(1), return_inverse=True)
    representative = torch.empty_like(number).scatter_(
        0, number, torch.arange(number.numel(), device=x.device)
    )
    if not bool((x == x[representative[number]]).all()):
        return torch.unique(x + 0.0, dim=0, return_inverse=True)[1]
    return number


def order_rows(x: Tensor) -> Tensor:
    """Number distinct rows from 0, `[rows]`, in lexicographic order.

    Labels `[rows]` are in the order of their one-hot rows, which is descending.
    """
    number = number_rows(x)
    if number.numel() == 0 or x.shape[1:] == (0,):
        return number
    if x.dim() == 1:
        return number.max() - number
    representative = torch.empty(int(number.max()) + 1, dtype=torch.int64, device=x.device)
    representative[number] = torch.arange(number.numel(), device=x.device)
    return torch.unique(x[representative] + 0.0, dim=0, return_inverse=True)[1][number]


def ranks_in_groups(
    random: Int[Tensor, "rows nodes"], group: Int[Tensor, "nodes"], start: Int[Tensor, "nodes"]
) -> Int[Tensor, "rows nodes"]:
    """Rank the random bits of each node within its group, for each row, from 0.

    One sort ranks all rows and groups: row and group are the high bits of a key, followed by the
    highest random bits.

    Args:
        random: 64 random bits for each row and node.
        group: group of each node, from 0 to nodes - 1.
        start: for each node, the number of nodes in groups with a smaller number.
    """
    rows, nodes = random.shape
    random_bits = 63 - (rows * nodes).bit_length()
    row = torch.arange(rows, device=random.device)[:, None]
    high = (row * nodes + group) << random_bits
    # The highest bits, so that the order does not depend on how many are used.
    key = high + shift_right(random, 64 - random_bits)
    # The sorted positions in the flat [rows * nodes] keys are row by row, and modulo nodes a node.
    order = (torch.argsort(key.flatten()) % nodes).view(rows, nodes)
    rank = torch.arange(nodes, device=random.device) - start[order]
    return torch.empty_like(order).scatter_(1, order, rank)
