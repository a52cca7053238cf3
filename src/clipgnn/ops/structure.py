"""Tables of a batch, from which fused kernels read nodes, neighbors and graphs."""

from dataclasses import dataclass

from jaxtyping import Bool, Int
from torch import Tensor

from clipgnn.ops.gather_sum import Neighbors


@dataclass(frozen=True)
class Structure:
    """Nodes, neighbors and graphs of a batch in which all members have the same capacity.

    Attributes:
        num_nodes: number of nodes of each member that are not padding.
        incoming: neighbors of each node.
        outgoing: for each node, the nodes that have it as a neighbor.
        graph_begin: first node of each graph.
        graph_count: number of nodes of each graph.
        graph_of_node: graph of each node; any value for padding.
        graph_mask: which graphs are not padding.
    """

    num_nodes: Int[Tensor, "members"]
    incoming: Neighbors
    outgoing: Neighbors
    graph_begin: Int[Tensor, "all_graphs"]
    graph_count: Int[Tensor, "all_graphs"]
    graph_of_node: Int[Tensor, "all_nodes"]
    graph_mask: Bool[Tensor, "members graphs"]

    @property
    def capacity(self) -> int:
        """Number of nodes of each member, including padding."""
        return self.graph_of_node.numel() // self.num_nodes.numel()
