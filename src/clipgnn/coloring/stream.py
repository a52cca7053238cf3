"""Colorings of a batch of graphs, including more colorings than fit in memory."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from clipgnn.coloring.enumerate import colorings_by_number, enumerable_counts
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.sample import sample_from_partition
from clipgnn.shapes import Colorings


@runtime_checkable
class ColoringStream(Protocol):
    """Colorings of every graph of a batch, by number. Graphs can have different counts."""

    @property
    def counts(self) -> Tensor:
        """`[graphs]`: number of colorings of each graph."""

    @property
    def max_count(self) -> int:
        """Largest of the counts."""

    def all(self) -> Colorings:
        """All colorings of all graphs; graphs with fewer than `max_count` repeat theirs."""

    def part(self, graphs: Tensor, start: int, stop: int) -> Colorings:
        """Colorings start..stop-1 of the nodes of the graphs where `graphs` is true."""

    def sample(self, size: int, generator: torch.Generator | None) -> Colorings:
        """At most `size` random colorings of every graph."""


@dataclass(frozen=True)
class InMemoryColorings:
    """Colorings in memory, `[colorings, nodes]`: drawn, or passed by a user."""

    colorings: Colorings
    graph_of_node: Tensor
    num_graphs: int

    @property
    def counts(self) -> Tensor:
        """`[graphs]`: number of colorings, the same for every graph."""
        return self.graph_of_node.new_full((self.num_graphs,), self.colorings.shape[0])

    @property
    def max_count(self) -> int:
        """Number of colorings."""
        return self.colorings.shape[0]

    def all(self) -> Colorings:
        """All colorings."""
        return self.colorings

    def part(self, graphs: Tensor, start: int, stop: int) -> Colorings:
        """Colorings start..stop-1 of the nodes of these graphs."""
        return self.colorings[start:stop, graphs[self.graph_of_node]]

    def sample(self, size: int, generator: torch.Generator | None) -> Colorings:
        """The first `size` colorings; colorings that were drawn are in random order."""
        return self.colorings[:size]


@dataclass(frozen=True)
class WrappedColorings:
    """Colorings in which a color is reduced modulo the number of colors of a network.

    Attributes:
        stream: the colorings.
        num_colors: number of colors of the network.
    """

    stream: ColoringStream
    num_colors: int

    @property
    def counts(self) -> Tensor:
        """`[graphs]`: number of colorings of each graph."""
        return self.stream.counts

    @property
    def max_count(self) -> int:
        """Largest number of colorings of a graph."""
        return self.stream.max_count

    def all(self) -> Colorings:
        """All colorings."""
        return self.stream.all() % self.num_colors

    def part(self, graphs: Tensor, start: int, stop: int) -> Colorings:
        """Colorings start..stop-1 of the nodes of these graphs."""
        return self.stream.part(graphs, start, stop) % self.num_colors

    def sample(self, size: int, generator: torch.Generator | None) -> Colorings:
        """At most `size` random colorings of every graph."""
        return self.stream.sample(size, generator) % self.num_colors


class AllColorings:
    """Every coloring of every graph, computed from its number on demand.

    Raises:
        TooManyColoringsError: if a graph has too many colorings to enumerate.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.counts = enumerable_counts(partition)
        self.max_count = int(self.counts.max())

    def all(self) -> Colorings:
        """All colorings, ordered by number."""
        return self.part(torch.ones_like(self.counts, dtype=torch.bool), 0, self.max_count)

    def part(self, graphs: Tensor, start: int, stop: int) -> Colorings:
        """Colorings start..stop-1, modulo the number of colorings of each graph."""
        numbers = torch.arange(start, stop, device=graphs.device)
        return colorings_by_number(
            self.partition.subset(graphs), numbers[:, None] % self.counts[graphs]
        )

    def sample(self, size: int, generator: torch.Generator | None) -> Colorings:
        """`size` distinct colorings, sampled uniformly."""
        return sample_from_partition(self.partition, size, generator)
