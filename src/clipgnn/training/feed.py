"""Where graphs come from: the batches of every epoch, and the graphs that are evaluated."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from clipgnn.graphs.assembly import Capacity
from clipgnn.graphs.seeds import as_signed
from clipgnn.ops.hashing import hashed_integers
from clipgnn.parameters import Recipe
from clipgnn.training.windows import Portion, Window, cut_by_nodes, num_steps, padded_rows

MAX_KEPT_ORDERS = 2**23
"""Largest number of graphs in the orders of all members that are computed at the same time."""


@dataclass(frozen=True)
class EvaluatedGraphs:
    """The graphs that are evaluated after every epoch.

    Attributes:
        window: the graphs.
        chosen: graphs of each member in each part of the splits that has any, `[members, graphs]`,
            with padding.
        counts: number of graphs of each member in each part.
    """

    window: Window
    chosen: Mapping[str, Tensor]
    counts: Mapping[str, list[int]]


class Feed(ABC):
    """The batches of training graphs in every epoch.

    Attributes:
        fixed_capacity: whether all batches have one capacity, so that a step can be recorded.
    """

    fixed_capacity: bool = False

    @abstractmethod
    def first(self) -> Portion:
        """The first portion of the first epoch."""

    @abstractmethod
    def portions(self, epoch: int, first: int = 0) -> Iterator[Portion]:
        """The portions of an epoch, from the one with number `first`."""

    def capacity(self) -> Capacity:
        """Capacity of all batches, if it is fixed."""
        return Capacity(0, 0)


class Resident(Feed):
    """Training graphs that are all on the device: one portion in every epoch.

    Args:
        window: the graphs.
        recipe: the training recipe.
        train: training graphs of each member.
        seeds: the seed of each member.
        device: device of the training.
    """

    def __init__(
        self,
        window: Window,
        recipe: Recipe,
        train: Sequence[Tensor],
        seeds: Sequence[int],
        device: torch.device,
    ) -> None:
        self.window, self.recipe = window, recipe
        self.seeds = torch.tensor([as_signed(seed) for seed in seeds], device=device)
        self.train_graphs = padded_rows(train, window.padding).to(device)
        self.steps = num_steps(train[0].numel(), recipe.batch_size)
        self.fixed_capacity = device.type == "cuda"
        self._epochs = range(0)
        self._orders = torch.empty(0)
        self._least_width, self._least_steps = 0, 0
        self._capacity = Capacity(0, 0)
        if self.fixed_capacity:
            self._measure()

    @override
    def first(self) -> Portion:
        return self._portion(0)

    @override
    def portions(self, epoch: int, first: int = 0) -> Iterator[Portion]:
        if first == 0:
            yield self._portion(epoch)

    @override
    def capacity(self) -> Capacity:
        return self._capacity

    def _portion(self, epoch: int) -> Portion:
        order = self._order(epoch)
        if self.recipe.max_nodes is None:
            return Portion(self.window, order, self.steps)
        graphs = order[0]
        counts = self.window.assembler.node_count[graphs]
        cut, steps = cut_by_nodes(graphs, counts, self.recipe.max_nodes, self.window.padding)
        # A recorded step has one width.
        wide = functional.pad(
            cut.view(steps, -1),
            (0, max(0, self._least_width - cut.numel() // steps)),
            value=self.window.padding,
        )
        return Portion(self.window, wide.view(1, -1), steps)

    def _order(self, epoch: int) -> Tensor:
        """Order of the graphs of each member in an epoch; those of many epochs are kept."""
        if epoch not in self._epochs:
            count = max(1, MAX_KEPT_ORDERS // self.train_graphs.numel())
            self._epochs = range(epoch, max(epoch + 1, min(epoch + count, self.recipe.epochs)))
            self._orders = self._shuffled(self._epochs)
        return self._orders[epoch - self._epochs.start]

    def _shuffled(self, epochs: range) -> Tensor:
        """Shuffle the graphs of each member by its seed, and pad the last batch.

        Returns:
            `[epochs, members, steps * batch_size]`, or `[epochs, members, graphs]` for batches by
            number of nodes.
        """
        members, graphs = self.train_graphs.shape
        counters = torch.tensor([-1 - epoch for epoch in epochs], device=self.seeds.device)
        # [1, epochs * members, graphs] -> [epochs, members, graphs]
        keys = hashed_integers(
            self.seeds.repeat(len(epochs)), counters.repeat_interleave(members), 1, graphs
        ).view(len(epochs), members, graphs)
        padding = self.window.padding
        keys = (keys & (2**62 - 1)).masked_fill(self.train_graphs == padding, 2**62)
        order = self.train_graphs.expand_as(keys).gather(2, torch.argsort(keys, dim=2))
        if self.recipe.max_nodes is not None:
            return order
        length = self.steps * self.recipe.batch_size
        return functional.pad(order, (0, max(0, length - graphs)), value=padding)[:, :, :length]

    def _measure(self) -> None:
        """Find the capacity for the largest batch of the whole training, for fixed shapes."""
        assembler = self.window.assembler
        counts = torch.stack([assembler.node_count, assembler.edge_count])
        largest = torch.zeros(2, dtype=torch.int64, device=counts.device)
        epoch = 0
        while epoch < self.recipe.epochs:
            portion = self._portion(epoch)
            orders, last = portion.order[None], epoch + 1
            if self.recipe.max_nodes is None:
                orders, last = self._orders, self._epochs.stop
            # [epochs, members, steps, width]
            batches = orders.reshape(len(orders), len(self.seeds), portion.steps, -1)
            largest = torch.maximum(largest, counts[:, batches].sum(4).flatten(1).amax(1))
            self._least_width = max(self._least_width, portion.width)
            self._least_steps = max(self._least_steps, portion.steps)
            epoch = last
        self._capacity = Capacity(*largest.tolist()).rounded_up(32)
