"""Encodings of colors as inputs of the first layer of a network.

The product of a one-hot code and the weight of a layer is a row of the weight. It is computed as a
look-up, and one-hot columns are not stored.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from clipgnn.errors import InvalidColoringError
from clipgnn.ops.lookup import look_up
from clipgnn.parameters import CLIPParameters


@dataclass(frozen=True)
class ColorCode:
    """An encoding of the colors 0..num_colors-1.

    Attributes:
        name: "one-hot", the standard basis of R^num_colors as in the paper, or "binary", the binary
            digits of the color as +1 and -1: log2(num_colors) channels, for groups that are too
            large for one-hot codes.
        num_colors: number of colors.
    """

    name: str
    num_colors: int

    def __post_init__(self) -> None:
        CLIPParameters.check("color_code", self.name)

    @property
    def width(self) -> int:
        """Number of channels of a code, and of its rows in the weight of the first layer."""
        if self.name == "one-hot":
            return self.num_colors
        return max(1, (self.num_colors - 1).bit_length())

    def multiply(self, colors: Tensor, weight: Tensor) -> Tensor:
        """Multiply the codes of colors with `weight`.

        Args:
            colors: `[members, rows]`.
            weight: `[members, width, channels]`.

        Returns:
            `[members, rows, channels]`.
        """
        if self.name == "one-hot":
            return look_up(weight, colors)
        # [members, rows, width]
        digits = colors[:, :, None] >> torch.arange(self.width, device=weight.device) & 1
        return torch.bmm(2.0 * digits.to(weight.dtype) - 1.0, weight)

    def check(self, num_colors: int) -> None:
        """Check that the code has at least `num_colors` colors.

        Raises:
            InvalidColoringError: if it has fewer.
        """
        if num_colors > self.num_colors:
            raise InvalidColoringError(
                f"Colors must be less than num_colors={self.num_colors}. Got color "
                f"{num_colors - 1}, from a group of {num_colors} nodes with identical attributes "
                f"or from a stored coloring. Train a model with num_colors={num_colors} or more "
                "(color_code='binary' needs few weights)."
            )
