"""GIN, the graph isomorphism network: message passing at its most expressive."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.baselines.checks import check_dropout, check_integers
from clipgnn.coloring.codes import ColorCode
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import InPlacePattern, PaddedBatch, PaddedMembership
from clipgnn.nn.dropout import Dropout
from clipgnn.nn.features import ColoredAttributes, Features, Plain
from clipgnn.nn.linear import Linear
from clipgnn.nn.members import Members
from clipgnn.nn.norm import BatchNorm
from clipgnn.nn.sparse_sum import sparse_sum
from clipgnn.shapes import Colorings, GraphFeatures, NodeFeatures


class GIN(Members):
    r"""The graph isomorphism network, GIN-0.

    From `"How powerful are graph neural networks?" <https://arxiv.org/abs/1810.00826>`_, Eqs. (4.1)
    and (4.2): :math:`h_v^{(t)} = \mathrm{MLP}^{(t)}((1 + \epsilon) h_v^{(t-1)} + \sum_{u \in N(v)}
    h_u^{(t-1)})` with 2-layer MLPs, batch normalization inside and after them, and a readout from
    the sums of every layer, the attributes included.

    Differs from its authors' program: none in the network. They count the attributes as a layer, so
    their five layers are `num_layers=4` here. Their epochs are 50 random batches; ours are passes.

    Args:
        graphs: the data set.
        out_channels: channels of the output, such as classes.
        num_members: networks side by side.
        hidden_channels: units of every layer.
        num_layers: rounds of message passing.
        dropout: dropout of each layer's contribution to the output.
        learn_epsilon: learn ε, from 0 (GIN-ε); it stays 0 otherwise.

    Raises:
        InvalidParameterError: if a parameter has a value it cannot have.
    """

    def __init__(
        self,
        graphs: PackedGraphs,
        out_channels: int,
        *,
        num_members: int = 1,
        hidden_channels: int = 64,
        num_layers: int = 4,
        dropout: float = 0.0,
        learn_epsilon: bool = False,
    ) -> None:
        super().__init__()
        check_integers("GIN", hidden_channels=hidden_channels, num_layers=num_layers)
        check_dropout("GIN", dropout)
        self.network = IsomorphismNetwork(
            num_members,
            graphs.in_channels,
            hidden_channels,
            out_channels,
            num_layers=num_layers,
            num_identities=0,
            dropout=dropout,
            learn_epsilon=learn_epsilon,
        )

    def classify(self, graphs: PaddedBatch, colorings: Colorings | None) -> GraphFeatures:
        """The output for each graph of each member's own batch."""
        return self.network(graphs, None)[:, :, 0]


class IsomorphismNetwork(nn.Module):
    """The layers and the readout of GIN, for one or several labellings of the nodes at once.

    Args:
        num_members: networks side by side.
        in_channels: channels of the attributes, or labels that can occur.
        hidden_channels: units of every layer.
        out_channels: channels of the output.
        num_layers: rounds of message passing.
        num_identities: identities that nodes may have beside their attributes; 0 for none.
        dropout: dropout of each layer's contribution to the output.
        learn_epsilon: learn ε.
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
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.identities = ColorCode("one-hot", num_identities)
        self.dropout = Dropout(num_members, dropout)
        widths = [in_channels + num_identities] + [hidden_channels] * num_layers
        self.layers = nn.ModuleList(
            _Layer(num_members, width, hidden_channels, learn_epsilon=learn_epsilon)
            for width in widths[:-1]
        )
        self.heads = nn.ModuleList(_Head(num_members, width, out_channels) for width in widths)

    def forward(
        self, graphs: PaddedBatch, identities: Colorings | None
    ) -> Float[Tensor, "members graphs labellings out_channels"]:
        """The output for each graph under each labelling.

        Args:
            graphs: a batch for each member.
            identities: an identity for each node, `[labellings, nodes]`; None for none.
        """
        x: Features = ColoredAttributes(graphs.x, self.in_channels, identities, self.identities)
        first, *others = self.heads
        total = self.dropout(first(x, graphs))
        for layer, head in zip(self.layers, others, strict=True):
            x = layer(x, graphs)
            total = total + self.dropout(head(x, graphs))
        return total


class _Layer(nn.Module):
    """Eq. (4.1): the MLP of a node's own features and the sum of its neighbors'.

    The first map of the MLP commutes with that sum and goes before it. Maps have no biases, as
    batch normalization would take them off again.
    """

    def __init__(
        self, num_members: int, in_channels: int, hidden_channels: int, *, learn_epsilon: bool
    ) -> None:
        super().__init__()
        self.first = Linear(num_members, in_channels, hidden_channels, bias=False)
        self.inside = BatchNorm(num_members, hidden_channels)
        self.second = Linear(num_members, hidden_channels, hidden_channels, bias=False)
        self.after = BatchNorm(num_members, hidden_channels)
        self.epsilon = nn.Parameter(torch.zeros(num_members)) if learn_epsilon else None

    def forward(self, x: Features, graphs: PaddedBatch) -> Plain:
        """Features after the layer."""
        own = x.through(self.first.weight, None)
        members, nodes, labellings, channels = own.shape
        total = own + _summed(graphs.edges.pattern, own)
        if self.epsilon is not None:
            total = total + self.epsilon[:, None, None, None] * own
        real = graphs.real_nodes
        if real is not None:
            real = real.repeat_interleave(labellings, 1)
        rows = torch.relu(self.inside(total.flatten(1, 2), None, real))
        rows = torch.relu(self.after(self.second(rows), None, real))
        return Plain(rows.view(members, nodes, labellings, channels))


class _Head(nn.Module):
    """Eq. (4.2): what a layer contributes to the output, from the sum of its nodes' features.

    The map goes before the sum, so that attributes and identities need no one-hot rows.
    """

    def __init__(self, num_members: int, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.scores = Linear(num_members, in_channels, out_channels)

    def forward(
        self, x: Features, graphs: PaddedBatch
    ) -> Float[Tensor, "members graphs labellings out_channels"]:
        """The contribution for each graph under each labelling."""
        total = _summed(graphs.membership(), x.through(self.scores.weight, None))
        bias = self.scores.bias
        return total if bias is None else total + bias[:, None, None]


def _summed(pattern: InPlacePattern | PaddedMembership, x: NodeFeatures) -> Tensor:
    members, nodes, labellings, channels = x.shape
    flat = x.reshape(members * nodes, labellings * channels)
    return sparse_sum(pattern, flat).view(members, -1, labellings, channels)
