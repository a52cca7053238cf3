"""Assembly of fixed-capacity batches from a data set, by index arithmetic on the device."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.graphs.capacity import EdgeRows, FixedBatch, FixedEdges, FixedSegments
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.gather_sum import Neighbors
from clipgnn.ops.pointers import inverse_order


class Capacity(NamedTuple):
    """Largest number of nodes and edges of the batch of each member."""

    nodes: int
    edges: int

    def rounded_up(self, multiple: int) -> "Capacity":
        """Round up to multiples of a number."""
        return Capacity(*(-(-size // multiple) * multiple for size in self))


@dataclass(frozen=True)
class _Table:
    """Edges of a data set sorted by source or target, with one entry for each edge.

    Attributes:
        begin: first entry of each node, and of an additional padding node without edges.
        count: number of entries of each node.
        col: the other node of the edge, numbered within its graph.
        weight: weight of each entry; None if all are 1.
    """

    begin: Tensor
    count: Tensor
    col: Tensor
    weight: Tensor | None

    @classmethod
    def sorted_by(cls, end: int, graphs: PackedGraphs) -> "_Table":
        """The table sorted by the sources (0) or the targets (1) of the edges."""
        node = graphs.global_edge_index[end]
        order = torch.argsort(node, stable=True)
        count = torch.bincount(node, minlength=graphs.x.shape[0])
        return cls(
            begin=functional.pad(count.cumsum(0) - count, (0, 1)),
            count=functional.pad(count, (0, 1)),
            col=graphs.edge_index[1 - end][order],
            weight=None if graphs.edge_weight is None else graphs.edge_weight[order],
        )


@dataclass(frozen=True)
class _EdgeTable:
    """Edges with attributes, sorted as in `_Table`, with an additional padding entry.

    Attributes:
        row: the node that entries are sorted by, numbered within its graph.
        col: the other node of the edge, numbered within its graph.
        weight: weight of each entry; None if all are 1.
        attr: attributes of each entry.
        position: for each entry, the position of the same edge, within its graph, in the table that
            is sorted by the other node.
    """

    row: Tensor
    col: Tensor
    weight: Tensor | None
    attr: Tensor
    position: Tensor

    @classmethod
    def sorted_by(cls, end: int, graphs: PackedGraphs, attr: Tensor) -> "_EdgeTable":
        """The table sorted by the sources (0) or the targets (1) of the edges."""
        own, other = (torch.argsort(node, stable=True) for node in graphs.global_edge_index)
        if end == 1:
            own, other = other, own
        position = inverse_order(other)[own] - graphs.edge_pointers[graphs.graph_of_edge]
        weight = graphs.edge_weight
        return cls(
            row=functional.pad(graphs.edge_index[end][own], (0, 1)),
            col=functional.pad(graphs.edge_index[1 - end][own], (0, 1)),
            weight=None if weight is None else functional.pad(weight[own], (0, 1)),
            attr=functional.pad(attr[own], (0, 0, 0, 1)),
            position=functional.pad(position, (0, 1)),
        )


class Assembler:
    """Assembles batches of a data set on its device.

    Args:
        graphs: the data set.
        groups: group of each node, numbered within its graph: nodes of a group get distinct colors.
        prepared: see `Batch.prepared`.

    Attributes:
        padding: index of the padding graph, which has no nodes.
    """

    def __init__(
        self, graphs: PackedGraphs, groups: Tensor, prepared: tuple[Tensor, ...] = ()
    ) -> None:
        self.padding = len(graphs)
        self.prepared = prepared
        # The last graph, without nodes, and the last node, without edges, are padding.
        self.x = torch.cat([graphs.x, graphs.x[:1]])
        self.node_begin = graphs.node_pointers
        self.node_count = functional.pad(graphs.node_pointers.diff(), (0, 1))
        self.edge_begin = graphs.edge_pointers
        self.edge_count = functional.pad(graphs.edge_pointers.diff(), (0, 1))
        self.max_graph_nodes = int(self.node_count.max())
        self.incoming = _Table.sorted_by(1, graphs)
        symmetric = graphs.edge_weight is None and not graphs.directed
        self.outgoing = self.incoming if symmetric else _Table.sorted_by(0, graphs)
        attr = graphs.edge_attr
        self.edge_tables = (
            None
            if attr is None
            else (_EdgeTable.sorted_by(1, graphs, attr), _EdgeTable.sorted_by(0, graphs, attr))
        )
        self.graph_attr = graphs.graph_attr
        if graphs.graph_attr is not None:
            self.graph_attr = functional.pad(graphs.graph_attr, (0, 0, 0, 1))
        self.groups = functional.pad(groups, (0, 1))
        starts, self.largest_group = _starts_of_groups(graphs, groups)
        self.group_starts = functional.pad(starts, (0, 1))

    @property
    def has_edge_rows(self) -> bool:
        """Whether edges have attributes, and therefore rows of their own in a batch."""
        return self.edge_tables is not None

    def capacity_for(self, chosen: Tensor) -> Capacity:
        """Smallest capacity for all of these batches, `[..., graphs]`."""
        counts = (self.node_count, self.edge_count)
        return Capacity(*(int(own[chosen].sum(-1).max()) for own in counts))

    def batch(self, chosen: Tensor, capacity: Capacity, *, padded: bool = True) -> FixedBatch:
        """Assemble the chosen graphs of each member.

        Args:
            chosen: `[members, graphs]`, indices of graphs, or `padding`.
            capacity: largest number of nodes and edges of the batch of each member.
            padded: whether there can be padding; without it `capacity` must be exact.
        """
        if capacity.nodes == 0:  # only graphs without nodes; networks need at least one row
            capacity, padded = capacity._replace(nodes=2), True
        members, num_graphs = chosen.shape
        slots = _Slots.fill(chosen, self.node_count, capacity.nodes)
        # Index of each node in the data set: [members, nodes], then flat.
        node = self.node_begin[chosen.gather(1, slots.graph)] + slots.offset
        node = torch.where(slots.mask, node, self.x.shape[0] - 1).flatten()
        # Padding nodes also form groups, so that they get all colors. If all had the same color,
        # the GPU would add their (zero) gradients to one row of the weights, one after the other.
        padding_begin = slots.slot - (slots.slot - slots.ends[:, -1:]) % self.largest_group
        member = torch.arange(members, device=chosen.device)[:, None]
        first_in_member = torch.where(slots.mask, slots.slot - slots.offset, padding_begin)
        first = (first_in_member + member * capacity.nodes).flatten()
        begins = slots.begins + member * capacity.nodes
        return FixedBatch(
            x=self.x[node],
            edges=self._edges(chosen, capacity, node, first, begins, slots, padded=padded),
            nodes=FixedSegments(
                begin=begins.flatten(),
                count=slots.counts.flatten(),
                segment=(slots.graph + member * num_graphs).flatten(),
                mask=slots.mask.flatten() if padded else None,
            ),
            graph_attr=None if self.graph_attr is None else self.graph_attr[chosen].flatten(0, 1),
            graph_ids=chosen,
            prepared=self.prepared,
            node_mask=slots.mask if padded else None,
            graph_mask=chosen != self.padding if padded else None,
            node_ids=node,
            groups=first + self.groups[node],
            group_starts=first + self.group_starts[node],
            max_graph_nodes=self.max_graph_nodes,
        )

    def _edges(
        self,
        chosen: Tensor,
        capacity: Capacity,
        node: Tensor,
        first: Tensor,
        begins: Tensor,
        nodes: "_Slots",
        *,
        padded: bool,
    ) -> FixedEdges:
        """Assemble the edges of a batch.

        Args:
            chosen: `[members, graphs]`.
            capacity: capacity of each member.
            node: index of each node in the data set.
            first: for each node, the first node of its graph in the batch.
            begins: `[members, graphs]`, the first node of each graph in the batch.
            nodes: the slots of the nodes.
            padded: whether there can be padding.
        """
        incoming, outgoing = (
            Neighbors(table.begin[node], table.count[node], first, table.col, table.weight)
            for table in (self.incoming, self.outgoing)
        )
        if self.outgoing is self.incoming:
            outgoing = incoming
        if self.edge_tables is None:
            return FixedEdges(incoming, outgoing, None, None)
        member = torch.arange(chosen.shape[0], device=chosen.device)[:, None]
        edges = _Slots.fill(chosen, self.edge_count, capacity.edges)
        edge_begins = self.edge_begin[chosen]
        entry = edge_begins.gather(1, edges.graph) + edges.offset
        entry = torch.where(edges.mask, entry, int(self.edge_tables[0].col.numel()) - 1).flatten()
        # Padding refers to the first node of its member, which always exists.
        first_node = torch.where(
            edges.mask, begins.gather(1, edges.graph), member * capacity.nodes
        ).flatten()
        first_edge = edges.begins + member * capacity.edges
        # For each node, the first edge of its graph in the batch, and in the table.
        own_first_edge = first_edge.gather(1, nodes.graph).flatten()
        own_edge_begin = edge_begins.gather(1, nodes.graph).flatten()

        def rows(
            incoming: Neighbors, table: _EdgeTable, outgoing: Neighbors, other: _EdgeTable
        ) -> EdgeRows:
            return EdgeRows(
                source=first_node + table.col[entry],
                targets=FixedSegments(
                    begin=own_first_edge + incoming.begin - own_edge_begin,
                    count=incoming.count,
                    segment=first_node + table.row[entry],
                    mask=edges.mask.flatten() if padded else None,
                ),
                attr=table.attr[entry],
                weight=None if table.weight is None else table.weight[entry],
                mask=edges.mask if padded else None,
                outgoing=Neighbors(
                    outgoing.begin, outgoing.count, own_first_edge, other.position, None
                ),
            )

        by_target, by_source = self.edge_tables
        return FixedEdges(
            incoming,
            outgoing,
            rows(incoming, by_target, outgoing, by_source),
            rows(outgoing, by_source, incoming, by_target),
        )


class _Slots(NamedTuple):
    """Slots of the batches of all members, filled graph by graph: `[members, capacity]`.

    Attributes:
        slot: position of each slot within its member.
        graph: graph of each slot, as a position in `chosen`; any value for padding.
        offset: position of each slot within its graph.
        mask: which slots are not padding.
        begins: `[members, graphs]`, first slot of each graph.
        counts: `[members, graphs]`, number of slots of each graph.
        ends: `[members, graphs]`, `begins + counts`.
    """

    slot: Tensor
    graph: Tensor
    offset: Tensor
    mask: Tensor
    begins: Tensor
    counts: Tensor
    ends: Tensor

    @classmethod
    def fill(cls, chosen: Tensor, counts_of_graphs: Tensor, capacity: int) -> "_Slots":
        """Assign slots to the nodes, or edges, of the chosen graphs `[members, graphs]`."""
        members, num_graphs = chosen.shape
        counts = counts_of_graphs[chosen]
        ends = counts.cumsum(1)
        begins = ends - counts
        slot = torch.arange(capacity, device=chosen.device).expand(members, capacity).contiguous()
        graph = _find_segment(ends, slot).clamp(max=num_graphs - 1)
        offset = slot - begins.gather(1, graph)
        return cls(slot, graph, offset, slot < ends[:, -1:], begins, counts, ends)


@torch.library.custom_op("clipgnn::find_segment", mutates_args=())
def _find_segment(ends: Tensor, slot: Tensor) -> Tensor:
    """Find the segment of each slot, as an operator that torch.compile does not fuse."""
    return torch.searchsorted(ends, slot, right=True)


@_find_segment.register_fake
def _(ends: Tensor, slot: Tensor) -> Tensor:
    return torch.empty_like(slot)


def _starts_of_groups(graphs: PackedGraphs, groups: Tensor) -> tuple[Tensor, int]:
    """Number of nodes of its graph before the group of each node, and largest group size."""
    stride = int(groups.max()) + 1
    _, number, sizes = torch.unique(
        graphs.graph_of_node * stride + groups, return_inverse=True, return_counts=True
    )
    starts = (sizes.cumsum(0) - sizes)[number] - graphs.node_pointers[graphs.graph_of_node]
    return starts, int(sizes.max())
