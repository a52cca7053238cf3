"""The colored readout of Eq. (5): sum over nodes, maximum over colorings, ψ."""

import torch
from jaxtyping import Float
from torch import Tensor

from clipgnn.graphs.padded import PaddedMembership
from clipgnn.graphs.sparse import SparsePattern
from clipgnn.nn.dropout import Dropout
from clipgnn.nn.features import Hidden
from clipgnn.nn.linear import affine
from clipgnn.nn.mlp import MLP
from clipgnn.nn.sparse_sum import sparse_sum
from clipgnn.shapes import GraphFeatures, NodeFeatures


def sum_nodes(
    x: Hidden, membership: SparsePattern | PaddedMembership
) -> Float[Tensor, "members graphs colorings channels"]:
    """The sum of the node features of each graph under each coloring."""
    members, _, colorings, channels = x.activations.shape
    flat = x.activations.reshape(-1, colorings * channels)
    total = sparse_sum(membership, flat).view(members, -1, channels)
    total = affine(total, x.last.weight, None).view(members, -1, colorings, x.channels)
    if x.last.bias is None:
        return total
    counts = membership.rowptr.diff() if isinstance(membership, SparsePattern) else membership.count
    sizes = counts.view(members, -1, 1, 1).to(total.dtype)
    return total + sizes * x.last.bias[:, None, None]


def each_node(x: Hidden) -> NodeFeatures:
    """The features of each node under each coloring."""
    rows = x.last(x.activations.flatten(1, 2))
    return rows.view(*x.activations.shape[:3], -1)


class Readout(MLP):
    """ψ of Eq. (5), on what is left after the maximum over colorings, with graph attributes."""

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        activation: str,
        norm: str | None,
        dropout: float,
    ) -> None:
        super().__init__(
            num_members,
            in_channels,
            hidden_channels,
            out_channels,
            activation=activation,
            norm=norm,
        )
        self.dropout = Dropout(num_members, dropout)

    def forward(
        self,
        pooled: GraphFeatures,
        graph_attr: Tensor | None = None,
        real_graphs: Tensor | None = None,
    ) -> Float[Tensor, "members graphs out_channels"]:
        """The output for each graph.

        Args:
            pooled: `[members, graphs, channels]`.
            graph_attr: attributes of each member's graphs, `[members * graphs, channels]`.
            real_graphs: `[members, graphs]`, which are not padding; all without it.
        """
        if graph_attr is not None:
            rows = graph_attr.view(*pooled.shape[:2], -1)
            pooled = torch.cat([pooled, rows], dim=2)
        hidden = self.between(self.first(pooled), None, real_graphs)
        return self.second(self.dropout(hidden))
