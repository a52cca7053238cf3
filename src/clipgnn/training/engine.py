"""Members and their data on a device: one step and one evaluation, as pure tensor programs.

Nothing here waits for the device, so that a GPU can record a step once and replay it. All
randomness (order of graphs, colorings) is hashed from a member's own seed and a counter: what a
member does depends neither on the device nor on who trains beside it.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.coloring.hashed import hashed_colorings, hashed_integers
from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import Assembler, PaddedBatch
from clipgnn.training.models import ModelSpec, build_members, network_of
from clipgnn.training.recipe import Recipe
from clipgnn.training.splits import Split

EVALUATED_ROWS = 2**18
"""Rows (see `Members.rows_of_graph`) that a member evaluates at once; more are taken in turns."""


class Engine:
    """Members of one configuration with as many steps an epoch, ready to train.

    Args:
        graphs: the data set.
        spec: the model.
        recipe: how to train.
        splits: the graphs of each member.
        seeds: the seed of each member.
        device: where to train.

    Raises:
        InvalidGraphError: if the graphs are directed or have edge attributes.
    """

    def __init__(
        self,
        graphs: PackedGraphs,
        spec: ModelSpec,
        recipe: Recipe,
        splits: Sequence[Split],
        seeds: Sequence[int],
        device: torch.device,
    ) -> None:
        if graphs.edge_attr is not None:
            raise InvalidGraphError(
                "Training assembles graphs without edge attributes. Got some: leave them out (load "
                "the data without edge labels), or train a CLIP module with a loop of your own."
            )
        graphs = graphs.to(device)
        groups = network_of(spec).groups(graphs)
        self.recipe = recipe
        self.device = device
        self.assembler = Assembler(graphs, groups)
        classes = graphs.num_classes if recipe.loss == "cross-entropy" else 1
        self.model = build_members(spec, graphs, groups, classes, seeds).to(device)
        self.mean_nodes = graphs.x.shape[0] / len(graphs)
        self.y = torch.cat([graphs.y, graphs.y[:1]])
        self.seeds = torch.tensor([_signed(seed) for seed in seeds], device=device)
        self.train_graphs = self._padded([split.train for split in splits])
        self.train_counts = torch.tensor([split.train.numel() for split in splits], device=device)
        self.steps = num_steps(splits[0], recipe.batch_size)
        self.order = torch.empty(0)
        self.step_number = torch.zeros((), dtype=torch.int64, device=device)
        self.epoch_number = torch.zeros((), dtype=torch.int64, device=device)
        self.loss_sum = torch.zeros(len(splits), device=device)
        self.room = self._largest_room()
        self.shuffle(0)
        self.test_parts = self._parts([split.test for split in splits])
        self.validation_parts = self._parts([split.validation for split in splits])
        self.has_validation = torch.tensor(
            [split.validation.numel() > 0 for split in splits], device=device
        )
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=torch.tensor(recipe.learning_rate, dtype=torch.float32, device=device)
            if device.type == "cuda"
            else recipe.learning_rate,
            capturable=device.type == "cuda",
            fused=True,
        )

    @property
    def num_members(self) -> int:
        """Members that train together."""
        return self.seeds.numel()

    def work(self) -> float:
        """About how many numbers the whole training passes through."""
        weights = sum(parameter[0].numel() for parameter in self.model.parameters())
        graphs = self.num_members * self.recipe.batch_size
        rows = graphs * self.model.rows_of_graph(self.mean_nodes, training=True)
        return float(rows) * math.sqrt(weights) * self.steps * self.recipe.epochs

    def shuffle(self, epoch: int) -> None:
        """Put the training graphs in the order of an epoch."""
        order = self._order(epoch)
        if self.order.shape == order.shape:
            self.order.copy_(order)
        else:
            self.order = order
        self.step_number.zero_()
        self.epoch_number.fill_(epoch)
        self.loss_sum.zero_()

    def set_rate(self, epoch: int) -> None:
        """The learning rate of an epoch."""
        rate = self.recipe.rate(epoch)
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def loss(self) -> Tensor:
        """The mean loss of each member on its next batch, `[members]`."""
        within = torch.arange(self.recipe.batch_size, device=self.device)
        chosen = self.order.index_select(1, self.step_number * self.recipe.batch_size + within)
        if self.device.type == "cuda":
            batch = self.assembler.batch(chosen, self.room)
        else:
            chosen = chosen[:, : int((chosen != self.assembler.padding).sum(1).max())]
            room = self.assembler.room_for(chosen)
            # A single row has no variance: with a mask it is constant, without one an error.
            padded = self.num_members > 1 or room < 2
            batch = self.assembler.batch(chosen, room, padded=padded)
        counter = (self.epoch_number * 2 << 32) + self.step_number
        outputs = self._outputs(batch, counter)
        real = chosen != self.assembler.padding
        # Not a product: what padding yields may be anything, and infinity times zero is NaN.
        return torch.where(real, self._errors(outputs, self.y[chosen]), 0).sum(1) / real.sum(1)

    def step(self, loss: Tensor) -> None:
        """Learn from a loss."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.sum().backward()
        self.optimizer.step()
        left = self.train_counts - self.step_number * self.recipe.batch_size
        self.loss_sum += loss.detach() * left.clamp(max=self.recipe.batch_size)
        self.step_number += 1

    def train_loss(self) -> Tensor:
        """Mean loss of the epoch so far, `[members]`."""
        seen = self.train_counts.clamp(max=self.steps * self.recipe.batch_size)
        return self.loss_sum / seen

    @torch.no_grad()
    def score(self, parts: list[tuple[Tensor, int]]) -> Tensor:
        """Accuracy, or mean squared error, of each member on its own graphs, `[members]`.

        NaN for a member with an output that is not finite: its largest output means nothing.
        """
        total = torch.zeros(self.num_members, device=self.device)
        count = torch.zeros_like(total)
        for number, (chosen, room) in enumerate(parts):
            padded = self.num_members > 1 or self.device.type == "cuda"
            batch = self.assembler.batch(chosen, room, padded=padded)
            counter = ((self.epoch_number * 2 + 1) << 32) + number
            outputs = self._outputs(batch, counter)
            real = chosen != self.assembler.padding
            total += torch.where(real, self._scores(outputs, self.y[chosen]), 0).sum(1)
            count += real.sum(1)
        return total / count.clamp(min=1)  # a member may have no validation graphs

    def _outputs(self, batch: PaddedBatch, counter: Tensor) -> Tensor:
        wanted = self.model.colorings_wanted(training=self.model.training)
        colorings = hashed_colorings(batch, wanted, self.seeds, counter) if wanted else None
        return self.model.classify(batch, colorings)

    def _errors(self, outputs: Tensor, targets: Tensor) -> Tensor:
        if self.recipe.loss == "cross-entropy":
            return functional.cross_entropy(outputs.transpose(1, 2), targets, reduction="none")
        return (outputs[:, :, 0] - targets).square()

    def _scores(self, outputs: Tensor, targets: Tensor) -> Tensor:
        if self.recipe.loss == "cross-entropy":
            right = (outputs.argmax(2) == targets).to(outputs.dtype)
            return torch.where(outputs.isfinite().all(2), right, torch.nan)
        return (outputs[:, :, 0] - targets).square()

    def _order(self, epoch: int) -> Tensor:
        """Each member's graphs shuffled from its seed, the last batch filled up with padding."""
        counter = torch.full((), -1 - epoch, device=self.device)
        keys = hashed_integers(self.seeds, counter, 1, self.train_graphs.shape[1])[0]
        keys = (keys & (2**62 - 1)).masked_fill(self.train_graphs == self.assembler.padding, 2**62)
        order = self.train_graphs.gather(1, torch.argsort(keys, dim=1))
        room = self.steps * self.recipe.batch_size
        missing = max(0, room - order.shape[1])
        return functional.pad(order, (0, missing), value=self.assembler.padding)[:, :room]

    def _largest_room(self) -> int:
        """Nodes of the largest batch of the whole training: fixed shapes need to know."""
        if self.device.type != "cuda":
            return 0
        largest = torch.zeros((), dtype=torch.int64, device=self.device)
        for epoch in range(self.recipe.epochs):
            batches = self._order(epoch).view(self.num_members, self.steps, -1)
            nodes = self.assembler.node_count[batches].sum(2).max()
            largest = torch.maximum(largest, nodes)
        return -(-int(largest) // 32) * 32

    def _padded(self, sets: list[Tensor]) -> Tensor:
        most = max(numbers.numel() for numbers in sets)
        padding = self.assembler.padding
        rows = [functional.pad(row, (0, most - row.numel()), value=padding) for row in sets]
        return torch.stack(rows).to(self.device)

    def _parts(self, sets: list[Tensor]) -> list[tuple[Tensor, int]]:
        """Graphs to evaluate, and the room they need, in parts that fit in memory."""
        graphs = self._padded(sets)
        if graphs.shape[1] == 0:
            return []
        # Independent of the other members: colorings depend on a part's number and places in it.
        rows = self.model.rows_of_graph(self.mean_nodes, training=False)
        at_once = max(1, int(EVALUATED_ROWS / rows))
        return [
            (part.contiguous(), self.assembler.room_for(part))
            for part in graphs.split(at_once, dim=1)
        ]


def num_steps(split: Split, batch_size: int) -> int:
    """Steps of an epoch. A last batch of one graph is left out: it has no batch statistics."""
    full, rest = divmod(split.train.numel(), batch_size)
    return full + (rest > 1)


def _signed(seed: int) -> int:
    return (seed + 2**63) % 2**64 - 2**63
