"""Convolutions over sequences, with a members axis."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from clipgnn.nn.linear import Linear

Sequences = Float[Tensor, "members graphs length channels"]
"""A sequence of rows for each graph."""


class Convolution(nn.Module):
    """A 1-dimensional convolution with stride 1 and without padding, followed by ReLU.

    All windows of all graphs are rows of one matrix product. The weight of channel c at position p
    of the window is in row `c * kernel_size + p`.

    Args:
        num_members: networks that are computed together.
        in_channels: channels of the input.
        out_channels: number of filters.
        kernel_size: rows of a window.

    Shapes:
        - input: `[members, graphs, length, in_channels]`
        - output: `[members, graphs, length - kernel_size + 1, out_channels]`
    """

    def __init__(
        self, num_members: int, in_channels: int, out_channels: int, *, kernel_size: int = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.linear = Linear(num_members, in_channels * kernel_size, out_channels)

    def forward(self, x: Sequences) -> Float[Tensor, "members graphs windows out_channels"]:
        """Apply the convolution and ReLU."""
        # [members, graphs, windows, channels, kernel_size]
        # -> [members, graphs, windows, channels * kernel_size]
        windows = x.unfold(2, self.kernel_size, 1).flatten(3)
        # [members, graphs * windows, out_channels]
        rows = functional.relu(self.linear(windows.flatten(1, 2)))
        return rows.view(*windows.shape[:3], -1)
