"""Schemes with precomputed colorings: all colorings, or those stored with a data set."""

import torch
from jaxtyping import Int
from torch import Tensor
from typing_extensions import override

from clipgnn.coloring.enumerate import colorings_by_number, enumerable_counts
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.schemes import Sampler, Scheme
from clipgnn.coloring.stream import AllColorings, InMemoryColorings
from clipgnn.errors import InvalidColoringError
from clipgnn.graphs.capacity import FixedBatch
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.shapes import Colorings

MAX_TRAINING_COLORINGS = 1024
"""Largest number of colorings of a graph for training with all of them in every step."""


class All(Scheme):
    """Every coloring: ∞-CLIP, which is deterministic.

    Training requires that no graph has more than `MAX_TRAINING_COLORINGS` colorings. Graphs with
    fewer colorings than the largest number repeat theirs, which does not change a maximum.
    """

    name = "all"
    reads_edge_values = False

    @override
    def stream(
        self,
        graphs: ExactBatch,
        partition: Partition,
        k: int,
        generator: torch.Generator | None,
    ) -> AllColorings:
        return AllColorings(partition)

    @override
    def prepare(self, graphs: PackedGraphs, k: int) -> None:
        enumerable_counts(self.partition_of(graphs))

    @override
    def check_training(self, graphs: PackedGraphs) -> None:
        _trainable_counts(self.partition_of(graphs))

    @override
    def sampler(self, graphs: PackedGraphs, partition: Partition) -> "TableSampler":
        counts = _trainable_counts(partition)
        numbers = torch.arange(int(counts.max()), device=counts.device)[:, None] % counts
        return TableSampler(colorings_by_number(partition, numbers), fixed=True)


def _trainable_counts(partition: Partition) -> Tensor:
    purpose = 'to be trained on with coloring="all"'
    return enumerable_counts(partition, MAX_TRAINING_COLORINGS, purpose)


class Precomputed(Scheme):
    """The first k colorings that are stored with a data set (`PackedGraphs.colorings`), or all.

    Training and `predict` read them from the data set. Pass them to `forward` as `colorings`.
    """

    name = "precomputed"
    reads_edge_values = False

    @override
    def stream(
        self,
        graphs: ExactBatch,
        partition: Partition,
        k: int,
        generator: torch.Generator | None,
    ) -> InMemoryColorings:
        raise InvalidColoringError(
            'coloring="precomputed" uses colorings that are stored, and computes none. Choose '
            'another scheme to compute them, such as "random". Calls of a network with this one '
            "must have the argument colorings, an int64 tensor [colorings, nodes]; predict reads "
            "them from its graphs."
        )

    @override
    def sampler(self, graphs: PackedGraphs, partition: Partition) -> "TableSampler":
        return TableSampler(_stored(graphs), fixed=False)

    @override
    def prepare(self, graphs: PackedGraphs, k: int) -> Colorings:
        return _stored(graphs)[:k]

    @override
    def check_training(self, graphs: PackedGraphs) -> None:
        _stored(graphs)

    @override
    def num_colors(self, graphs: PackedGraphs, partition: Partition) -> int:
        return int(_stored(graphs).max()) + 1


def _stored(graphs: PackedGraphs) -> Colorings:
    if graphs.colorings is None:
        raise InvalidColoringError(
            'coloring="precomputed" needs colorings that are stored with the data set. Got '
            f"{graphs.name!r} without colorings. Store them with clipgnn.coloring.with_colorings, "
            "or use a model with another coloring scheme."
        )
    return graphs.colorings


class TableSampler(Sampler):
    """Sampler that looks up colorings in a table of the whole data set.

    Args:
        table: `[colorings, nodes]`.
        fixed: whether all colorings are used, regardless of the requested number.
    """

    def __init__(self, table: Colorings, *, fixed: bool) -> None:
        self.fixed = fixed
        self.available = table.shape[0]
        # An additional column of color 0 is the padding node.
        self.table = torch.nn.functional.pad(table, (0, 1))

    @override
    def num_colorings(self, k: int) -> int:
        return self.available if self.fixed else min(k, self.available)

    @override
    def sample(
        self,
        batch: FixedBatch,
        k: int,
        seeds: Int[Tensor, "members"],
        counter: Int[Tensor, ""],
    ) -> Colorings:
        return self.table[: self.num_colorings(k)][:, batch.node_ids]
