"""What a network sees of a color: a row of weights, never a one-hot column each.

A color enters the first layer as a code, "any finite set of k elements". A one-hot code times the
layer's weight is a row of it, so that a coloring is a look-up in a small table.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from clipgnn.errors import InvalidColoringError, InvalidParameterError, shown, suggestion

ColorCodeName = Literal["one-hot", "binary"]
_NAMES = ("one-hot", "binary")


@dataclass(frozen=True)
class ColorCode:
    """The code of colors 0..num_colors-1.

    Attributes:
        name: "one-hot", the natural basis of R^num_colors as in the paper, or "binary", the digits
            of the color as +1 and -1: log2(num_colors) numbers, for groups too large to have a row
            of weights for each color.
        num_colors: colors that can be told apart.
    """

    name: ColorCodeName
    num_colors: int

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in _NAMES:
            raise InvalidParameterError(
                f"color_code must be one of {', '.join(map(repr, _NAMES))}. "
                f"Got {shown(self.name)} instead.{suggestion(self.name, _NAMES)}"
            )

    @property
    def width(self) -> int:
        """Numbers in the code of a color, rows it takes in the first layer's weight."""
        if self.name == "one-hot":
            return self.num_colors
        return max(1, (self.num_colors - 1).bit_length())

    def through(self, weight: Tensor, colors: Tensor) -> Tensor:
        """The codes of colors times `weight`.

        Args:
            weight: `[members, width, channels]`.
            colors: `[members, rows]`.

        Returns:
            `[members, rows, channels]`.
        """
        if self.name == "one-hot":
            return look_up(weight, colors)
        digits = colors[:, :, None] >> torch.arange(self.width, device=weight.device) & 1
        return torch.bmm(2.0 * digits.to(weight.dtype) - 1.0, weight)

    def check(self, largest_group: int) -> None:
        """Check that a group of this many nodes can have distinct colors.

        Raises:
            InvalidColoringError: if it cannot.
        """
        if largest_group > self.num_colors:
            raise InvalidColoringError(
                f"The model has {self.num_colors} colors (num_colors). Got color "
                f"{largest_group - 1}: a group of {largest_group} nodes with identical attributes "
                f"needs as many colors. Train a model with num_colors={largest_group} or more "
                "(color_code='binary' keeps it small)."
            )


def look_up(
    table: Float[Tensor, "members entries channels"], index: Int[Tensor, "members rows"]
) -> Float[Tensor, "members rows channels"]:
    """Rows of each member's own table."""
    members, entries, channels = table.shape
    if members > 1:
        index = index + entries * torch.arange(members, device=index.device)[:, None]
    rows = table.reshape(-1, channels)
    if torch.compiler.is_compiling() and torch.are_deterministic_algorithms_enabled():
        return _repeatable_rows(rows, index)
    return functional.embedding(index, rows)


# What torch.compile makes of the gradient of a look-up adds in any order, or is many times as slow
# where it must repeat. Into these operators it does not look, and torch's own gradient repeats.


@torch.library.custom_op("clipgnn::repeatable_rows", mutates_args=())
def _repeatable_rows(table: Tensor, index: Tensor) -> Tensor:
    return functional.embedding(index, table)


@_repeatable_rows.register_fake
def _(table: Tensor, index: Tensor) -> Tensor:
    return table.new_empty(*index.shape, table.shape[1])


@torch.library.custom_op("clipgnn::repeatable_sums", mutates_args=())
def _repeatable_sums(grad: Tensor, index: Tensor, entries: int) -> Tensor:
    no_padding, by_frequency = -1, False
    return torch.ops.aten.embedding_dense_backward(grad, index, entries, no_padding, by_frequency)


@_repeatable_sums.register_fake
def _(grad: Tensor, index: Tensor, entries: int) -> Tensor:
    return grad.new_empty(entries, grad.shape[-1])


def _rows_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    table, index = inputs
    ctx.save_for_backward(index)
    ctx.entries = table.shape[0]


def _rows_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    return _repeatable_sums(grad, *ctx.saved_tensors, ctx.entries), None


torch.library.register_autograd(
    "clipgnn::repeatable_rows", _rows_backward, setup_context=_rows_context
)
