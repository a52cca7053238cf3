"""Batches of fixed size for many members at once, assembled on the device from a data set.

A captured GPU program has fixed shapes, so every member's batch has room for the same number of
nodes and the rest is padding. Edges are not copied: they are read where the data set keeps them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional

from clipgnn.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class InPlacePattern:
    """Neighbors of the nodes of a batch, read where the data set keeps them.

    The neighbors of row r are the nodes `first[r] + col[begin[r] : begin[r] + count[r]]` of the
    batch. The graphs are undirected: a sum over neighbors is its own transpose.

    Attributes:
        begin: where the neighbors of each row begin in `col`.
        count: how many there are; none for padding.
        first: the batch's number of the first node of each row's graph.
        col: the data set's neighbors, numbered inside their graphs.
    """

    begin: Int[Tensor, "nodes"]
    count: Int[Tensor, "nodes"]
    first: Int[Tensor, "nodes"]
    col: Int[Tensor, "dataset_edges"]

    @cached_property
    def csr(self) -> tuple[Tensor, Tensor]:
        """The same as row pointers and columns, which the CPU's kernel reads; made once."""
        rowptr, row, entry = spread_out(self.begin, self.count)
        return rowptr, self.first[row] + self.col[entry]


@dataclass(frozen=True)
class PaddedMembership:
    """Nodes of each graph of a padded batch: `begin[g] : begin[g] + count[g]`.

    Attributes:
        begin: the first node of each graph.
        count: how many nodes it has; none for padding.
        graph_of_node: the graph of each node; anything for padding.
        real: which nodes are real; None if all are.
    """

    begin: Int[Tensor, "graphs"]
    count: Int[Tensor, "graphs"]
    graph_of_node: Int[Tensor, "nodes"]
    real: Bool[Tensor, "nodes"] | None


@dataclass(frozen=True)
class PaddedEdges:
    """Undirected edges of a padded batch, without weights or attributes."""

    pattern: InPlacePattern
    weight: ClassVar[None] = None
    attr: ClassVar[None] = None

    def reversed(self) -> "PaddedEdges":
        """Undirected edges point both ways."""
        return self


@dataclass(frozen=True)
class PaddedBatch:
    """One batch for each member, end to end, each with room for as many nodes and graphs.

    Attributes:
        x: attributes or labels of the nodes, `[members * nodes, …]`.
        edges: their edges.
        nodes: the nodes of each graph.
        number: `[members, graphs]`, the graphs' numbers in the data set; `padding` for none.
        real_nodes: `[members, nodes]`, which are not padding; None if none is.
        real_graphs: `[members, graphs]`, likewise.
        group: for each node, a number that it shares with the nodes of identical attributes in its
            graph and with no others of the batch; padding has groups of its own.
        group_start: the place of the first node of its group when nodes are sorted by `group`.
    """

    x: Tensor
    edges: PaddedEdges
    nodes: PaddedMembership
    number: Int[Tensor, "members graphs"]
    real_nodes: Bool[Tensor, "members nodes"] | None
    real_graphs: Bool[Tensor, "members graphs"] | None
    group: Int[Tensor, "all_nodes"]
    group_start: Int[Tensor, "all_nodes"]
    graph_attr: ClassVar[None] = None

    @property
    def num_nodes(self) -> int:
        """Nodes of all members together, padding included."""
        return self.x.shape[0]

    def membership(self) -> PaddedMembership:
        """The nodes of each graph."""
        return self.nodes


def spread_out(begin: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Runs `begin[r] : begin[r] + count[r]`, one after the other: pointers, rows and entries."""
    rowptr = functional.pad(count.cumsum(0), (1, 0))
    row = torch.arange(count.numel()).repeat_interleave(count)
    return rowptr, row, torch.arange(row.numel()) + (begin - rowptr[:-1])[row]


class Assembler:
    """Makes padded batches of a data set by index arithmetic, without leaving the device.

    Args:
        graphs: undirected graphs without edge attributes.
        groups: group of identical attributes of each node, counted inside its graph.

    Raises:
        InvalidGraphError: if an edge is not stored in both directions.
    """

    def __init__(self, graphs: PackedGraphs, groups: Tensor) -> None:
        node_counts = graphs.node_pointers.diff()
        graphs.check_undirected()
        target = graphs.edges_through[1]
        order = torch.argsort(target, stable=True)
        degrees = torch.bincount(target, minlength=graphs.x.shape[0])
        # Padding refers to a graph without nodes and a node without edges, at the end.
        self.x = torch.cat([graphs.x, graphs.x[:1]])
        self.col = graphs.edge_index[0][order]
        self.node_begin = graphs.node_pointers
        self.node_count = functional.pad(node_counts, (0, 1))
        self.degree = functional.pad(degrees, (0, 1))
        self.neighbors_begin = functional.pad(degrees.cumsum(0) - degrees, (0, 1))
        self.group = functional.pad(groups, (0, 1))
        starts, self.largest_group = _starts_of_groups(graphs, groups)
        self.group_start = functional.pad(starts, (0, 1))
        self.padding = len(graphs)

    def room_for(self, chosen: Tensor) -> int:
        """Nodes of the largest of these batches, `[..., graphs]`."""
        return int(self.node_count[chosen].sum(-1).max())

    def batch(self, chosen: Tensor, room: int, *, padded: bool = True) -> PaddedBatch:
        """The chosen graphs of each member.

        Args:
            chosen: `[members, graphs]`, numbers of graphs; `padding` for none.
            room: nodes that each member's batch has room for.
            padded: whether there may be padding; without it `room` must be exact.
        """
        if room == 0:  # only graphs without nodes; networks expect rows
            room, padded = 2, True
        members, num_graphs = chosen.shape
        counts = self.node_count[chosen]
        ends = counts.cumsum(1)
        begins = ends - counts
        slot = torch.arange(room, device=chosen.device).expand(members, room).contiguous()
        place = _place(ends, slot).clamp(max=num_graphs - 1)
        real = slot < ends[:, -1:]
        member = torch.arange(members, device=chosen.device)[:, None]
        begin_in_batch = begins.gather(1, place)
        node = self.node_begin[chosen.gather(1, place)] + slot - begin_in_batch
        node = torch.where(real, node, self.x.shape[0] - 1).flatten()
        # Padding has groups too, so that it gets all colors. Were it all of one color, its
        # gradients, though zero, would queue up to be added to one row.
        padding_begin = slot - (slot - ends[:, -1:]) % self.largest_group
        first = (torch.where(real, begin_in_batch, padding_begin) + member * room).flatten()
        return PaddedBatch(
            x=self.x[node],
            edges=PaddedEdges(
                InPlacePattern(
                    begin=self.neighbors_begin[node],
                    count=self.degree[node],
                    first=first,
                    col=self.col,
                )
            ),
            nodes=PaddedMembership(
                begin=(begins + member * room).flatten(),
                count=counts.flatten(),
                graph_of_node=(place + member * num_graphs).flatten(),
                real=real.flatten() if padded else None,
            ),
            number=chosen,
            real_nodes=real if padded else None,
            real_graphs=chosen != self.padding if padded else None,
            group=first + self.group[node],
            group_start=first + self.group_start[node],
        )


@torch.library.custom_op("clipgnn::place", mutates_args=())
def _place(ends: Tensor, slot: Tensor) -> Tensor:
    """Which graph a slot falls into: an operator of its own, which torch.compile cannot fuse."""
    return torch.searchsorted(ends, slot, right=True)


@_place.register_fake
def _(ends: Tensor, slot: Tensor) -> Tensor:
    return torch.empty_like(slot)


def _starts_of_groups(graphs: PackedGraphs, groups: Tensor) -> tuple[Tensor, int]:
    """How many nodes of a node's graph are in groups before its own; nodes of the largest group."""
    stride = int(groups.max()) + 1
    _, number, sizes = torch.unique(
        graphs.graph_of_node * stride + groups, return_inverse=True, return_counts=True
    )
    starts = (sizes.cumsum(0) - sizes)[number] - graphs.node_pointers[graphs.graph_of_node]
    return starts, int(sizes.max())
