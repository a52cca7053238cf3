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
from clipgnn.ops.slots import Slots, fill_slots


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

    def neighbors(self, nodes: Slots) -> Neighbors:
        """The neighbors of the nodes of a batch."""
        begin, count = self.begin[nodes.item], self.count[nodes.item]
        return Neighbors(begin, count, nodes.first, self.col, self.weight)


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


@dataclass(frozen=True)
class _GroupTable:
    """Groups of nodes that must get distinct colors.

    Attributes:
        begin: position in `col` of the group of each node, and of an additional padding node.
        count: size of the group of each node; 0 for padding.
        col: nodes sorted by graph and group, numbered within their graph.
        largest: size of the largest group.
    """

    begin: Tensor
    count: Tensor
    col: Tensor
    largest: int

    @classmethod
    def of(cls, graphs: PackedGraphs, groups: Tensor) -> "_GroupTable":
        """The table of groups, which are numbered within each graph."""
        key = graphs.graph_of_node * (int(groups.max()) + 1) + groups
        _, number, sizes = torch.unique(key, return_inverse=True, return_counts=True)
        order = torch.argsort(key, stable=True)
        first_of_graph = graphs.node_pointers[graphs.graph_of_node]
        return cls(
            begin=functional.pad((sizes.cumsum(0) - sizes)[number], (0, 1)),
            count=functional.pad(sizes[number], (0, 1)),
            col=order - first_of_graph[order],
            largest=int(sizes.max()),
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
        self.groups = _GroupTable.of(graphs, groups)

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
        members, _ = chosen.shape
        slots = fill_slots(
            chosen, self.node_begin, self.node_count, capacity.nodes, self.x.shape[0] - 1
        )
        node, groups = slots.item, self.groups
        mask = node != self.x.shape[0] - 1 if padded else None
        return FixedBatch(
            x=self.x[node],
            edges=self._edges(chosen, capacity, slots, padded=padded),
            nodes=FixedSegments(slots.begins, slots.counts, slots.segment, mask),
            num_nodes_of_members=slots.totals,
            graph_attr=None if self.graph_attr is None else self.graph_attr[chosen].flatten(0, 1),
            graph_ids=chosen,
            prepared=self.prepared,
            node_mask=None if mask is None else mask.view(members, -1),
            graph_mask=chosen != self.padding if padded else None,
            node_ids=node,
            same_group=Neighbors(
                groups.begin[node], groups.count[node], slots.first, groups.col, None
            ),
            largest_group=groups.largest,
            max_graph_nodes=self.max_graph_nodes,
        )

    def _edges(
        self, chosen: Tensor, capacity: Capacity, nodes: Slots, *, padded: bool
    ) -> FixedEdges:
        """Assemble the edges of a batch.

        Args:
            chosen: `[members, graphs]`.
            capacity: capacity of each member.
            nodes: the slots of the nodes.
            padded: whether there can be padding.
        """
        incoming = self.incoming.neighbors(nodes)
        # The same object for symmetric edges.
        outgoing = incoming if self.outgoing is self.incoming else self.outgoing.neighbors(nodes)
        if self.edge_tables is None:
            return FixedEdges(incoming, outgoing, None, None)
        padding = int(self.edge_tables[0].col.numel()) - 1
        edges = fill_slots(chosen, self.edge_begin, self.edge_count, capacity.edges, padding)
        entry, mask = edges.item, edges.item != padding
        # Padding refers to the first node of its member, which always exists.
        first_of_member = torch.arange(chosen.shape[0], device=chosen.device) * capacity.nodes
        first_node = torch.where(
            mask,
            nodes.begins[edges.segment],
            first_of_member.repeat_interleave(capacity.edges),
        )
        # For each node, the first edge of its graph in the batch, and in the table.
        own_first_edge = edges.begins[nodes.segment]
        own_edge_begin = self.edge_begin[chosen].flatten()[nodes.segment]

        def rows(
            incoming: Neighbors, table: _EdgeTable, outgoing: Neighbors, other: _EdgeTable
        ) -> EdgeRows:
            return EdgeRows(
                source=first_node + table.col[entry],
                targets=FixedSegments(
                    begin=own_first_edge + incoming.begin - own_edge_begin,
                    count=incoming.count,
                    segment=first_node + table.row[entry],
                    mask=mask if padded else None,
                ),
                attr=table.attr[entry],
                weight=None if table.weight is None else table.weight[entry],
                mask=mask.view(chosen.shape[0], -1) if padded else None,
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
