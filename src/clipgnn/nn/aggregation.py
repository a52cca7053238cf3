"""Aggregation over neighbors, Eq. (9)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clipgnn.graphs.batch import Edges
from clipgnn.nn.features import DistinctFeatures, Features, Weight
from clipgnn.nn.linear import Linear
from clipgnn.nn.maps import FactoredFeatures, FirstMap, LayerMaps
from clipgnn.nn.mlp import MLP
from clipgnn.nn.norm import Moments
from clipgnn.ops.product import add_product, affine
from clipgnn.shapes import NodeFeatures


class Aggregation(nn.Module):
    r"""One local iteration, Eq. (9): :math:`\psi(x_i, \sum_{j \in N(i)} \varphi(x_j))`.

    Attributes of an edge are additional inputs of φ, and its weight is a factor in the sum. For
    directed graphs the sum of a second φ over the outgoing edges is an additional input of ψ.

    Differs from the paper: the second map of φ has no bias, as in the theorem that the paper uses.
    (A constant summed over neighbors is a multiple of the degree, which a hidden unit of φ can also
    represent.)

    Args:
        num_members: networks that are computed together.
        in_channels: channels of the node features.
        hidden_channels: channels of the hidden layers and of the output.
        edge_channels: channels of edge attributes; 0 for none.
        directed: whether incoming and outgoing edges are summed separately.
        activation: name of the activation.
        norm: "batch" or None.
        initialization: initial weights of the MLPs; see `Linear`.

    Shapes:
        - x: `[members, nodes, colorings, in_channels]`, as `Features`
        - node_mask: `[members, nodes]`, or None
        - output: `[members, nodes, colorings, hidden_channels]`, as `FactoredFeatures`
    """

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        hidden_channels: int,
        *,
        edge_channels: int,
        directed: bool,
        activation: str,
        norm: str | None,
        initialization: str = "uniform",
    ) -> None:
        super().__init__()

        def mlp(channels: int, *, out_bias: bool) -> MLP:
            return MLP(
                num_members,
                channels,
                hidden_channels,
                hidden_channels,
                activation=activation,
                norm=norm,
                out_bias=out_bias,
                initialization=initialization,
            )

        self.in_channels = in_channels
        self.phi = mlp(in_channels + edge_channels, out_bias=False)
        self.phi_out = mlp(in_channels + edge_channels, out_bias=False) if directed else None
        sums = 2 if directed else 1
        self.psi = mlp(in_channels + sums * hidden_channels, out_bias=True)

    def maps(self, before: Linear | None, moments: Moments | None) -> LayerMaps:
        """Return the maps of the layer, which do not depend on the rows.

        Args:
            before: the last map of the layer before; None for the first layer.
            moments: see `BatchNorm`.
        """
        phis = [self.phi] if self.phi_out is None else [self.phi, self.phi_out]
        own = FirstMap.of(self.psi, self.in_channels, before, moments)
        return LayerMaps(
            messages=[FirstMap.of(phi, self.in_channels, before, moments) for phi in phis],
            own=own,
            of_sums=[
                torch.bmm(phi.second.weight, weight)
                for phi, weight in zip(phis, own.others.chunk(len(phis), dim=1), strict=True)
            ],
        )

    def forward(
        self,
        x: Features,
        directions: Sequence[Edges],
        maps: LayerMaps,
        moments: Moments | None = None,
        node_mask: Tensor | None = None,
    ) -> FactoredFeatures:
        """Compute the features after one iteration, for all nodes, colorings and members.

        Args:
            x: the attributes and colors of nodes, or the activations of the layer before.
            directions: the edges; for directed graphs, the edges and the reversed edges.
            maps: the result of `maps`.
            moments: see `BatchNorm`.
            node_mask: `[members, nodes]`, which nodes are not padding; None without padding.
        """
        alone = maps.own.weight.shape[0] == 1 and node_mask is None and directions[0].attr is None
        repeated = x.distinct(counted=self.training) if alone else None
        mask = None
        if repeated is not None:
            own = repeated.rows.multiply(maps.own.weight, maps.own.constant)
            total = repeated.expand(own.flatten(1, 2))
            for message, edges, weight in zip(maps.messages, directions, maps.of_sums, strict=True):
                total = total + _sum_of_repeated(message, repeated, edges, moments, weight)
        else:
            total = x.multiply(maps.own.weight, maps.own.constant)
            mask = _for_each_coloring(node_mask, total.shape[2])
            for message, edges, weight in zip(maps.messages, directions, maps.of_sums, strict=True):
                # [members, nodes * colorings, channels]
                sums = _sum_over_neighbors(message, x, edges, moments, mask).flatten(1, 2)
                total = add_product(total.flatten(1, 2), sums, weight).view(total.shape)
        # [members, nodes, colorings, channels]
        activations = maps.own.activate(total.flatten(1, 2), moments, mask).view(total.shape)
        return FactoredFeatures(activations, self.psi.second)


def _sum_of_repeated(
    message: FirstMap, x: DistinctFeatures, edges: Edges, moments: Moments | None, weight: Weight
) -> NodeFeatures:
    """Sum φ times `weight` over neighbors; the product is computed for distinct rows only."""
    before = x.rows.multiply(message.weight, message.constant)
    activations = message.activate(before.flatten(1, 2), moments, counts=x.counts)
    messages = x.expand(affine(activations, weight, None))
    # [1, nodes, colorings, channels] -> [nodes, colorings * channels]
    return edges.sum(messages.view(messages.shape[1], -1)).view(messages.shape)


def _sum_over_neighbors(
    message: FirstMap, x: Features, edges: Edges, moments: Moments | None, mask: Tensor | None
) -> NodeFeatures:
    """Sum the activations of φ over neighbors. Its second map commutes with the sum."""
    before = x.multiply(message.weight, message.constant)
    members, nodes, colorings, channels = before.shape
    if edges.attr is None:
        messages = message.activate(before.flatten(1, 2), moments, mask)
        # [members, nodes * colorings, channels] -> [members * nodes, colorings * channels]
        total = edges.sum(messages.view(-1, colorings * channels))
    else:
        # φ depends on the edge: it is computed for every edge and summed at the targets.
        # [members * edges, colorings * channels]
        at_sources = edges.at_sources(before.reshape(members * nodes, -1))
        attributes = edges.attr.view(members, -1, edges.attr.shape[1])
        # [members, edges, 1, channels]
        from_attributes = affine(attributes, message.others, None)[:, :, None]
        # [members, edges, colorings, channels]
        per_edge = at_sources.view(members, -1, colorings, channels) + from_attributes
        edge_mask = _for_each_coloring(edges.mask, colorings)
        messages = message.activate(per_edge.flatten(1, 2), moments, edge_mask)
        total = edges.sum_at_targets(messages.view(-1, colorings * channels))
    return total.view(members, nodes, colorings, channels)


def _for_each_coloring(mask: Tensor | None, colorings: int) -> Tensor | None:
    """Repeat a mask for each coloring: `[members, rows]` -> `[members, rows * colorings]`."""
    return None if mask is None else mask.repeat_interleave(colorings, 1)
