"""Convolutions over sequences of rows, and the dense layers after them, with a members axis."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from clipgnn.nn.dropout import Dropout
from clipgnn.nn.linear import Linear

Sequences = Float[Tensor, "members graphs length channels"]
"""A sequence of rows for each graph."""


class Convolution(nn.Module):
    """A convolution along the sequence with stride 1 and no padding, then ReLU.

    All windows of all graphs are rows of one product. The weight of channel c at place p of the
    window stands in row `c * kernel + p`.

    Args:
        num_members: networks side by side.
        in_channels: channels of a row.
        out_channels: filters.
        kernel: rows that a filter sees at once.
    """

    def __init__(
        self, num_members: int, in_channels: int, out_channels: int, *, kernel: int = 1
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.linear = Linear(num_members, in_channels * kernel, out_channels)

    def forward(self, x: Sequences) -> Float[Tensor, "members graphs windows out_channels"]:
        """Sequences that are shorter by `kernel - 1`."""
        windows = x.unfold(2, self.kernel, 1).flatten(3)
        rows = functional.relu(self.linear(windows.flatten(1, 2)))
        return rows.view(*windows.shape[:3], -1)


class DenseLayers(nn.Module):
    """A dense layer with ReLU and dropout, then the map to the classes.

    Args:
        num_members: networks side by side.
        in_channels: numbers in a whole sequence.
        hidden_channels: units of the dense layer.
        out_channels: classes.
        dropout: share of units that are dropped in training.
    """

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        dropout: float,
    ) -> None:
        super().__init__()
        self.dropout = Dropout(num_members, dropout)
        self.first = Linear(num_members, in_channels, hidden_channels)
        self.second = Linear(num_members, hidden_channels, out_channels)

    def forward(self, x: Sequences) -> Float[Tensor, "members graphs out_channels"]:
        """The output for each graph."""
        hidden = functional.relu(self.first(x.flatten(2)))
        return self.second(self.dropout(hidden))
