"""One coloring of each class of colorings under the automorphisms of a graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from clipgnn.coloring import labeling
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
    def prepare(self, graphs: PackedGraphs, k: int) -> None:
        _automorphisms(graphs.to_batch(), self.partition_of(graphs))

    @override
    def check_training(self, graphs: PackedGraphs) -> None:
        _trainable_classes(graphs, self.partition_of(graphs))

    @override
    def sampler(self, graphs: PackedGraphs, partition: Partition) -> TableSampler:
        classes = _trainable_classes(graphs, partition)
        return TableSampler(NumberedColorings.of_classes(partition, classes).all(), fixed=True)


@dataclass(frozen=True)
class _Classes:
    """The classes of colorings of one graph under its automorphisms.

    Attributes:
        total: number of colorings.
        count: number of classes.
        smaller: nodes of a base of the automorphism group, one for each entry of `larger`.
        larger: nodes that must have a larger color.
    """

    total: int
    count: int
    smaller: list[int]
    larger: list[int]


def _automorphisms(graphs: ExactBatch, partition: Partition) -> list[tuple[int, list[list[int]]]]:
    """Number of colorings of each graph, and generators of its automorphisms.

    Raises:
        TooManyColoringsError: if a graph has too many colorings to enumerate, or its automorphisms
            are not found in time.
        MissingDependencyError: if igraph is not installed.
    """
    trained = f"in training at most {MAX_TRAINING_COLORINGS:,} classes of them"
    totals = enumerable_counts(partition, purpose=f'for coloring="orbits" ({trained})').tolist()
    found = []
    for number, generators in enumerate(labeling.automorphism_generators(graphs)):
        if generators is None:
            raise TooManyColoringsError(
                'coloring="orbits" requires the automorphisms of a graph. Those of graph '
                f"{number} were not found within {labeling.TIME_LIMIT:g} s. Use "
                'coloring="individualized".'
            )
        found.append((totals[number], generators))
    return found


def _classes(graphs: ExactBatch, partition: Partition) -> list[_Classes]:
    """Describe the classes of each graph; errors are those of `_automorphisms`."""
    return [
        _classes_under(generators, total) for total, generators in _automorphisms(graphs, partition)
    ]


def _trainable_classes(graphs: PackedGraphs, partition: Partition) -> list[_Classes]:
    """Describe the classes of each graph, if a network can be trained with all of them.

    Raises:
        TooManyColoringsError: if a graph has too many.
        MissingDependencyError: if igraph is not installed.
    """
    classes = _classes(graphs.to_batch(), partition)
    counts = [own.count for own in classes]
    if max(counts) > MAX_TRAINING_COLORINGS:
        raise TooManyColoringsError(
            f"A graph must have at most {MAX_TRAINING_COLORINGS:,} classes of colorings to be "
            f'trained on with coloring="orbits". Graph {counts.index(max(counts))} has '
            f'{max(counts):,}. Use coloring="canonical" or "random".'
        )
    return classes


def _classes_under(generators: list[list[int]], total: int) -> _Classes:
    """The classes under the group of the generators.

    The chain of stabilizers of a base b₁, b₂, … has an orbit for each of its nodes. A coloring is
    chosen if each bᵢ has the smallest color of its orbit. Nodes of an orbit have identical
    attributes and so distinct colors: each class has exactly one such coloring.
    """
    moving = [own for own in generators if own != sorted(own)]
    if not moving:
        return _Classes(total, total, [], [])
    from sympy.combinatorics import Permutation, PermutationGroup

    group = PermutationGroup([Permutation(own) for own in moving])
    pairs = [
        (base, node)
        for base, orbit in zip(group.base, group.basic_orbits, strict=True)
        for node in orbit
        if node != base
    ]
    smaller, larger = np.array(pairs).T.tolist()
    return _Classes(total, total // int(group.order()), smaller, larger)


@dataclass(frozen=True)
class NumberedColorings:
    """One coloring of each class of each graph; see `ColoringStream`.

    Attributes:
        partition: the groups.
        numbers: numbers of the colorings of all graphs that do not use all of theirs, concatenated.
        first: place of the first number of each graph; -1 if it uses all colorings.
        counts: number of colorings of each graph.
    """

    partition: Partition
    numbers: Tensor
    first: Tensor
    counts: Tensor

    @classmethod
    def of(cls, graphs: ExactBatch, partition: Partition) -> "NumberedColorings":
        """One coloring of each class under automorphisms.

        Raises:
            TooManyColoringsError: if a graph has too many colorings to enumerate, or its
                automorphisms are not found in time.
            MissingDependencyError: if igraph is not installed.
        """
        return cls.of_classes(partition, _classes(graphs, partition))

    @classmethod
    def of_classes(cls, partition: Partition, classes: Sequence[_Classes]) -> "NumberedColorings":
        """One coloring of each of the classes of each graph."""
        device = partition.groups.device
        nodes = pointers_from_index(partition.graph_of_node, partition.num_graphs).tolist()
        numbers = [torch.zeros(0, dtype=torch.int32, device=device)]
        first, place = [], 0
        for number, own in enumerate(classes):
            first.append(place if own.smaller else -1)
            if own.smaller:
                groups = partition.groups[nodes[number] : nodes[number + 1]]
                numbers.append(_representatives(groups, own))
                place += own.count
        return cls(
            partition,
            torch.cat(numbers),
            torch.tensor(first, device=device),
            torch.tensor([own.count for own in classes], device=device),
        )

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
        numbers = positions % self.counts[graphs]  # [colorings, graphs]
        first = self.first[graphs]
        chosen = first >= 0
        numbers[:, chosen] = self.numbers[first[chosen] + numbers[:, chosen]].long()
        return colorings_by_number(self.partition.subset(graphs), numbers)


def _representatives(groups: Tensor, classes: _Classes) -> Tensor:
    """Numbers of one coloring of each class, of a graph that does not use all colorings."""
    alone = Partition.of(groups)
    kept = []
    for chunk in torch.arange(classes.total, device=groups.device).split(_CHUNK):
        colors = colorings_by_number(alone, chunk[:, None])
        kept.append(chunk[(colors[:, classes.smaller] < colors[:, classes.larger]).all(1)].int())
    return torch.cat(kept)
