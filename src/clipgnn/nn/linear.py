"""Affine maps with a members axis, computed as one batched product."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from clipgnn.nn.layer import Generators, Layer, draw_uniform
from clipgnn.ops.product import affine
from clipgnn.shapes import MemberRows


class Linear(Layer):
    """Affine map `x @ weight + bias` for each member.

    Args:
        num_members: networks that are computed together.
        in_channels: channels of the input.
        out_channels: channels of the output.
        bias: whether there is a bias.
        initialization: "uniform", "glorot" or "he"; see `reset_parameters`.

    Attributes:
        weight: `[members, in_channels, out_channels]`.
        bias: `[members, out_channels]`, or None.

    Shapes:
        - input: `[members, rows, in_channels]`
        - output: `[members, rows, out_channels]`
    """

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        out_channels: int,
        *,
        bias: bool = True,
        initialization: str = "uniform",
    ) -> None:
        super().__init__()
        self.initialization = initialization
        self.weight = nn.Parameter(torch.empty(num_members, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(num_members, out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw weights and biases uniformly within ±1/sqrt(in_channels), as `torch.nn.Linear`.

        By Glorot's rule, draw weights within ±sqrt(6 / (in_channels + out_channels)), by He's rule
        within ±sqrt(6 / in_channels); biases are then 0.
        """
        _, in_channels, out_channels = self.weight.shape
        with torch.no_grad():
            if self.initialization != "uniform":
                both = self.initialization == "glorot"
                channels = in_channels + out_channels if both else max(1, in_channels)
                draw_uniform(self.weight, math.sqrt(6 / channels), generators)
                if self.bias is not None:
                    self.bias.zero_()
                return
            for parameter in self.parameters():
                draw_uniform(parameter, 1 / math.sqrt(max(1, in_channels)), generators)

    def forward(self, x: MemberRows) -> Float[Tensor, "members rows out_channels"]:
        """Apply the map to rows `[members, rows, in_channels]`."""
        return affine(x, self.weight, self.bias)

    @override
    def extra_repr(self) -> str:
        members, in_channels, out_channels = self.weight.shape
        return f"{in_channels}, {out_channels}, bias={self.bias is not None}, members={members}"
