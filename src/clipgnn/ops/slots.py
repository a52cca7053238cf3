"""Slots of a fixed-capacity batch: which node, or edge, of a data set is in each of them."""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor


class Slots(NamedTuple):
    """Slots of the batches of all members, filled graph by graph.

    Attributes:
        item: `[members * capacity]`, index in the data set of the node, or edge, in each slot.
        first: `[members * capacity]`, first slot of its graph; of its member for padding.
        segment: `[members * capacity]`, graph of each slot; any value for padding.
        begins: `[members * graphs]`, first slot of each graph.
        counts: `[members * graphs]`, number of slots of each graph.
        totals: `[members]`, number of slots that are not padding.
    """

    item: Int[Tensor, "slots"]
    first: Int[Tensor, "slots"]
    segment: Int[Tensor, "slots"]
    begins: Int[Tensor, "graphs"]
    counts: Int[Tensor, "graphs"]
    totals: Int[Tensor, "members"]


def fill_slots(
    chosen: Int[Tensor, "members graphs"], begin: Tensor, count: Tensor, capacity: int, padding: int
) -> Slots:
    """Assign slots to the nodes, or edges, of the chosen graphs.

    Args:
        chosen: indices of graphs.
        begin: first item of each graph of the data set.
        count: number of items of each graph of the data set.
        capacity: number of slots of each member.
        padding: the item of slots that are not used.
    """
    if chosen.is_cuda:
        # An operator that torch.compile does not trace; calling it otherwise is slow.
        fill = _traced_slots if torch.compiler.is_compiling() else _slots_on_gpu
        return Slots(*fill(chosen, begin, count, capacity, padding))
    members, graphs = chosen.shape
    counts = count[chosen]
    ends = counts.cumsum(1)
    begins = ends - counts
    slot = torch.arange(capacity, device=chosen.device).expand(members, capacity).contiguous()
    graph = torch.searchsorted(ends, slot, right=True).clamp(max=graphs - 1)
    used = slot < ends[:, -1:]
    start = begins.gather(1, graph)
    item = begin[chosen].gather(1, graph) + slot - start
    member = torch.arange(members, device=chosen.device)[:, None]
    return Slots(
        torch.where(used, item, padding).flatten(),
        (torch.where(used, start, 0) + member * capacity).flatten(),
        (graph + member * graphs).flatten(),
        (begins + member * capacity).flatten(),
        counts.flatten(),
        ends[:, -1].contiguous(),
    )


def _slots_on_gpu(
    chosen: Tensor, begin: Tensor, count: Tensor, capacity: int, padding: int
) -> list[Tensor]:
    from clipgnn.ops.kernels.slots import launch  # requires Triton

    return launch(chosen, begin, count, capacity, padding)


_traced_slots = torch.library.custom_op("clipgnn::fill_slots", _slots_on_gpu, mutates_args=())


@_traced_slots.register_fake
def _(chosen: Tensor, begin: Tensor, count: Tensor, capacity: int, padding: int) -> list[Tensor]:
    members, graphs = chosen.shape
    sizes = [members * capacity] * 3 + [members * graphs] * 2 + [members]
    return [chosen.new_empty(size) for size in sizes]
