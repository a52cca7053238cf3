"""Triton kernel that assigns the nodes of the chosen graphs to the slots of a batch."""

import triton
import triton.language as tl
from torch import Tensor

from clipgnn.ops.kernels.kernel import index_kernel

SLOTS = 64
"""Slots of a program."""


@index_kernel
def _fill_slots(
    chosen,
    count_of_graph,
    begin_of_graph,
    item,
    first,
    segment,
    begins,
    counts,
    totals,
    graphs,
    capacity,
    padding,
    SLOTS: tl.constexpr,
    GRAPHS: tl.constexpr,
):
    """Assign slots to the nodes, or edges, of the graphs of a member, graph by graph."""
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    slot = tl.program_id(0) * SLOTS + tl.arange(0, SLOTS)
    graph = tl.zeros((SLOTS,), tl.int64)
    start = tl.zeros((SLOTS,), tl.int64)
    source = tl.zeros((SLOTS,), tl.int64)
    filled = tl.sum(tl.zeros((GRAPHS,), tl.int64), 0)
    for base in range(0, graphs, GRAPHS):
        position = base + tl.arange(0, GRAPHS)
        exists = position < graphs
        number = tl.load(chosen + member * graphs + position, mask=exists, other=0)
        count = tl.load(count_of_graph + number, mask=exists, other=0)
        begin = tl.load(begin_of_graph + number, mask=exists, other=0)
        end = filled + tl.cumsum(count, 0)
        if tile == 0:
            own = member * graphs + position
            tl.store(begins + own, member * capacity + end - count, mask=exists)
            tl.store(counts + own, count, mask=exists)
        holds = (slot[:, None] >= (end - count)[None, :]) & (slot[:, None] < end[None, :])
        graph += tl.sum(tl.where(holds, position[None, :], 0), 1)
        start += tl.sum(tl.where(holds, (end - count)[None, :], 0), 1)
        source += tl.sum(tl.where(holds, begin[None, :], 0), 1)
        filled += tl.sum(count, 0)
    if tile == 0:
        tl.store(totals + member, filled)
    inside = slot < capacity
    used = slot < filled
    place = member * capacity + slot
    tl.store(item + place, tl.where(used, source + slot - start, padding), mask=inside)
    tl.store(first + place, member * capacity + tl.where(used, start, 0), mask=inside)
    tl.store(segment + place, member * graphs + graph, mask=inside)


def launch(
    chosen: Tensor, begin: Tensor, count: Tensor, capacity: int, padding: int
) -> list[Tensor]:
    """Launch `_fill_slots`; see `ops.slots`."""
    members, graphs = chosen.shape
    chosen = chosen.contiguous()
    slots = [chosen.new_empty(members * capacity) for _ in range(3)]
    of_graphs = [chosen.new_empty(members * graphs) for _ in range(2)]
    totals = chosen.new_empty(members)
    _fill_slots[(max(1, triton.cdiv(capacity, SLOTS)), members)](
        chosen,
        count,
        begin,
        *slots,
        *of_graphs,
        totals,
        graphs,
        capacity,
        padding,
        SLOTS=SLOTS,
        GRAPHS=min(64, triton.next_power_of_2(graphs)),
    )
    return [*slots, *of_graphs, totals]
