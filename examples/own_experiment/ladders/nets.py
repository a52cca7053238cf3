"""A network: sums over neighbors, a linear map, and a sum over the nodes of each graph."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn import functional

from clipgnn.graphs.batch import Batch
from clipgnn.nn.linear import Linear
from clipgnn.nn.network import Network
from clipgnn.parameters import NetworkParameters, Rule, parameter
from clipgnn.shapes import Colorings, GraphFeatures


@dataclass(frozen=True, kw_only=True)
class SumParameters(NetworkParameters):
    """Parameters of the network; experiment files can set those below."""

    title: ClassVar[str] = "SumNet"

    hidden_channels: int = parameter(16, Rule(int, 1, 1024), "channels of the hidden layer")
    num_steps: int = parameter(2, Rule(int, 0, 100), "number of sums over neighbors")


class SumNet(Network):
    """A small network for graphs."""

    name = "sum-net"
    schema = SumParameters

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_members: int = 1,
        hidden_channels: int = SumParameters.hidden_channels,
        num_steps: int = SumParameters.num_steps,
    ) -> None:
        config = SumParameters(
            in_channels=in_channels,
            out_channels=out_channels,
            num_members=num_members,
            hidden_channels=hidden_channels,
            num_steps=num_steps,
        )
        super().__init__(config)
        self.num_steps = num_steps
        # Weights of layers of clipgnn have a members axis, so that folds can train together.
        self.first = Linear(num_members, in_channels, hidden_channels)
        self.last = Linear(num_members, hidden_channels, out_channels)

    def forward_batch(self, batch: Batch, colorings: Colorings | None) -> GraphFeatures:
        """Compute the output for each graph of each member; see `Network`."""
        members, channels = batch.num_members, self.config.in_channels
        x = batch.x
        if x.dim() == 1:  # labels, which represent one-hot rows
            x = functional.one_hot(x, channels).to(self.first.weight.dtype)
        h = self.first(x.view(members, -1, channels)).flatten(0, 1).relu()
        for _ in range(self.num_steps):
            h = torch.tanh(h + batch.edges.sum(h))  # padding is left out
        # [members * graphs, hidden] -> [members, graphs, hidden]
        sums = batch.nodes.sum(h).view(members, -1, h.shape[1])
        return self.last(sums)
