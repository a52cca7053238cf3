"""Random coloring schemes: the scheme of the paper, and permutations of all nodes."""

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import pad
from typing_extensions import override

from clipgnn.coloring.groups import Partition
from clipgnn.coloring.sample import sample_from_partition
from clipgnn.coloring.schemes import Sampler, Scheme
from clipgnn.coloring.stream import InMemoryColorings
from clipgnn.graphs.capacity import FixedBatch
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.ranks import hashed_ranks
from clipgnn.shapes import Colorings


class Random(Scheme):
    """k random colorings: nodes with identical attributes get distinct colors, Eq. (4)."""

    name = "random"
    reads_edge_values = False
    any_number = True

    @override
    def stream(
        self,
        graphs: ExactBatch,
        partition: Partition,
        k: int,
        generator: torch.Generator | None,
    ) -> InMemoryColorings:
        drawn = sample_from_partition(partition, k, generator)
        return InMemoryColorings(drawn, partition.graph_of_node, partition.num_graphs)

    @override
    def sampler(self, graphs: PackedGraphs, partition: Partition) -> "HashedSampler":
        if partition.first_colors is None:
            return HashedSampler()
        return HashedSampler(partition.first_colors[partition.groups])


class Permutations(Random):
    """k random permutations of all nodes of a graph, regardless of their attributes."""

    name = "permutations"

    @override
    def groups(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return torch.zeros_like(batch)


class HashedSampler(Sampler):
    """Sampler that hashes colorings from the seed of each member and a counter.

    Colorings are uniform and independent. Unlike `sample_colorings`, they are drawn with
    replacement: a coloring can occur twice. That is rare in groups of more than a few nodes, and a
    repetition does not change a maximum.

    Args:
        first_colors: smallest color of the group of each node of the data set; None if it is 0.
    """

    def __init__(self, first_colors: Tensor | None = None) -> None:
        # An additional entry is the padding node.
        self.first_colors = None if first_colors is None else pad(first_colors, (0, 1))

    @override
    def num_colorings(self, k: int) -> int:
        return k

    @override
    def sample(
        self,
        batch: FixedBatch,
        k: int,
        seeds: Int[Tensor, "members"],
        counter: Int[Tensor, ""],
    ) -> Colorings:
        ranks = hashed_ranks(
            seeds, counter, k, batch.same_group, batch.node_ids, batch.largest_group
        )
        return ranks if self.first_colors is None else ranks + self.first_colors[batch.node_ids]
