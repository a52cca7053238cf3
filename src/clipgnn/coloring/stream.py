"""Where a network's colorings come from, when there may be too many to hold at once."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from clipgnn.coloring.codes import ColorCode
from clipgnn.coloring.enumerate import colorings_by_number, enumerable_counts
from clipgnn.coloring.groups import Partition, color_groups
from clipgnn.coloring.sample import sample_from_partition
from clipgnn.graphs.batch import GraphBatch
from clipgnn.shapes import Colorings


@runtime_checkable
class ColoringStream(Protocol):
    """Colorings 0, 1, 2, … of every graph of a batch, some graphs having more than others."""

    @property
    def counts(self) -> Tensor:
        """`[graphs]`: how many colorings each graph has."""

    @property
    def most(self) -> int:
        """The largest of these numbers."""

    def everything(self) -> Colorings:
        """All colorings of all graphs; those of graphs with fewer are repeated."""

    def part(self, graphs: Tensor, start: int, stop: int) -> Colorings:
        """Colorings start..stop-1 of the graphs where `graphs` is true, on their nodes only."""

    def sample(self, size: int, generator: torch.Generator | None) -> Colorings:
        """Some colorings of every graph, at random."""


@dataclass(frozen=True)
class HeldColorings:
    """Colorings that were drawn, or given by a user: `[colorings, nodes]`."""

    colorings: Colorings
    graph_of_node: Tensor
    num_graphs: int

    @property
    def counts(self) -> Tensor:
        """`[graphs]`: the number of held colorings, the same for every graph."""
        return self.graph_of_node.new_full((self.num_graphs,), self.colorings.shape[0])

    @property
    def most(self) -> int:
        """The number of held colorings."""
        return self.colorings.shape[0]

    def everything(self) -> Colorings:
        """All held colorings."""
        return self.colorings

    def part(self, graphs: Tensor, start: int, stop: int) -> Colorings:
        """A slice of the held colorings, on the nodes of these graphs."""
        return self.colorings[start:stop, graphs[self.graph_of_node]]

    def sample(self, size: int, generator: torch.Generator | None) -> Colorings:
        """The first `size` held colorings; drawn ones are already in random order."""
        return self.colorings[:size]


class AllColorings:
    """Every coloring of every graph, made from its number when it is needed.

    Raises:
        TooManyColoringsError: if a graph has too many to enumerate.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.counts = enumerable_counts(partition)
        self.most = int(self.counts.max())

    def everything(self) -> Colorings:
        """All colorings, ordered by number."""
        return self.part(torch.ones_like(self.counts, dtype=torch.bool), 0, self.most)

    def part(self, graphs: Tensor, start: int, stop: int) -> Colorings:
        """Colorings by number; a graph that runs out begins again."""
        numbers = torch.arange(start, stop, device=graphs.device)
        return colorings_by_number(
            self.partition.subset(graphs), numbers[:, None] % self.counts[graphs]
        )

    def sample(self, size: int, generator: torch.Generator | None) -> Colorings:
        """Distinct colorings, uniformly."""
        return sample_from_partition(self.partition, size, generator)


def draw_colorings(
    graphs: GraphBatch,
    how_many: int | Literal["all"],
    code: ColorCode,
    generator: torch.Generator | None,
) -> ColoringStream:
    """The colorings of a batch: k at random for each graph, or every one.

    Raises:
        InvalidColoringError: if a group has more nodes than the code has colors.
        TooManyColoringsError: if all are wanted and a graph has too many to enumerate.
    """
    groups = color_groups(graphs.x, graphs.graph_of_node)
    partition = Partition.of(groups, graphs.graph_of_node, graphs.num_graphs)
    if how_many == "all":
        everything = AllColorings(partition)
        code.check(int(partition.sizes.max()))
        return everything
    code.check(int(partition.sizes.max()))
    drawn = sample_from_partition(partition, how_many, generator)
    return HeldColorings(drawn, graphs.graph_of_node, graphs.num_graphs)
