"""Interfaces of batches, which every network reads.

There are two kinds of storage. `exact.py` stores the graphs of a user in tensors of exactly their
size. `capacity.py` stores a batch for each of many members in tensors of fixed size with padding,
for training and for recorded GPU programs. Networks use the interfaces only.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

from clipgnn.ops.structure import Structure


class Segments(ABC):
    """Groups of consecutive rows, such as the nodes of each graph."""

    @property
    @abstractmethod
    def counts(self) -> Int[Tensor, "segments"]:
        """Number of rows of each segment."""

    @property
    @abstractmethod
    def starts(self) -> Int[Tensor, "segments"]:
        """First row of each segment."""

    @abstractmethod
    def sum(self, x: Float[Tensor, "rows channels"]) -> Float[Tensor, "segments channels"]:
        """Sum the rows of each segment; zero for a segment without rows."""


class Edges(ABC):
    """Edges of a batch, sorted by target.

    Weights of edges are factors in `sum` and in `sum_at_targets`.
    """

    @property
    @abstractmethod
    def attr(self) -> Float[Tensor, "edges edge_channels"] | None:
        """Attributes of each edge."""

    @property
    @abstractmethod
    def mask(self) -> Bool[Tensor, "members member_edges"] | None:
        """Which edges are not padding; None without padding. Only for edges with attributes."""

    @property
    @abstractmethod
    def in_degrees(self) -> Int[Tensor, "nodes"]:
        """Number of edges that point to each node."""

    @abstractmethod
    def sum(self, x: Float[Tensor, "nodes channels"]) -> Float[Tensor, "nodes channels"]:
        """Sum the rows of the neighbors of each node, the sources of edges that point to it."""

    @abstractmethod
    def at_sources(self, x: Float[Tensor, "nodes channels"]) -> Float[Tensor, "edges channels"]:
        """Gather the row of the source of each edge. Only for edges with attributes."""

    @abstractmethod
    def sum_at_targets(self, x: Float[Tensor, "edges channels"]) -> Float[Tensor, "nodes channels"]:
        """Sum the rows of the edges that point to each node. Only for edges with attributes."""

    @abstractmethod
    def reversed(self) -> "Edges":
        """The same edges in the opposite direction."""


@dataclass(frozen=True)
class Batch(ABC):
    """Graphs of all members, concatenated member by member.

    Attributes:
        x: node attributes `[members * nodes, channels]`, or integer labels `[members * nodes]`.
        edges: the edges.
        nodes: the nodes of each graph, `members * graphs` segments.
        graph_attr: attributes of each graph, `[members * graphs, channels]`.
        graph_ids: index of each graph, `[members, graphs]`, in the graph set that `prepared` was
            computed for; the number of its graphs for padding.
        prepared: result of `Network.prepare` for that graph set.
        node_mask: `[members, nodes]`, which nodes are not padding; None without padding.
        graph_mask: `[members, graphs]`, which graphs are not padding; None without padding.
    """

    x: Tensor
    edges: Edges
    nodes: Segments
    graph_attr: Tensor | None
    graph_ids: Int[Tensor, "members graphs"]
    prepared: tuple[Tensor, ...]
    node_mask: Bool[Tensor, "members nodes"] | None
    graph_mask: Bool[Tensor, "members graphs"] | None

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all members, including padding."""
        return self.x.shape[0]

    @property
    def num_members(self) -> int:
        """Number of members. All have the same number of nodes and graphs, including padding."""
        return self.graph_ids.shape[0]

    @property
    @abstractmethod
    def structure(self) -> Structure | None:
        """Tables that fused GPU kernels read; None if the batch has none."""

    @property
    @abstractmethod
    def largest_graph(self) -> int:
        """Upper bound of the number of nodes of a graph."""
