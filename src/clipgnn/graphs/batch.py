"""A batch of graphs as the networks read it: attributes, edges sorted by target, membership."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.checks import (
    check_batch,
    check_devices,
    check_edges,
    check_node_attributes,
    check_rows,
)
from clipgnn.graphs.sparse import SparsePattern


@dataclass(frozen=True)
class Edges:
    """The edges of a batch, sorted by the node they arrive at.

    Attributes:
        pattern: row `i` holds the neighbors of node `i` that send to it.
        weight: weight of each edge, in the order of the pattern.
        attr: attributes of each edge, in the order of the pattern.
    """

    pattern: SparsePattern
    weight: Tensor | None = None
    attr: Tensor | None = None

    @classmethod
    def between(
        cls,
        source: Tensor,
        target: Tensor,
        num_nodes: int,
        weight: Tensor | None,
        attr: Tensor | None,
    ) -> "Edges":
        """Sort edges, with what they carry, by target."""
        pattern, order = SparsePattern.from_entries(target, source, num_nodes, num_nodes)
        return cls(pattern, _rows(weight, order), _rows(attr, order))

    def reversed(self) -> "Edges":
        """The same edges, each pointing the other way."""
        order = self.pattern.transposed_order
        return Edges(self.pattern.transposed(), _rows(self.weight, order), _rows(self.attr, order))


@dataclass(frozen=True)
class GraphBatch:
    """Graphs laid end to end, each part stored once.

    Attributes:
        x: attributes `[nodes, channels]`, or integer labels `[nodes]`.
        graph_of_node: the graph each node belongs to, ascending.
        num_graphs: how many graphs; one without nodes counts too.
        edges: the edges.
        graph_attr: attributes of each graph.
    """

    x: Tensor
    graph_of_node: Tensor
    num_graphs: int
    edges: Edges
    graph_attr: Tensor | None = None

    @property
    def num_nodes(self) -> int:
        """Nodes of all graphs together."""
        return self.x.shape[0]

    real_nodes: ClassVar[None] = None
    real_graphs: ClassVar[None] = None

    def membership(self) -> SparsePattern:
        """Row `g` holds the nodes of graph `g`."""
        return SparsePattern.segments(self.graph_of_node, self.num_graphs)

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
    ) -> "GraphBatch":
        """Check PyG's tensors and sort their edges by target.

        The checks read values, so they are left out while `torch.compile` or `torch.export` traces.

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
                    "Every edge must stay inside one graph of the batch. Got an edge between two."
                )
        edges = Edges.between(source, target, x.shape[0], edge_weight, edge_attr)
        return cls(x, batch, batch_size, edges, graph_attr)

    def subset(self, keep: Tensor) -> "GraphBatch":
        """The graphs where `keep` is true, renumbered from 0."""
        pattern = self.edges.pattern
        nodes = keep[self.graph_of_node]
        edges = nodes[pattern.row]
        node_number = nodes.cumsum(0) - 1
        graph_number = keep.cumsum(0) - 1
        return GraphBatch(
            x=self.x[nodes],
            graph_of_node=graph_number[self.graph_of_node[nodes]],
            num_graphs=int(keep.sum()),
            edges=Edges.between(
                node_number[pattern.col[edges]],
                node_number[pattern.row[edges]],
                int(nodes.sum()),
                _rows(self.edges.weight, edges),
                _rows(self.edges.attr, edges),
            ),
            graph_attr=_rows(self.graph_attr, keep),
        )

    def repeat(self, times: int) -> "GraphBatch":
        """The whole batch several times over, end to end: one copy for each member."""
        if times == 1:
            return self
        copy = torch.arange(times, device=self.x.device)[:, None]
        pattern = self.edges.pattern
        return GraphBatch(
            x=self.x.repeat(times, *[1] * (self.x.dim() - 1)),
            graph_of_node=(self.graph_of_node + copy * self.num_graphs).flatten(),
            num_graphs=self.num_graphs * times,
            edges=Edges.between(
                (pattern.col + copy * self.num_nodes).flatten(),
                (pattern.row + copy * self.num_nodes).flatten(),
                self.num_nodes * times,
                None if self.edges.weight is None else self.edges.weight.repeat(times),
                None if self.edges.attr is None else self.edges.attr.repeat(times, 1),
            ),
            graph_attr=None if self.graph_attr is None else self.graph_attr.repeat(times, 1),
        )


def _rows(values: Tensor | None, chosen: Tensor) -> Tensor | None:
    return None if values is None else values[chosen]
