"""The aggregation of Eq. (9): ψ of a node and of the sum of φ over its neighbors."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clipgnn.graphs.batch import Edges
from clipgnn.graphs.padded import InPlacePattern, PaddedEdges
from clipgnn.graphs.sparse import SparsePattern
from clipgnn.nn.features import Features, Hidden
from clipgnn.nn.linear import affine
from clipgnn.nn.mlp import MLP
from clipgnn.nn.norm import Moments
from clipgnn.nn.sparse_sum import sparse_sum
from clipgnn.shapes import NodeFeatures


class Aggregation(nn.Module):
    r"""One local iteration, Eq. (9): :math:`\psi(x_i, \sum_{j \in N(i)} \varphi(x_j))`.

    With edge attributes, φ sees those of the edge too; edge weights are factors in the sum; on
    directed graphs ψ sees a second sum, of another φ over the outgoing edges.

    Differs from the paper: φ has no bias in its second map, as in the theorem the paper rests on
    (a constant summed over neighbors is a degree, which a hidden unit of φ gives as well).

    Args:
        num_members: networks side by side.
        in_channels: channels of the node features.
        hidden_channels: channels inside and after.
        edge_channels: channels of edge attributes; 0 for none.
        directed: whether incoming and outgoing edges are told apart.
        activation: name of the activation.
        norm: "batch" or None.
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
            )

        self.hidden_channels = hidden_channels
        self.phi = mlp(in_channels + edge_channels, out_bias=False)
        self.phi_out = mlp(in_channels + edge_channels, out_bias=False) if directed else None
        sums = 2 if directed else 1
        self.psi = mlp(in_channels + sums * hidden_channels, out_bias=True)

    def forward(
        self,
        x: Features,
        directions: Sequence[Edges | PaddedEdges],
        moments: Moments | None = None,
        real_nodes: Tensor | None = None,
    ) -> Hidden:
        """One step for all nodes, colorings and members.

        Args:
            x: node features.
            directions: the edges; on directed graphs, the edges and then the edges reversed.
            moments: see `BatchNorm`.
            real_nodes: `[members, nodes]`, which are not padding; all without it.
        """
        phis = [self.phi] if self.phi_out is None else [self.phi, self.phi_out]
        widths = [x.channels] + [self.hidden_channels] * len(phis)
        own, *for_sums = self.psi.first.weight.split(widths, dim=1)
        before = x.through(own, self.psi.first.bias)
        rows = before.flatten(1, 2)
        real = None if real_nodes is None else real_nodes.repeat_interleave(before.shape[2], 1)
        for phi, edges, for_sum in zip(phis, directions, for_sums, strict=True):
            total = _sum_over_neighbors(phi, x, edges, moments, real).flatten(1, 2)
            rows = affine(total, torch.bmm(phi.second.weight, for_sum), None, plus=rows)
        return Hidden(self.psi.between(rows, moments, real).view(before.shape), self.psi.second)


def _sum_over_neighbors(
    phi: MLP,
    x: Features,
    edges: Edges | PaddedEdges,
    moments: Moments | None,
    real: Tensor | None,
) -> NodeFeatures:
    """The sum of φ's hidden units over the neighbors: its second map commutes with the sum."""
    pattern: SparsePattern | InPlacePattern = edges.pattern
    before = x.through(phi.first.weight[:, : x.channels], phi.first.bias)
    members, nodes, colorings, channels = before.shape
    if isinstance(edges, Edges) and edges.attr is not None:
        # φ differs from edge to edge, so it is applied on edges and summed over segments of them.
        per_edge = before.reshape(members * nodes, -1).index_select(0, edges.pattern.col)
        rows = edges.attr.view(members, -1, edges.attr.shape[1])
        seen = affine(rows, phi.first.weight[:, x.channels :], None)[:, :, None]
        before = per_edge.view(members, -1, colorings, channels) + seen
        pattern = SparsePattern.segments(edges.pattern.row, members * nodes)
    sent = phi.between(before.flatten(1, 2), moments, real).view(-1, colorings * channels)
    total = sparse_sum(pattern, sent, edges.weight)
    return total.view(members, nodes, colorings, channels)
