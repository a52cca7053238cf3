"""Layers and readout of GIN, which RP-GIN has too."""

from collections.abc import Callable
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.coloring.codes import ColorCode
from clipgnn.graphs.batch import Batch
from clipgnn.nn import kernel_support
from clipgnn.nn.dropout import Dropout
from clipgnn.nn.features import ColoredAttributes, DenseFeatures, Features
from clipgnn.nn.layer import Generators, Layer
from clipgnn.nn.linear import Linear
from clipgnn.nn.norm import BatchNorm, shares_statistics
from clipgnn.shapes import Colorings, NodeFeatures


class IsomorphismNetwork(nn.Module):
    """Layers and readout of GIN, for one or several labelings of the nodes at the same time.

    Args:
        num_members: networks that are computed together.
        in_channels: channels of the attributes, or number of labels.
        hidden_channels: channels of every layer.
        out_channels: channels of the output.
        num_layers: number of message passing layers.
        num_identities: number of one-hot identities in addition to the attributes; 0 for none.
        dropout: dropout probability of the contribution of each layer to the output.
        learn_epsilon: whether ε is learned.
        norm: "batch" for batch normalization and a ReLU after each map of an MLP; None for biases
            in the maps, and a ReLU between them.
        num_maps: linear maps of an MLP.
        initialization: initial weights of the maps of MLPs; see `Linear`.

    Shapes:
        - graphs: a batch with `members * nodes` nodes
        - identities: `[labelings, members * nodes]`, or None
        - output: `[members, graphs, labelings, out_channels]`; one labeling without identities
    """

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int,
        num_identities: int,
        dropout: float,
        learn_epsilon: bool,
        norm: str | None,
        num_maps: int,
        initialization: str,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.identities = ColorCode("one-hot", num_identities)
        self.dropout = Dropout(num_members, dropout)
        widths = [in_channels + num_identities] + [hidden_channels] * num_layers
        self.layers = nn.ModuleList(
            IsomorphismLayer(
                num_members,
                width,
                hidden_channels,
                learn_epsilon=learn_epsilon,
                normalized=norm == "batch",
                num_maps=num_maps,
                initialization=initialization,
            )
            for width in widths[:-1]
        )
        self.heads = nn.ModuleList(
            LayerScores(num_members, width, out_channels) for width in widths
        )
        self.has_fused_layers = norm == "batch" and num_maps == 2 and not learn_epsilon

    def has_kernels(self, graphs: Batch) -> bool:
        """Whether fused GPU kernels can compute the outputs for a batch."""
        weight = cast(IsomorphismLayer, self.layers[0]).second.weight
        return (
            self.has_fused_layers
            and kernel_support.supports_batch(
                graphs, weight.shape[2], weight.dtype, training=self.training
            )
            and not shares_statistics(self)
        )

    def forward(
        self, graphs: Batch, identities: Colorings | None, *, fused: bool
    ) -> Float[Tensor, "members graphs labelings out_channels"]:
        """Compute the output for each graph and labeling.

        Args:
            graphs: a batch for each member.
            identities: identity of each node, `[labelings, members * nodes]`; None for none.
            fused: whether to use fused GPU kernels.
        """
        if fused:
            # Requires Triton, which comes with torch for GPUs.
            from clipgnn.baselines import fused_isomorphism

            return fused_isomorphism.outputs(self, graphs, identities)
        x: Features = ColoredAttributes(graphs.x, self.in_channels, identities, self.identities)
        first, *others = self.heads
        total = self.dropout(first(x, graphs))
        for layer, head in zip(self.layers, others, strict=True):
            x = layer(x, graphs)
            total = total + self.dropout(head(x, graphs))
        return total


class IsomorphismLayer(Layer):
    """Eq. (4.1): the MLP of the features of a node plus the sum over its neighbors.

    The first linear map of the MLP commutes with the sum and is applied before it. Normalized maps
    have no biases, because batch normalization removes them.
    """

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        hidden_channels: int,
        *,
        learn_epsilon: bool,
        normalized: bool,
        num_maps: int,
        initialization: str,
    ) -> None:
        super().__init__()

        def linear(in_channels: int) -> Linear:
            return Linear(
                num_members,
                in_channels,
                hidden_channels,
                bias=not normalized,
                initialization=initialization,
            )

        def norm() -> nn.Module:
            return BatchNorm(num_members, hidden_channels) if normalized else nn.Identity()

        self.first, self.inside = linear(in_channels), norm()
        self.second, self.after = linear(hidden_channels), norm()
        self.further = nn.ModuleList(linear(hidden_channels) for _ in range(num_maps - 2))
        self.after_further = nn.ModuleList(norm() for _ in range(num_maps - 2))
        self.epsilon = nn.Parameter(torch.zeros(num_members)) if learn_epsilon else None

    @torch.no_grad()
    def reset_parameters(self, generators: Generators = None) -> None:
        """Set ε to 0."""
        if self.epsilon is not None:
            self.epsilon.zero_()

    def forward(self, x: Features, graphs: Batch) -> DenseFeatures:
        """Compute the features after the layer, `[members, nodes, labelings, channels]`."""
        own = x.multiply(self.first.weight, None)
        members, nodes, labelings, channels = own.shape
        total = own + sum_rows(graphs.edges.sum, own)
        if self.epsilon is not None:
            total = total + self.epsilon[:, None, None, None] * own
        mask = graphs.node_mask
        if mask is not None:
            mask = mask.repeat_interleave(labelings, 1)  # [members, nodes * labelings]
        rows = total.flatten(1, 2)  # [members, nodes * labelings, channels]
        maps = (self.second, *self.further)
        if self.first.bias is not None:
            rows = rows + self.first.bias[:, None]
            for linear in maps:
                rows = linear(torch.relu(rows))
        else:
            rows = torch.relu(self.inside(rows, None, mask))
            for linear, norm in zip(maps, (self.after, *self.after_further), strict=True):
                rows = torch.relu(norm(linear(rows), None, mask))
        return DenseFeatures(rows.view(members, nodes, labelings, channels))


class LayerScores(nn.Module):
    """Eq. (4.2): the contribution of a layer to the output.

    The linear map is applied before the sum over nodes, so that one-hot rows of attributes and
    identities are not stored.
    """

    def __init__(self, num_members: int, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.scores = Linear(num_members, in_channels, out_channels)

    def forward(
        self, x: Features, graphs: Batch
    ) -> Float[Tensor, "members graphs labelings out_channels"]:
        """Compute the contribution for each graph and labeling."""
        total = sum_rows(graphs.nodes.sum, x.multiply(self.scores.weight, None))
        bias = self.scores.bias
        return total if bias is None else total + bias[:, None, None]


def sum_rows(sum_rows: Callable[[Tensor], Tensor], x: NodeFeatures) -> Tensor:
    """Apply a sum over neighbors, or over the nodes of graphs, to all labelings."""
    members, nodes, labelings, channels = x.shape
    # [members * nodes, labelings * channels] -> [members, nodes or graphs, labelings, channels]
    flat = x.reshape(members * nodes, labelings * channels)
    return sum_rows(flat).view(members, -1, labelings, channels)
