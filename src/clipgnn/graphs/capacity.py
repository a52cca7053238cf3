"""Fixed-capacity batches for many members, assembled on the device from a data set.

A recorded GPU program has fixed shapes, so that the batches of all members have the same capacity
for nodes and edges; unused capacity is padding. Neighbors are not copied but read from a table of
the whole data set. Only edges with attributes are stored as rows of the batch.
"""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor
from typing_extensions import override

from clipgnn.graphs.batch import Batch, Edges, Segments
from clipgnn.ops.gather_sum import Neighbors, gather_rows, gather_sum
from clipgnn.ops.segment_sum import segment_sum
from clipgnn.ops.structure import Structure


@dataclass(frozen=True)
class FixedSegments(Segments):
    """Segments with padding after the rows of each member.

    Attributes:
        begin: first row of each segment.
        count: number of rows of each segment; 0 for padding.
        segment: segment of each row; any value for padding.
        mask: which rows are not padding; None without padding.
    """

    begin: Int[Tensor, "segments"]
    count: Int[Tensor, "segments"]
    segment: Int[Tensor, "rows"]
    mask: Bool[Tensor, "rows"] | None

    @property
    @override
    def counts(self) -> Tensor:
        return self.count

    @property
    @override
    def starts(self) -> Tensor:
        return self.begin

    @override
    def sum(self, x: Tensor) -> Tensor:
        return segment_sum(x, self.begin, self.count, self.segment, self.mask)


@dataclass(frozen=True)
class EdgeRows:
    """Edges with attributes, one row for each edge, with padding.

    Attributes:
        source: source of each edge.
        targets: the edges that point to each node.
        attr: attributes of each edge.
        weight: weight of each edge; None if all are 1.
        mask: `[members, edges]`, which edges are not padding; None without padding.
        outgoing: the edges whose source is each node.
    """

    source: Int[Tensor, "edges"]
    targets: FixedSegments
    attr: Float[Tensor, "edges edge_channels"]
    weight: Float[Tensor, "edges"] | None
    mask: Bool[Tensor, "members member_edges"] | None
    outgoing: Neighbors


@dataclass(frozen=True)
class FixedEdges(Edges):
    """Edges that are read from tables of the data set.

    Attributes:
        incoming: the sources of the edges that point to each node.
        outgoing: the targets of the edges whose source is each node. For undirected graphs without
            weights it is the same object as `incoming`.
        rows: the edges sorted by target; None without edge attributes.
        reversed_rows: the edges sorted by source, with sources and targets exchanged; None without
            edge attributes.
    """

    incoming: Neighbors
    outgoing: Neighbors
    rows: EdgeRows | None
    reversed_rows: EdgeRows | None

    @property
    @override
    def attr(self) -> Tensor | None:
        return None if self.rows is None else self.rows.attr

    @property
    @override
    def mask(self) -> Tensor | None:
        return None if self.rows is None else self.rows.mask

    @property
    @override
    def in_degrees(self) -> Tensor:
        return self.incoming.count

    @override
    def sum(self, x: Tensor) -> Tensor:
        return gather_sum(x, self.incoming, self.outgoing)

    @override
    def at_sources(self, x: Tensor) -> Tensor:
        rows = self._rows()
        return gather_rows(x, rows.source, rows.outgoing)

    @override
    def sum_at_targets(self, x: Tensor) -> Tensor:
        rows = self._rows()
        return rows.targets.sum(x if rows.weight is None else x * rows.weight[:, None])

    @override
    def reversed(self) -> "FixedEdges":
        return FixedEdges(self.outgoing, self.incoming, self.reversed_rows, self.rows)

    def _rows(self) -> EdgeRows:
        if self.rows is None:
            raise TypeError(
                "Rows of edges require edge attributes. Got edges without attributes. Use sum."
            )
        return self.rows


@dataclass(frozen=True)
class FixedBatch(Batch):
    """One batch for each member, all of the same capacity.

    Attributes:
        edges: the edges.
        nodes: the nodes of each graph.
        num_nodes_of_members: `[members]`, number of nodes that are not padding.
        node_ids: index of each node in the data set; its number of nodes for padding.
        same_group: for each node, the nodes of its graph that must get distinct colors, itself
            included; none for padding.
        largest_group: size of the largest group of the data set.
        max_graph_nodes: number of nodes of the largest graph of the data set.
    """

    edges: FixedEdges
    nodes: FixedSegments
    num_nodes_of_members: Int[Tensor, "members"]
    node_ids: Int[Tensor, "all_nodes"]
    same_group: Neighbors
    largest_group: int
    max_graph_nodes: int

    @property
    @override
    def structure(self) -> Structure | None:
        if self.graph_mask is None:
            return None
        return Structure(
            num_nodes=self.num_nodes_of_members,
            incoming=self.edges.incoming,
            outgoing=self.edges.outgoing,
            graph_begin=self.nodes.begin,
            graph_count=self.nodes.count,
            graph_of_node=self.nodes.segment,
            graph_mask=self.graph_mask,
        )

    @property
    @override
    def largest_graph(self) -> int:
        return self.max_graph_nodes
