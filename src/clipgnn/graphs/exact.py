"""Batches of exact size, without padding: graphs that a user passes to a network."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from typing_extensions import override

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.batch import Batch, Edges, Segments
from clipgnn.graphs.checks import (
    check_batch,
    check_devices,
    check_edges,
    check_node_attributes,
    check_rows,
)
from clipgnn.graphs.sparse import SparsePattern


@dataclass(frozen=True)
class ExactSegments(Segments):
    """Segments without padding: row `s` of the pattern has the rows of segment `s`."""

    pattern: SparsePattern

    @classmethod
    def from_index(cls, segment: Tensor, num_segments: int) -> "ExactSegments":
        """Create segments from the ascending segment number of each row."""
        return cls(SparsePattern.segments(segment, num_segments))

    @property
    @override
    def counts(self) -> Tensor:
        return self.pattern.rowptr.diff()

    @property
    @override
    def starts(self) -> Tensor:
        return self.pattern.rowptr[:-1]

    @override
    def sum(self, x: Tensor) -> Tensor:
        return self.pattern.product(x)


@dataclass(frozen=True)
class ExactEdges(Edges):
    """Edges without padding.

    Attributes:
        pattern: row `i` has the neighbors of node `i`.
        weight: weight of each edge, in the order of the pattern.
        edge_attr: attributes of each edge, in the order of the pattern.
    """

    pattern: SparsePattern
    weight: Tensor | None = None
    edge_attr: Tensor | None = None

    @classmethod
    def from_edge_index(
        cls,
        source: Tensor,
        target: Tensor,
        num_nodes: int,
        weight: Tensor | None,
        attr: Tensor | None,
    ) -> "ExactEdges":
        """Sort edges, with their weights and attributes, by target."""
        pattern, order = SparsePattern.from_entries(target, source, num_nodes, num_nodes)
        return cls(pattern, rows_of(weight, order), rows_of(attr, order))

    @property
    @override
    def attr(self) -> Tensor | None:
        return self.edge_attr

    @property
    @override
    def mask(self) -> None:
        return None

    @property
    @override
    def in_degrees(self) -> Tensor:
        return self.pattern.rowptr.diff()

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.pattern.row.numel()

    @override
    def sum(self, x: Tensor) -> Tensor:
        return self.pattern.product(x, self.weight)

    @override
    def at_sources(self, x: Tensor) -> Tensor:
        return x.index_select(0, self.pattern.col)

    @override
    def sum_at_targets(self, x: Tensor) -> Tensor:
        segments = SparsePattern.segments(self.pattern.row, self.pattern.rowptr.numel() - 1)
        return segments.product(x, self.weight)

    @override
    def reversed(self) -> "ExactEdges":
        order = self.pattern.transposed_order
        return ExactEdges(
            self.pattern.transposed(), rows_of(self.weight, order), rows_of(self.edge_attr, order)
        )


@dataclass(frozen=True)
class ExactBatch(Batch):
    """A batch without padding, with the same graphs for each member.

    Attributes:
        edges: the edges.
        graph_of_node: the graph of each node, ascending.
        num_graphs: number of graphs of all members, including graphs without nodes.
    """

    edges: ExactEdges
    graph_of_node: Tensor
    num_graphs: int

    @classmethod
    def of(
        cls,
        x: Tensor,
        edges: ExactEdges,
        graph_of_node: Tensor,
        num_graphs: int,
        graph_attr: Tensor | None = None,
    ) -> "ExactBatch":
        """Create a batch of one member."""
        return cls(
            x=x,
            edges=edges,
            nodes=ExactSegments.from_index(graph_of_node, num_graphs),
            graph_attr=graph_attr,
            graph_ids=torch.arange(num_graphs, device=x.device)[None],
            prepared=(),
            node_mask=None,
            graph_mask=None,
            graph_of_node=graph_of_node,
            num_graphs=num_graphs,
        )

    @classmethod
    def from_tensors(
        cls,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> "ExactBatch":
        """Check PyG's tensors and sort their edges by target.

        The checks read values and are skipped while `torch.compile` or `torch.export` traces.

        Raises:
            InvalidGraphError: if the tensors are not a batch of graphs.
        """
        checking = not torch.compiler.is_compiling()
        if checking:
            check_node_attributes(x)
            check_devices(x, edge_index, batch, edge_weight, edge_attr, graph_attr)
            check_edges(edge_index, x.shape[0])
            check_batch(batch, x.shape[0], batch_size)
        if batch_size is None:
            batch_size = 1 if batch is None else int(batch[-1]) + 1
        if batch is None:
            batch = torch.zeros(x.shape[0], dtype=torch.int64, device=x.device)
        source, target = edge_index
        if checking:
            if edge_weight is not None:
                check_rows("edge_weight", edge_weight, [source.numel()], "edge")
            if edge_attr is not None:
                check_rows("edge_attr", edge_attr, [source.numel(), None], "edge")
            if graph_attr is not None:
                check_rows("graph_attr", graph_attr, [batch_size, None], "graph")
            if bool((batch[source] != batch[target]).any()):
                raise InvalidGraphError(
                    "Every edge must connect nodes of one graph. Got an edge between two graphs."
                )
        edges = ExactEdges.from_edge_index(source, target, x.shape[0], edge_weight, edge_attr)
        return cls.of(x, edges, batch, batch_size, graph_attr)

    @property
    @override
    def structure(self) -> None:
        return None

    @cached_property
    def largest_graph(self) -> int:
        """Number of nodes of the largest graph."""
        return int(self.nodes.counts.max())

    @property
    def edge_index(self) -> Tensor:
        """Edges `[2, edges]`, from sources to targets."""
        return torch.stack([self.edges.pattern.col, self.edges.pattern.row])

    def subset(self, keep: Tensor) -> "ExactBatch":
        """Select the graphs where `keep` is true, renumbered from 0; the same for each member."""
        pattern = self.edges.pattern
        nodes = keep[self.graph_of_node]
        edges = nodes[pattern.row]
        node_number = nodes.cumsum(0) - 1
        graph_number = keep.cumsum(0) - 1
        chosen = ExactBatch.of(
            x=self.x[nodes],
            edges=ExactEdges.from_edge_index(
                node_number[pattern.col[edges]],
                node_number[pattern.row[edges]],
                int(nodes.sum()),
                rows_of(self.edges.weight, edges),
                rows_of(self.edges.attr, edges),
            ),
            graph_of_node=graph_number[self.graph_of_node[nodes]],
            num_graphs=int(keep.sum()),
            graph_attr=rows_of(self.graph_attr, keep),
        )
        graph_ids = self.graph_ids.flatten()[keep].view(self.num_members, -1)
        return replace(chosen, graph_ids=graph_ids, prepared=self.prepared)

    def repeat(self, members: int) -> "ExactBatch":
        """Repeat the graphs of one member for several members."""
        if members == 1:
            return self
        # [members, 1]; node and graph indices of member m are shifted by m times their number.
        copy = torch.arange(members, device=self.x.device)[:, None]
        pattern = self.edges.pattern
        repeated = ExactBatch.of(
            x=self.x.repeat(members, *[1] * (self.x.dim() - 1)),
            edges=ExactEdges.from_edge_index(
                (pattern.col + copy * self.num_nodes).flatten(),
                (pattern.row + copy * self.num_nodes).flatten(),
                self.num_nodes * members,
                None if self.edges.weight is None else self.edges.weight.repeat(members),
                None if self.edges.attr is None else self.edges.attr.repeat(members, 1),
            ),
            graph_of_node=(self.graph_of_node + copy * self.num_graphs).flatten(),
            num_graphs=self.num_graphs * members,
            graph_attr=None if self.graph_attr is None else self.graph_attr.repeat(members, 1),
        )
        return replace(
            repeated, graph_ids=self.graph_ids.repeat(members, 1), prepared=self.prepared
        )


def rows_of(values: Tensor | None, chosen: Tensor) -> Tensor | None:
    """Rows of optional values."""
    return None if values is None else values[chosen]
