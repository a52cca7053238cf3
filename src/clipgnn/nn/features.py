"""Node features on their way into the next affine map.

Every MLP of CLIP ends with an affine map and meets one again: the first map of the next layer, or
the sum of the readout. What a layer returns is therefore kept one step earlier, and its last map is
multiplied into the weights of whatever reads it: a product of two small matrices instead of one
more pass over all nodes of all colorings. The result is the same but for rounding.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from clipgnn.coloring.codes import ColorCode, look_up
from clipgnn.nn.linear import Linear, affine
from clipgnn.shapes import Colorings, NodeFeatures

Weight = Float[Tensor, "members in_channels out_channels"]
Bias = Float[Tensor, "members out_channels"] | None


@runtime_checkable
class Features(Protocol):
    """Features x of all nodes under all colorings."""

    @property
    def channels(self) -> int:
        """Channels of x."""

    def through(self, weight: Weight, bias: Bias) -> NodeFeatures:
        """`x @ weight + bias`."""


@dataclass(frozen=True)
class ColoredAttributes:
    """The colored initialization: x = (v, code of c). One-hot columns are never made.

    Attributes:
        attributes: `[nodes, channels]`, or integer labels `[nodes]` that stand for one-hot rows.
        attribute_channels: channels of the attributes; as many as labels can occur.
        colorings: `[colorings, nodes]`, or None for no colors at all (0-CLIP).
        code: what a color looks like.
    """

    attributes: Tensor
    attribute_channels: int
    colorings: Colorings | None
    code: ColorCode

    @property
    def channels(self) -> int:
        """Attributes first, then the code of the color."""
        return self.attribute_channels + (0 if self.colorings is None else self.code.width)

    def through(self, weight: Weight, bias: Bias) -> NodeFeatures:
        """Attributes by a product, or a look-up for labels; colors by a look-up."""
        members, _, out_channels = weight.shape
        for_attributes = weight[:, : self.attribute_channels]
        if self.attributes.dim() == 1:
            table = for_attributes if bias is None else for_attributes + bias[:, None]
            plain = look_up(table, self.attributes.view(members, -1))
        else:
            rows = self.attributes.view(members, -1, self.attribute_channels)
            plain = affine(rows, for_attributes, bias)
        plain = plain.view(members, -1, 1, out_channels)
        if self.colorings is None:
            return plain
        colors = self.colorings.t().reshape(members, -1)
        colored = self.code.through(weight[:, self.attribute_channels :], colors)
        return colored.view(members, plain.shape[1], -1, out_channels) + plain


@dataclass(frozen=True)
class Hidden:
    """x = activations @ last.weight + last.bias, not multiplied out yet."""

    activations: NodeFeatures
    last: Linear

    @property
    def channels(self) -> int:
        """Channels after the last map."""
        return self.last.weight.shape[2]

    def through(self, weight: Weight, bias: Bias) -> NodeFeatures:
        """Both maps as one."""
        if self.last.bias is not None:
            bias = affine(self.last.bias[:, None], weight, bias)[:, 0]
        merged = torch.bmm(self.last.weight, weight)
        rows = affine(self.activations.flatten(1, 2), merged, bias)
        return rows.view(*self.activations.shape[:3], -1)


@dataclass(frozen=True)
class Plain:
    """x as it is."""

    x: NodeFeatures

    @property
    def channels(self) -> int:
        """Channels of x."""
        return self.x.shape[3]

    def through(self, weight: Weight, bias: Bias) -> NodeFeatures:
        """One product for all nodes and colorings of a member."""
        return affine(self.x.flatten(1, 2), weight, bias).view(*self.x.shape[:3], -1)
