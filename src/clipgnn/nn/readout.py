"""Readout of Eq. (5): sum over nodes, maximum over colorings, ψ."""

import torch
from jaxtyping import Float
from torch import Tensor

from clipgnn.graphs.batch import Segments
from clipgnn.nn.dropout import Dropout
from clipgnn.nn.linear import Linear
from clipgnn.nn.maps import FactoredFeatures
from clipgnn.nn.mlp import MLP
from clipgnn.ops.product import affine
from clipgnn.shapes import GraphFeatures, NodeFeatures


def sum_nodes(
    x: FactoredFeatures, nodes: Segments
) -> Float[Tensor, "members graphs colorings channels"]:
    """Sum the node features of each graph for each coloring."""
    members, _, colorings, channels = x.activations.shape
    flat = x.activations.reshape(-1, colorings * channels)  # [members * nodes, ...]
    total = nodes.sum(flat).view(members, -1, colorings, channels)
    return map_sums(total, nodes, x.last)


def map_sums(
    total: Float[Tensor, "members graphs colorings channels"], nodes: Segments, last: Linear
) -> Float[Tensor, "members graphs colorings out_channels"]:
    """Compute the sums of the outputs of an affine map from the sums of its inputs."""
    members, graphs, colorings, _ = total.shape
    # [members, graphs * colorings, channels] -> [members, graphs, colorings, out_channels]
    mapped = affine(total.flatten(1, 2), last.weight, None).view(members, graphs, colorings, -1)
    if last.bias is None:
        return mapped
    sizes = nodes.counts.view(members, -1, 1, 1).to(mapped.dtype)  # [members, graphs, 1, 1]
    return mapped + sizes * last.bias[:, None, None]


def each_node(x: FactoredFeatures) -> NodeFeatures:
    """Compute the features of each node for each coloring."""
    # [members, nodes * colorings, channels] -> [members, nodes, colorings, channels]
    rows = x.last(x.activations.flatten(1, 2))
    return rows.view(*x.activations.shape[:3], -1)


class Readout(MLP):
    """The MLP ψ of Eq. (5) on the maximum over colorings and on graph attributes, with dropout.

    Args:
        num_members: networks that are computed together.
        in_channels: channels of the input, including graph attributes.
        hidden_channels: channels between the two maps.
        out_channels: channels of the output.
        activation: name of the activation.
        norm: "batch" or None.
        dropout: dropout probability before the second map.
        initialization: initial weights of both maps; see `Linear`.

    Shapes:
        - pooled: `[members, graphs, channels]`
        - graph_attr: `[members * graphs, in_channels - channels]`, or None
        - graph_mask: `[members, graphs]`, or None
        - output: `[members, graphs, out_channels]`
    """

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
        initialization: str = "uniform",
    ) -> None:
        super().__init__(
            num_members,
            in_channels,
            hidden_channels,
            out_channels,
            activation=activation,
            norm=norm,
            initialization=initialization,
        )
        self.dropout = Dropout(num_members, dropout)

    def forward(  # type: ignore[override]
        self,
        pooled: GraphFeatures,
        graph_attr: Tensor | None = None,
        graph_mask: Tensor | None = None,
    ) -> Float[Tensor, "members graphs out_channels"]:
        """Compute the output for each graph.

        Args:
            pooled: maximum over colorings.
            graph_attr: attributes of the graphs of all members.
            graph_mask: which graphs are not padding; None without padding.
        """
        if graph_attr is not None:
            rows = graph_attr.view(*pooled.shape[:2], -1)  # [members, graphs, channels]
            pooled = torch.cat([pooled, rows], dim=2)
        hidden = self.activate(self.first(pooled), None, graph_mask)
        return self.second(self.dropout(hidden))
