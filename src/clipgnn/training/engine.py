"""A training step and an evaluation of many members, as tensor programs on one device.

There is no synchronization with the device, so that a GPU can record a step and replay it. All
randomness (order of graphs, colorings) is hashed from the seed of a member and a counter: it does
not depend on the device or on the other members.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.graphs.assembly import Assembler, Capacity
from clipgnn.graphs.capacity import FixedBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import as_signed
from clipgnn.nn.network import Network
from clipgnn.ops.hashing import hashed_integers
from clipgnn.parameters import Recipe
from clipgnn.training.adam import Adam
from clipgnn.training.losses import BatchLoss, Loss
from clipgnn.training.metrics import METRIC_FUNCTIONS
from clipgnn.training.splits import EVALUATED, Split

MAX_EVALUATED_ROWS = 2**14
"""Largest number of rows (`Network.cost_of_graph`) that a member evaluates at the same time. With
64 channels they are 4 MB, which fit in the cache of a CPU; 2**18 rows took 1.3 to 1.5 times as
long."""


MAX_KEPT_ORDERS = 2**23
"""Largest number of graphs in the orders of all members that are computed at the same time."""


@dataclass(frozen=True)
class Evaluated:
    """Scores and outputs of the members.

    Attributes:
        scores: `[members]`.
        outputs: `[members, graphs, out_channels]`; any value for padding.
    """

    scores: Tensor
    outputs: Tensor


@dataclass(frozen=True)
class EvaluationBatch:
    """Graphs of each member that are evaluated at the same time.

    Attributes:
        chosen: `[members, graphs]`, indices of graphs.
        capacity: capacity of the batch.
    """

    chosen: Tensor
    capacity: Capacity


class Engine:
    """Training of members of one configuration with the same number of steps in an epoch.

    Args:
        graphs: the data set.
        network: the network to train, with a member for each split.
        recipe: the training recipe.
        splits: the graphs of each member.
        seeds: the seed of each member.
        device: device of the training.

    Attributes:
        encoding: how named attributes of the graphs were encoded, or None.
        evaluated: the batches of each part of the splits that has graphs to evaluate, by name.
        counts: the number of graphs of each member in each part.

    Raises:
        InvalidColoringError: if the network has too few colors.
        InvalidParameterError: if the class weights do not match the targets.
    """

    def __init__(
        self,
        graphs: PackedGraphs,
        network: Network,
        recipe: Recipe,
        splits: Sequence[Split],
        seeds: Sequence[int],
        device: torch.device,
    ) -> None:
        graphs = graphs.to(device)
        self.recipe = recipe
        self.encoding = graphs.encoding
        self.device = device
        self.network = network.to(device)
        network.check_channels(graphs)
        loss = Loss(recipe, graphs, [split.train for split in splits])
        self.loss_function: Callable[[Tensor, Tensor, Tensor], BatchLoss] = loss
        self.metric = METRIC_FUNCTIONS[recipe.score]
        partition = network.scheme.partition(graphs.to_batch())
        if network.num_colorings_for(training=True):
            self.sampler = network.scheme.sampler(graphs, partition)
            network.check_num_colors(network.scheme.num_colors(graphs, partition))
        self.assembler = Assembler(graphs, partition.local_groups, network.prepare(graphs))
        self.mean_nodes = graphs.x.shape[0] / len(graphs)
        targets = loss.targets
        self.y = torch.cat([targets, targets[:1]])  # with an additional row for padding
        self.seeds = torch.tensor([as_signed(seed) for seed in seeds], device=device)
        self.train_graphs = self._padded([split.train for split in splits])
        self.steps = num_steps(splits[0], recipe.batch_size)
        self.order = torch.empty(0)
        self._epochs = range(0)
        self._orders = torch.empty(0)
        self.step_number = torch.zeros((), dtype=torch.int64, device=device)
        self.epoch_number = torch.zeros((), dtype=torch.int64, device=device)
        self.loss_sum = torch.zeros(len(splits), device=device)
        self.loss_weight = torch.zeros_like(self.loss_sum)
        self.capacity = self._largest_capacity()
        self.shuffle(0)
        chosen = {name: [getattr(split, name) for split in splits] for name in EVALUATED}
        self.evaluated = {
            name: self._batches(self._padded(graphs))
            for name, graphs in chosen.items()
            if any(own.numel() for own in graphs)
        }
        self.counts = {name: [own.numel() for own in graphs] for name, graphs in chosen.items()}
        self.has_validation = torch.tensor(self.counts["validation"], device=device) > 0
        for bias in self.network.redundant_biases():
            bias.requires_grad_(False)
        trained = [own for own in self.network.parameters() if own.requires_grad]
        self.optimizer = Adam(trained, recipe.learning_rate)

    @property
    def num_members(self) -> int:
        """Number of members."""
        return self.seeds.numel()

    def work(self) -> float:
        """Estimate how many numbers the whole training computes in one layer."""
        weights = sum(parameter[0].numel() for parameter in self.network.parameters())
        rows = self.num_members * self.recipe.batch_size * self._cost_of_graph(training=True)
        return float(rows) * math.sqrt(weights) * self.steps * self.recipe.epochs

    def shuffle(self, epoch: int) -> None:
        """Shuffle the training graphs for an epoch."""
        order = self._order(epoch)
        if self.order.shape == order.shape:
            self.order.copy_(order)
        else:
            self.order = order.clone()
        self.step_number.zero_()
        self.epoch_number.fill_(epoch)
        self.loss_sum.zero_()
        self.loss_weight.zero_()

    def set_rate(self, epoch: int) -> None:
        """Set the learning rate of an epoch."""
        self.optimizer.set_rate(self.recipe.rate(epoch))

    def has_kernels(self) -> bool:
        """Whether steps use the fused GPU kernels of the network, and need no compilation."""
        chosen = self.order[:, : self.recipe.batch_size]
        return self.network.has_kernels(self.assembler.batch(chosen, self.capacity))

    def loss(self) -> BatchLoss:
        """Compute the loss of each member on its next batch."""
        position = torch.arange(self.recipe.batch_size, device=self.device)
        chosen = self.order.index_select(1, self.step_number * self.recipe.batch_size + position)
        if self.device.type == "cuda":
            batch = self.assembler.batch(chosen, self.capacity)
        else:
            chosen = chosen[:, : int((chosen != self.assembler.padding).sum(1).max())]
            capacity = self.assembler.capacity_for(chosen)
            # A single row has no variance: BatchNorm raises an error without a mask only.
            rows = capacity if self.assembler.has_edge_rows else capacity[:1]
            padded = self.num_members > 1 or min(rows) < 2
            batch = self.assembler.batch(chosen, capacity, padded=padded)
        counter = (self.epoch_number * 2 << 32) + self.step_number
        mask = chosen != self.assembler.padding
        return self.loss_function(self._outputs(batch, counter), self.y[chosen], mask)

    def step(self, loss: BatchLoss) -> None:
        """Update the weights with the gradient of a loss."""
        self.optimizer.zero_grad()
        loss.mean.sum().backward()
        self.optimizer.step()
        self.loss_sum += loss.mean.detach() * loss.weight
        self.loss_weight += loss.weight
        self.step_number += 1

    def train_loss(self) -> Tensor:
        """Mean loss over the known targets of the epoch so far, `[members]`."""
        return self.loss_sum / self.loss_weight

    @torch.no_grad()
    def evaluate(self, part: str) -> Evaluated:
        """Compute the score of each member on its graphs in a part of the splits.

        The score is NaN if an output is not finite or no target is known.
        """
        outputs = []
        for number, own in enumerate(self.evaluated[part]):
            padded = self.num_members > 1 or self.device.type == "cuda"
            batch = self.assembler.batch(own.chosen, own.capacity, padded=padded)
            counter = ((self.epoch_number * 2 + 1) << 32) + number
            outputs.append(self._outputs(batch, counter))
        chosen = torch.cat([own.chosen for own in self.evaluated[part]], dim=1)
        all_outputs = torch.cat(outputs, dim=1)
        # Sums of many numbers need at least single precision.
        precise = all_outputs.to(torch.promote_types(all_outputs.dtype, torch.float32))
        mask = chosen != self.assembler.padding
        return Evaluated(self.metric(precise, self.y[chosen], mask), all_outputs)

    def _outputs(self, batch: FixedBatch, counter: Tensor) -> Tensor:
        k = self.network.num_colorings_for(training=self.network.training)
        colorings = self.sampler.sample(batch, k, self.seeds, counter) if k else None
        return self.network.forward_batch(batch, colorings)

    def _cost_of_graph(self, *, training: bool) -> float:
        k = self.network.num_colorings_for(training=training)
        colorings = self.sampler.num_colorings(k) if k else 0
        largest = self.assembler.max_graph_nodes
        return self.network.cost_of_graph(self.mean_nodes, largest, colorings)

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
            `[epochs, members, steps * batch_size]`.
        """
        members, graphs = self.train_graphs.shape
        counters = torch.tensor([-1 - epoch for epoch in epochs], device=self.device)
        # [1, epochs * members, graphs] -> [epochs, members, graphs]
        keys = hashed_integers(
            self.seeds.repeat(len(epochs)), counters.repeat_interleave(members), 1, graphs
        ).view(len(epochs), members, graphs)
        keys = (keys & (2**62 - 1)).masked_fill(self.train_graphs == self.assembler.padding, 2**62)
        order = self.train_graphs.expand_as(keys).gather(2, torch.argsort(keys, dim=2))
        length = self.steps * self.recipe.batch_size
        missing = max(0, length - graphs)
        return functional.pad(order, (0, missing), value=self.assembler.padding)[:, :, :length]

    def _largest_capacity(self) -> Capacity:
        """Capacity for the largest batch of the whole training, for fixed shapes on a GPU."""
        if self.device.type != "cuda":
            return Capacity(0, 0)
        largest = torch.zeros(2, dtype=torch.int64, device=self.device)
        counts = torch.stack([self.assembler.node_count, self.assembler.edge_count])
        epoch = 0
        while epoch < self.recipe.epochs:
            self._order(epoch)
            # [epochs, members, steps, batch_size]
            batches = self._orders.reshape(len(self._epochs), self.num_members, self.steps, -1)
            largest = torch.maximum(largest, counts[:, batches].sum(4).flatten(1).amax(1))
            epoch = self._epochs.stop
        return Capacity(*largest.tolist()).rounded_up(32)

    def _padded(self, sets: list[Tensor]) -> Tensor:
        length = max(numbers.numel() for numbers in sets)
        padding = self.assembler.padding
        rows = [functional.pad(row, (0, length - row.numel()), value=padding) for row in sets]
        return torch.stack(rows).to(self.device)

    def _batches(self, graphs: Tensor) -> list[EvaluationBatch]:
        """Split graphs `[members, graphs]` into batches that fit in memory."""
        # The size must not depend on the number of members, because colorings are hashed from the
        # number of the batch and the position in it.
        at_once = max(1, int(MAX_EVALUATED_ROWS / self._cost_of_graph(training=False)))
        return [
            EvaluationBatch(own.contiguous(), self.assembler.capacity_for(own))
            for own in graphs.split(at_once, dim=1)
        ]


def num_steps(split: Split, batch_size: int) -> int:
    """Number of steps of an epoch, without a last batch of one graph (no batch statistics)."""
    full, rest = divmod(split.train.numel(), batch_size)
    return full + (rest > 1)
