"""Node features as inputs of linear maps, in a form that is cheap to multiply."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from clipgnn.coloring.codes import ColorCode
from clipgnn.ops.lookup import look_up
from clipgnn.ops.product import affine
from clipgnn.shapes import Colorings, MemberRows, NodeFeatures

Weight = Float[Tensor, "members in_channels out_channels"]
Bias = Float[Tensor, "members out_channels"] | None

MAX_TABLE = 4
"""Largest number of possible pairs of a label and a color, relative to the number of rows, for
which the distinct pairs are counted."""

MIN_REPETITIONS = 2
"""Smallest mean number of occurrences of a distinct row for which distinct rows save time."""


class Features(ABC):
    """Features x of all nodes for all colorings."""

    def distinct(self, *, counted: bool) -> "DistinctFeatures | None":
        """The distinct rows of one member, if there are few of them and they are known.

        A map of single rows is then computed once for each distinct row. There must be no padding.

        Args:
            counted: whether to count the occurrences; rows that do not occur are then left out.
        """
        return None

    @property
    @abstractmethod
    def channels(self) -> int:
        """Channels of x."""

    @abstractmethod
    def multiply(self, weight: Weight, bias: Bias) -> NodeFeatures:
        """Compute `x @ weight + bias`."""


@dataclass(frozen=True)
class DistinctFeatures:
    """The distinct rows of features of one member, and where they occur.

    Attributes:
        rows: the distinct rows, as the features of nodes with one coloring.
        index: `[nodes, colorings]`, the distinct row of each node and coloring.
        counts: `[1, rows]`, how many times each distinct row occurs; None if not counted.
    """

    rows: Features
    index: Int[Tensor, "nodes colorings"]
    counts: Int[Tensor, "1 rows"] | None

    def expand(self, values: MemberRows) -> NodeFeatures:
        """Look up the values of all nodes and colorings, from those of the distinct rows."""
        return look_up(values, self.index.view(1, -1)).view(1, *self.index.shape, -1)


@dataclass(frozen=True)
class ColoredAttributes(Features):
    """Initial features x = (v, code of c), Eq. (4), without storing one-hot columns.

    Attributes:
        attributes: `[nodes, channels]`, or integer labels `[nodes]`, equivalent to one-hot rows.
        attribute_channels: channels of the attributes, or number of labels.
        colorings: `[colorings, nodes]`, or None for no colors (0-CLIP).
        code: the code of the colors.
    """

    attributes: Tensor
    attribute_channels: int
    colorings: Colorings | None
    code: ColorCode

    @property
    def channels(self) -> int:
        """Channels of the attributes plus those of the color code."""
        return self.attribute_channels + (0 if self.colorings is None else self.code.width)

    @override
    def distinct(self, *, counted: bool) -> DistinctFeatures | None:
        """The distinct pairs of a label and a color, on the CPU only: their number is read."""
        if self.attributes.dim() > 1 or self.attributes.device.type != "cpu":
            return None
        num_colors = 1 if self.colorings is None else self.code.num_colors
        pair = self.attributes[:, None]
        if self.colorings is not None:
            pair = pair * num_colors + self.colorings.t()  # [nodes, colorings]
        num_pairs = self.attribute_channels * num_colors
        if torch.compiler.is_compiling() or num_pairs > MAX_TABLE * pair.numel():
            return None
        if not counted and num_pairs * MIN_REPETITIONS <= pair.numel():
            return DistinctFeatures(
                self._rows(torch.arange(num_pairs), num_colors), pair.contiguous(), None
            )
        counts = torch.bincount(pair.flatten(), minlength=num_pairs)
        occurring = counts.nonzero().squeeze(1)
        if occurring.numel() * MIN_REPETITIONS > pair.numel():
            return None
        number = (counts > 0).cumsum(0) - 1
        return DistinctFeatures(
            self._rows(occurring, num_colors),
            number.index_select(0, pair.flatten()).view(pair.shape),
            counts.index_select(0, occurring)[None],
        )

    def _rows(self, pairs: Int[Tensor, "rows"], num_colors: int) -> "ColoredAttributes":
        """The features of pairs `label * num_colors + color`."""
        colorings = None if self.colorings is None else pairs[None] % num_colors
        return replace(self, attributes=pairs // num_colors, colorings=colorings)

    @override
    def multiply(self, weight: Weight, bias: Bias) -> NodeFeatures:
        """Multiply attributes, or look up labels, and look up colors."""
        members, _, out_channels = weight.shape
        for_attributes = weight[:, : self.attribute_channels]
        if self.attributes.dim() == 1:
            table = for_attributes if bias is None else for_attributes + bias[:, None]
            uncolored = look_up(table, self.attributes.view(members, -1))
        else:
            rows = self.attributes.view(members, -1, self.attribute_channels)
            uncolored = affine(rows, for_attributes, bias)
        # [members, nodes, out_channels] -> [members, nodes, 1, out_channels]
        uncolored = uncolored.view(members, -1, 1, out_channels)
        if self.colorings is None:
            return uncolored
        # [colorings, members * nodes] -> [members, nodes * colorings]
        colors = self.colorings.t().reshape(members, -1)
        colored = self.code.multiply(colors, weight[:, self.attribute_channels :])
        # [members, nodes * colorings, out_channels] -> [members, nodes, colorings, out_channels]
        return colored.view(members, uncolored.shape[1], -1, out_channels) + uncolored


@dataclass(frozen=True)
class DenseFeatures(Features):
    """Features x as a tensor."""

    x: NodeFeatures

    @property
    def channels(self) -> int:
        """Channels of x."""
        return self.x.shape[3]

    @override
    def multiply(self, weight: Weight, bias: Bias) -> NodeFeatures:
        """Compute one product for all nodes and colorings of a member."""
        # [members, nodes * colorings, channels] -> [members, nodes, colorings, out_channels]
        return affine(self.x.flatten(1, 2), weight, bias).view(*self.x.shape[:3], -1)
