"""A training step and an evaluation of many members, as tensor programs on one device.

There is no synchronization with the device, so that a GPU can record a step and replay it. All
randomness (order of graphs, colorings) is hashed from the seed of a member and a counter: it does
not depend on the device or on the other members.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.graphs.assembly import Capacity
from clipgnn.graphs.capacity import FixedBatch
from clipgnn.graphs.encoding import AttributeEncoding
from clipgnn.graphs.seeds import as_signed
from clipgnn.nn.dropout import Dropout
from clipgnn.nn.network import Network
from clipgnn.nn.norm import norms_of, share_statistics
from clipgnn.parameters import Recipe
from clipgnn.training.adam import Adam
from clipgnn.training.feed import EvaluatedGraphs, Feed
from clipgnn.training.losses import BatchLoss, Loss
from clipgnn.training.metrics import METRIC_FUNCTIONS
from clipgnn.training.windows import Portion, Window
from clipgnn.training.workers import ALONE, Workers

MAX_EVALUATED_ROWS = 2**14
"""Largest number of rows (`Network.cost_of_graph`) that a member evaluates at the same time. With
64 channels they are 4 MB, which fit in the cache of a CPU; 2**18 rows took 1.3 to 1.5 times as
long."""


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


def tensors_of(network: Network) -> dict[str, Tensor]:
    """All weights and buffers, including those that are not saved with a model."""
    return dict([*network.named_parameters(), *network.named_buffers()])


class Engine:
    """Training of members of one configuration with the same number of steps in an epoch.

    Args:
        feed: the training graphs.
        evaluated: the graphs that are evaluated after every epoch.
        network: the network to train, with a member for each split.
        recipe: the training recipe.
        loss: the loss.
        seeds: the seed of each member.
        device: device of the training.
        encoding: how named attributes of the graphs were encoded, or None.
        workers: the processes that train together.

    Attributes:
        evaluated: the batches of each part of the splits that has graphs to evaluate, by name.
        counts: the number of graphs of each member in each part.
        window: the graphs of the current portion.
        steps: number of steps of the current portion.
    """

    def __init__(
        self,
        feed: Feed,
        evaluated: EvaluatedGraphs,
        network: Network,
        recipe: Recipe,
        loss: Loss,
        seeds: Sequence[int],
        device: torch.device,
        encoding: AttributeEncoding | None = None,
        workers: Workers = ALONE,
    ) -> None:
        self.feed = feed
        self.encoding = encoding
        self.recipe = recipe
        self.device = device
        self.workers = workers
        self.network = network.to(device)
        for dropout in (own for own in network.modules() if isinstance(own, Dropout)):
            dropout.process = workers.rank
        share_statistics(network, workers.gather if workers.synchronized else None)
        self.loss_function: Callable[[Tensor, Tensor, Tensor], BatchLoss] = loss
        self.metric = METRIC_FUNCTIONS[recipe.score]
        self.seeds = torch.tensor([as_signed(seed) for seed in seeds], device=device)
        self.order = torch.empty(0, 0, dtype=torch.int64, device=device)
        self.width = 0
        self.steps = 0
        self.step_number = torch.zeros((), dtype=torch.int64, device=device)
        self.batch_number = torch.zeros_like(self.step_number)
        self.epoch_number = torch.zeros_like(self.step_number)
        self.loss_sum = torch.zeros(len(seeds), device=device)
        self.loss_weight = torch.zeros_like(self.loss_sum)
        self._shared_loss = torch.zeros(2, len(seeds), device=device)
        first = feed.first()
        self.window = first.window
        self.capacity = feed.capacity()
        self.use(first)
        self._evaluation = evaluated.window
        self.counts = evaluated.counts
        self.evaluated = {
            name: self._batches(evaluated.window, chosen)
            for name, chosen in evaluated.chosen.items()
        }
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
        rows = self.num_members * self.width * self._cost_of_graph(self.window, training=True)
        return float(rows) * math.sqrt(weights) * self.steps * self.recipe.epochs

    def begin(self, epoch: int) -> None:
        """Set the learning rate of an epoch, and begin to count its steps."""
        self.optimizer.set_rate(self.recipe.rate(epoch))
        self.step_number.zero_()
        self.epoch_number.fill_(epoch)
        self.loss_sum.zero_()
        self.loss_weight.zero_()
        self._shared_loss.zero_()

    def portions(self, epoch: int, first: int = 0) -> Iterator[None]:
        """Use one portion of an epoch after the other, from the one with number `first`."""
        for portion in self.feed.portions(epoch, first):
            self.use(portion)
            yield

    def use(self, portion: Portion) -> None:
        """Take the next batches from a portion."""
        self.window, self.steps, self.width = portion.window, portion.steps, portion.width
        length = portion.order.shape[1]
        if self.order.shape[1] >= length and self.device.type == "cuda":
            self.order[:, :length].copy_(portion.order)  # a recorded step reads this tensor
        else:
            self.order = portion.order.clone()
        self.batch_number.zero_()

    def restart_portion(self) -> None:
        """Continue with the first batch of the current portion, which is the first of an epoch."""
        self.step_number.zero_()
        self.batch_number.zero_()

    def has_kernels(self) -> bool:
        """Whether steps use the fused GPU kernels of the network, and need no compilation."""
        chosen = self.order[:, : self.width]
        return self.network.has_kernels(self.window.assembler.batch(chosen, self.capacity))

    def loss(self) -> BatchLoss:
        """Compute the loss of each member on its next batch."""
        alone = self.workers.alone
        position = torch.arange(self.width, device=self.device)
        chosen = self.order.index_select(1, self.batch_number * self.width + position)
        assembler = self.window.assembler
        missing = self.workers.size - self.width
        if missing > 0:  # a graph of padding for each process without a graph of the batch
            chosen = functional.pad(chosen, (0, missing), value=assembler.padding)
        whole, chosen = chosen, self.workers.own_part(chosen)
        if self.feed.fixed_capacity:
            batch = assembler.batch(chosen, self.capacity)
        else:
            # A process without graphs of a batch still takes part in the sums over processes.
            chosen = chosen[:, : max(1, int((chosen != assembler.padding).sum(1).max()))]
            capacity = assembler.capacity_for(chosen)
            # A single row has no variance: BatchNorm raises an error without a mask only.
            rows = capacity if assembler.has_edge_rows else capacity[:1]
            few = not alone and (chosen.shape[1] < 2 or bool((chosen == assembler.padding).any()))
            padded = self.num_members > 1 or min(rows) < 2 or few
            batch = assembler.batch(chosen, capacity, padded=padded)
        counter = (self.epoch_number * 2 << 32) + self.step_number
        mask = chosen != assembler.padding
        outputs = self._outputs(self.window, batch, counter, None if alone else whole)
        return self.loss_function(outputs, self.window.targets[chosen], mask)

    def step(self, loss: BatchLoss) -> None:
        """Update the weights with the gradient of a loss."""
        self.optimizer.zero_grad()
        if self.workers.alone:
            loss.mean.sum().backward()
            self.optimizer.step()
        else:
            # Gradients are summed over processes, whose losses are shares of the mean.
            total = self.workers.total(loss.weight)
            (loss.mean * loss.weight / torch.where(total > 0, total, 1)).sum().backward()
            self.optimizer.step(self.workers.total)
        self.loss_sum += loss.mean.detach() * loss.weight
        self.loss_weight += loss.weight
        self.step_number += 1
        self.batch_number += 1

    def finish_portion(self) -> None:
        """Give all processes the same state after a portion."""
        if self.workers.alone:
            return
        share = torch.stack([self.loss_sum, self.loss_weight]) - self._shared_loss
        self._shared_loss += self.workers.total(share)
        self.loss_sum.copy_(self._shared_loss[0])
        self.loss_weight.copy_(self._shared_loss[1])
        if self.workers.local_statistics:
            for norm in norms_of(self.network):
                for average in (norm.running_mean, norm.running_var, norm.running_weight):
                    average.copy_(self.workers.total(average) / self.workers.size)

    @property
    def state(self) -> dict[str, Tensor]:
        """Everything that changes in training, by name, from which `restore` continues."""
        counters = {
            "epoch_number": self.epoch_number,
            "step_number": self.step_number,
            "loss_sum": self.loss_sum,
            "loss_weight": self.loss_weight,
            "shared_loss": self._shared_loss,
        }
        network = {f"network.{name}": own for name, own in tensors_of(self.network).items()}
        adam = {f"adam.{name}": own for name, own in self.optimizer.state.items()}
        return counters | network | adam

    @torch.no_grad()
    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a state."""
        for name, own in self.state.items():
            own.copy_(state[name])

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
            if number % self.workers.size != self.workers.rank:
                outputs.append(self._zeros(own.chosen))  # another process computes them
                continue
            padded = self.num_members > 1 or self.device.type == "cuda"
            batch = self._evaluation.assembler.batch(own.chosen, own.capacity, padded=padded)
            counter = ((self.epoch_number * 2 + 1) << 32) + number
            outputs.append(self._outputs(self._evaluation, batch, counter))
        chosen = torch.cat([own.chosen for own in self.evaluated[part]], dim=1)
        all_outputs = self.workers.total(torch.cat(outputs, dim=1))
        # Sums of many numbers need at least single precision.
        precise = all_outputs.to(torch.promote_types(all_outputs.dtype, torch.float32))
        mask = chosen != self._evaluation.padding
        targets = self._evaluation.targets[chosen]
        return Evaluated(self.metric(precise, targets, mask), all_outputs)

    def _outputs(
        self, window: Window, batch: FixedBatch, counter: Tensor, whole: Tensor | None = None
    ) -> Tensor:
        """Compute the outputs of a batch, which is the part of this process if `whole` is given."""
        k = self.network.num_colorings_for(training=self.network.training)
        colorings = None
        if k and window.sampler is not None:
            colored = batch if whole is None else window.batch(whole)
            colorings = window.sampler.sample(colored, k, self.seeds, counter)
            if whole is not None:
                colorings = colorings[:, self._rows_in(colored, batch)]
        return self.network.forward_batch(batch, colorings)

    def _rows_in(self, whole: FixedBatch, part: FixedBatch) -> Tensor:
        """Row in the whole batch of each node of the part of this process.

        Colorings are hashed from the position of a node in the batch. They are sampled for the
        whole batch, so that they do not depend on the number of processes.
        """
        # [members, graphs]: the first rows of every process's graphs.
        begin = self.workers.own_part(whole.nodes.begin.view(whole.graph_ids.shape))
        begin = begin[:, : part.graph_ids.shape[1]].flatten()
        segment = part.nodes.segment
        rows = torch.arange(segment.numel(), device=segment.device)
        found = rows + (begin - part.nodes.begin)[segment]
        return found if part.nodes.mask is None else torch.where(part.nodes.mask, found, 0)

    def _zeros(self, chosen: Tensor) -> Tensor:
        dtype = next(self.network.parameters()).dtype
        size = (*chosen.shape, self.network.config.out_channels)
        return torch.zeros(size, dtype=dtype, device=self.device)

    def _cost_of_graph(self, window: Window, *, training: bool) -> float:
        k = self.network.num_colorings_for(training=training)
        colorings = window.sampler.num_colorings(k) if k and window.sampler is not None else 0
        largest = window.assembler.max_graph_nodes
        return self.network.cost_of_graph(window.mean_nodes, largest, colorings)

    def _batches(self, window: Window, graphs: Tensor) -> list[EvaluationBatch]:
        """Split graphs `[members, graphs]` into batches that fit in memory."""
        # The size must not depend on the number of members, because colorings are hashed from the
        # number of the batch and the position in it.
        at_once = max(1, int(MAX_EVALUATED_ROWS / self._cost_of_graph(window, training=False)))
        return [
            EvaluationBatch(own.contiguous(), window.assembler.capacity_for(own))
            for own in graphs.split(at_once, dim=1)
        ]
