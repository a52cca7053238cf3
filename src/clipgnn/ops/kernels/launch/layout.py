"""Sizes of the rows of a batch, and of the tiles that kernels divide them into.

Tile sizes depend only on the number of channels, and numbers of partial sums are constant. So the
order of all sums depends neither on the capacity of a batch nor on the other members.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
import triton
from torch import Tensor

ROWS = 64
"""Rows of a tile; a row is a node with one of its colorings."""

ONE_TILE = {"num_warps": 4, "num_stages": 1}
"""Options of kernels whose programs compute one tile."""

MANY_TILES = {"num_warps": 4, "num_stages": 2}
"""Options of kernels whose programs compute many tiles."""


@dataclass(frozen=True)
class Layout:
    """Sizes of the rows of a batch, `[members, capacity * colorings, channels]`.

    Attributes:
        num_nodes: `[members]`, nodes that are not padding.
        capacity: nodes of each member, including padding.
        colorings: number of colorings.
        channels: number of channels.
        precision: precision of products, as in `triton.language.dot`.
    """

    num_nodes: Tensor
    capacity: int
    colorings: int
    channels: int
    precision: str

    @property
    def members(self) -> int:
        """Number of members."""
        return self.num_nodes.numel()

    @cached_property
    def width(self) -> int:
        """Channels of a tile."""
        return max(16, triton.next_power_of_2(self.channels))

    @cached_property
    def tiles(self) -> int:
        """Tiles of a member."""
        return triton.cdiv(self.capacity * self.colorings, ROWS)

    @property
    def grid(self) -> tuple[int, int]:
        """A program for each tile of each member."""
        return self.tiles, self.members

    @property
    def sizes(self) -> tuple[Tensor, int, int, int]:
        """Arguments of every kernel on rows."""
        return self.num_nodes, self.capacity, self.colorings, self.channels

    def new_rows(self) -> Tensor:
        """Uninitialized rows."""
        return self.new(self.capacity * self.colorings, self.channels)

    def new_sums(self) -> Tensor:
        """Uninitialized sums for each tile."""
        return self.new(self.tiles, 2, self.channels)

    def new_merged(self) -> Tensor:
        """Uninitialized merged maps of a layer; see `kernels.merge`."""
        return self.new(3 * self.channels**2 + 2 * self.channels)

    def new(self, *shape: int) -> Tensor:
        """An uninitialized tensor `[members, …]`."""
        device = self.num_nodes.device
        return torch.empty(self.members, *shape, dtype=torch.float32, device=device)
