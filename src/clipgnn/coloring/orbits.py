"""One coloring of each class of colorings under the automorphisms of a graph."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from clipgnn.coloring import labeling
from clipgnn.coloring.bliss import has_igraph
from clipgnn.coloring.enumerate import colorings_by_number, enumerable_counts
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.precomputed import MAX_TRAINING_COLORINGS, TableSampler
from clipgnn.coloring.schemes import Scheme
from clipgnn.errors import TooManyColoringsError
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.pointers import pointers_from_index
from clipgnn.shapes import Colorings

_CHUNK = 65_536
"""Number of colorings that are compared at the same time."""


class Orbits(Scheme):
    """∞-CLIP, computed on one coloring of each class of colorings under automorphisms.

    Two colorings that an automorphism maps to each other give the same colored graph, and so the
    same outputs. The maximum over the classes is that over all colorings. The number of classes is
    that of all colorings divided by the number of automorphisms, because none but the identity
    keeps a coloring.
    """

    name = "orbits"

    @override
    def stream(
        self,
        graphs: ExactBatch,
        partition: Partition,
        k: int,
        generator: torch.Generator | None,
    ) -> "NumberedColorings":
        return NumberedColorings.of(graphs, partition)

    @override
    def check_packages(self, graphs: PackedGraphs) -> None:
        if not has_igraph():
            labeling.automorphism_generators(graphs[:1].to_batch())

    @override
    def sampler(self, graphs: PackedGraphs, partition: Partition) -> TableSampler:
        numbered = NumberedColorings.of(graphs.to_batch(), partition)
        largest = numbered.max_count
        if largest > MAX_TRAINING_COLORINGS:
            raise TooManyColoringsError(
                f"A graph must have at most {MAX_TRAINING_COLORINGS:,} classes of colorings to be "
                f'trained on with coloring="orbits". Graph {int(numbered.counts.argmax())} has '
                f'{largest:,}. Use coloring="canonical" or "random".'
            )
        return TableSampler(numbered.all(), fixed=True)


@dataclass(frozen=True)
class NumberedColorings:
    """Some of the colorings of each graph, by their numbers among all; see `ColoringStream`.

    Attributes:
        partition: the groups.
        numbers: numbers of the colorings of all graphs, concatenated.
        counts: number of colorings of each graph.
    """

    partition: Partition
    numbers: Tensor
    counts: Tensor

    @classmethod
    def of(cls, graphs: ExactBatch, partition: Partition) -> "NumberedColorings":
        """One coloring of each class under automorphisms.

        Raises:
            TooManyColoringsError: if a graph has too many colorings to enumerate, or its
                automorphisms are not found in time.
            MissingDependencyError: if igraph is not installed.
        """
        trained = f"in training at most {MAX_TRAINING_COLORINGS:,} classes of them"
        purpose = f'for coloring="orbits" ({trained})'
        totals = enumerable_counts(partition, purpose=purpose).tolist()
        first = pointers_from_index(partition.graph_of_node, partition.num_graphs).tolist()
        numbers = []
        for number, generators in enumerate(labeling.automorphism_generators(graphs)):
            if generators is None:
                raise TooManyColoringsError(
                    'coloring="orbits" requires the automorphisms of a graph. Those of graph '
                    f"{number} were not found within {labeling.TIME_LIMIT:g} s. Use "
                    'coloring="individualized".'
                )
            groups = partition.groups[first[number] : first[number + 1]]
            numbers.append(_representatives(groups, totals[number], generators))
        counts = torch.tensor([own.numel() for own in numbers], device=partition.groups.device)
        return cls(partition, torch.cat(numbers), counts)

    @property
    def max_count(self) -> int:
        """Largest of the counts."""
        return int(self.counts.max())

    def all(self) -> Colorings:
        """All colorings; graphs with fewer than `max_count` repeat theirs."""
        return self.part(torch.ones_like(self.counts, dtype=torch.bool), 0, self.max_count)

    def part(self, graphs: Tensor, start: int, stop: int) -> Colorings:
        """Colorings start..stop-1 of the nodes of these graphs."""
        return self._colorings(torch.arange(start, stop, device=graphs.device)[:, None], graphs)

    def sample(self, size: int, generator: torch.Generator | None) -> Colorings:
        """`size` random colorings of every graph, with replacement."""
        device = self.counts.device if generator is None else generator.device
        shape = (size, self.counts.numel())
        drawn = torch.randint(2**62, shape, generator=generator, device=device)
        drawn = drawn.to(self.counts.device)
        return self._colorings(drawn, torch.ones_like(self.counts, dtype=torch.bool))

    def _colorings(self, positions: Tensor, graphs: Tensor) -> Colorings:
        first = self.counts.cumsum(0) - self.counts
        numbers = self.numbers[first[graphs] + positions % self.counts[graphs]]
        return colorings_by_number(self.partition.subset(graphs), numbers)


def _representatives(groups: Tensor, total: int, generators: list[list[int]]) -> Tensor:
    """Numbers of one coloring of a graph of each class under the group of the generators.

    The chain of stabilizers of a base b₁, b₂, … has an orbit for each of its nodes. A coloring is
    chosen if each bᵢ has the smallest color of its orbit. Nodes of an orbit have identical
    attributes and so distinct colors: each class has exactly one such coloring.
    """
    numbers = torch.arange(total, device=groups.device)
    smaller, larger = _constraints(generators)
    if not smaller:
        return numbers
    alone = Partition.of(groups)
    kept = []
    for chunk in numbers.split(_CHUNK):
        colors = colorings_by_number(alone, chunk[:, None])
        kept.append(chunk[(colors[:, smaller] < colors[:, larger]).all(1)])
    return torch.cat(kept)


def _constraints(generators: list[list[int]]) -> tuple[list[int], list[int]]:
    """Pairs of a node of the base and another node of its orbit."""
    moving = [own for own in generators if own != sorted(own)]
    if not moving:
        return [], []
    from sympy.combinatorics import Permutation, PermutationGroup

    group = PermutationGroup([Permutation(own) for own in moving])
    pairs = [
        (base, node)
        for base, orbit in zip(group.base, group.basic_orbits, strict=True)
        for node in orbit
        if node != base
    ]
    smaller, larger = np.array(pairs).T.tolist()
    return smaller, larger
