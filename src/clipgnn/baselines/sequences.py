"""Convolutions over sequences of rows, with a members axis."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from clipgnn.nn.linear import Linear

Sequences = Float[Tensor, "members graphs length channels"]
"""A sequence of rows for each graph."""


class Convolution(nn.Module):
    """A convolution along the sequence with stride 1 and no padding, then ReLU.

    All windows of all graphs are rows of one product. The weight of channel c at place p of the
    window is in row `c * kernel + p`.

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
