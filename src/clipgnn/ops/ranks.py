"""Random ranks of nodes within groups, hashed from a seed and a counter."""

import torch
from jaxtyping import Int
from torch import Tensor

from clipgnn.ops.gather_sum import Neighbors
from clipgnn.ops.hashing import hashed_integers
from clipgnn.ops.numbering import ranks_in_groups


def hashed_ranks(
    seeds: Int[Tensor, "members"],
    counter: Int[Tensor, ""],
    rows: int,
    same_group: Neighbors,
    node_ids: Int[Tensor, "nodes"],
    largest: int,
) -> Int[Tensor, "rows nodes"]:
    """Rank the nodes of each group at random, for each row, from 0.

    On a GPU each node counts the nodes of its group with a smaller random key; on the CPU the keys
    are sorted. The results are the same, except for padding.

    Args:
        seeds: seed of each member.
        counter: a number that differs in every draw, such as the number of the step.
        rows: number of rows.
        same_group: the nodes of the group of each node, itself included; none for padding.
        node_ids: index in the data set of each node.
        largest: size of the largest group; ranks of padding are less than it.
    """
    if seeds.is_cuda:
        begin, count, first, col, _ = same_group.tensors
        # An operator that torch.compile does not trace; calling it otherwise is slow.
        rank = _traced_ranks if torch.compiler.is_compiling() else _ranks_on_gpu
        return rank(seeds, counter, rows, begin, count, first, col, largest)
    slot = torch.arange(node_ids.numel(), device=node_ids.device)
    # Position of the first node of the group, if nodes were sorted by group within each graph.
    start = torch.where(same_group.count > 0, same_group.begin - node_ids + slot, slot)
    members = seeds.numel()
    # [rows, members, nodes of a member] -> [rows, nodes]
    random = hashed_integers(seeds, counter, rows, node_ids.numel() // members).flatten(1)
    return ranks_in_groups(random, start, start)


def _ranks_on_gpu(
    seeds: Tensor,
    counter: Tensor,
    rows: int,
    begin: Tensor,
    count: Tensor,
    first: Tensor,
    col: Tensor,
    largest: int,
) -> Tensor:
    from clipgnn.ops.kernels.colorings import launch  # requires Triton

    return launch(seeds, counter, rows, begin, count, first, col, largest)


_traced_ranks = torch.library.custom_op("clipgnn::hashed_ranks", _ranks_on_gpu, mutates_args=())


@_traced_ranks.register_fake
def _(seeds: Tensor, counter: Tensor, rows: int, begin: Tensor, *_: object) -> Tensor:
    return begin.new_empty(rows, begin.numel())
