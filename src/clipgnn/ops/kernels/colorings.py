"""Triton kernel for random colorings: ranks of hashed keys within groups of nodes."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from clipgnn.ops.kernels.hashing import hashed, mix
from clipgnn.ops.kernels.kernel import index_kernel


@index_kernel
def _rank_in_groups(
    seeds,
    counter,
    begin,
    count,
    first,
    col,
    colors,
    nodes,
    all_nodes,
    largest,
    ROWS: tl.constexpr,
    OTHERS: tl.constexpr,
):
    """Count, for each node, the nodes of its group with a smaller key, for one coloring.

    The nodes of padding have no group. Their colors are 0, 1, ..., `largest` - 1 in turns.
    """
    member, coloring = tl.program_id(1), tl.program_id(2).to(tl.int64)
    slot = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = slot < nodes
    node = member.to(tl.int64) * nodes + slot
    start = mix(tl.load(seeds + member) + mix(tl.load(counter) + 1))
    own = hashed(start, coloring, slot.to(tl.int64)).to(tl.uint64, bitcast=True)
    entry = tl.load(begin + node, mask=inside, other=0)
    size = tl.load(count + node, mask=inside, other=0)
    offset = tl.load(first + node, mask=inside, other=0) - member * nodes
    smaller = tl.zeros((ROWS, OTHERS), tl.int32)
    for base in range(0, tl.max(size, 0), OTHERS):
        index = base + tl.arange(0, OTHERS)[None, :]
        present = index < size[:, None]
        other = tl.load(col + entry[:, None] + index, mask=present, other=0) + offset[:, None]
        key = hashed(start, coloring, other.to(tl.int64)).to(tl.uint64, bitcast=True)
        before = (key < own[:, None]) | ((key == own[:, None]) & (other < slot[:, None]))
        smaller += (present & before).to(tl.int32)
    rank = tl.where(size > 0, tl.sum(smaller, 1), slot % largest).to(tl.int64)
    tl.store(colors + coloring * all_nodes + node, rank, mask=inside)


ROWS = 32
"""Nodes of a program."""

OTHERS = 32
"""Nodes of a group that are compared at once."""


def launch(
    seeds: Tensor,
    counter: Tensor,
    k: int,
    begin: Tensor,
    count: Tensor,
    first: Tensor,
    col: Tensor,
    largest: int,
) -> Tensor:
    """Launch `_rank_in_groups`; see `ops.ranks`."""
    members = seeds.numel()
    nodes = begin.numel() // members
    colors = torch.empty(k, begin.numel(), dtype=torch.int64, device=begin.device)
    _rank_in_groups[(triton.cdiv(nodes, ROWS), members, k)](
        seeds,
        counter,
        begin,
        count,
        first,
        col,
        colors,
        nodes,
        begin.numel(),
        largest,
        ROWS=ROWS,
        OTHERS=OTHERS,
    )
    return colors
