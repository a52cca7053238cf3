"""Whether networks distinguish the graphs of a pair: the paired comparison of BREC.

A network is trained for each pair, to embed relabeled copies of the two graphs in different
directions. Hotelling's T² of the differences between their embeddings is then compared with a
limit, and so is that between copies of one graph, which a reliable network does not distinguish.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cosine_embedding_loss

from clipgnn.errors import ClipGNNError, DivergedPairError, InvalidParameterError
from clipgnn.graphs.assembly import Assembler
from clipgnn.graphs.joining import join
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.relabeling import relabeled
from clipgnn.graphs.seeds import as_signed
from clipgnn.nn.network import Network
from clipgnn.parameters import Recipe
from clipgnn.parameters.datasets import COPIES
from clipgnn.parameters.recipe import PAIR_RECIPE
from clipgnn.training.models import ModelSpec, network_named

LIMIT = 72.34
"""Two graphs are distinguished if T² is larger; the limit of BREC."""

EMBEDDING = 16
"""Number of channels of an embedding."""

WEIGHT_DECAY = 1e-4
"""Weight decay of the optimizer."""

MAX_ROWS = 2**23
"""Largest number of rows (`Network.cost_of_graph`) of a batch of all pairs that a GPU trains
together. A row of three layers of 32 channels takes about 2 kB in training."""

_RIDGE = 1e-7
"""Added to the diagonal of the covariance, which is singular for identical embeddings."""


@dataclass(frozen=True)
class PairComparison:
    """The comparison of a pair.

    Attributes:
        train_loss: mean loss of each epoch: the cosine of the angle between embeddings of the two
            graphs, 0 for an angle of at least 90°.
        between: T² between copies of the two graphs.
        within: T² between copies of the first graph.
    """

    train_loss: NDArray[np.float64]
    between: float
    within: float

    @property
    def finite(self) -> bool:
        """Whether the training has not diverged."""
        return bool(np.isfinite([*self.train_loss, self.between, self.within]).all())

    @property
    def separated(self) -> bool:
        """Whether the two graphs are distinguished."""
        return self.between > LIMIT

    @property
    def reliable(self) -> bool:
        """Whether copies of one graph are not distinguished."""
        return self.within < LIMIT


def compare_pairs(
    graphs: PackedGraphs,
    spec: ModelSpec,
    seeds: Sequence[int],
    device: str | torch.device = "cpu",
    *,
    epochs: int = int(PAIR_RECIPE["epochs"]),
    batch_size: int = int(PAIR_RECIPE["batch_size"]),
    learning_rate: float = PAIR_RECIPE["learning_rate"],
) -> list[PairComparison]:
    """Train a network for each pair of graphs, and compare the pairs.

    Args:
        graphs: graphs 2i and 2i + 1 are pair i, and copies of them are relabeled at random. Or
            64 graphs for each pair: 32 copies of its two graphs in turn, which are used as they
            are.
        spec: the network.
        seeds: seed of weights, copies and colorings of each pair.
        device: device of the training. On a GPU, pairs are trained together, as many as fit.
        epochs: number of epochs.
        batch_size: number of graphs of a batch, half of them copies of each graph of a pair.
        learning_rate: learning rate.

    Raises:
        DivergedPairError: if the loss or the embeddings of a pair are no longer finite; the pairs
            after it are not trained.
        InvalidParameterError: if there is no such model, the graphs are not pairs, or a value is
            not valid.
    """
    of_a_pair = len(graphs) // max(1, len(seeds))
    if len(graphs) != of_a_pair * len(seeds) or of_a_pair not in (2, 2 * COPIES):
        raise InvalidParameterError(
            f"graphs must be pairs, two graphs for each of the {len(seeds)} seeds, or "
            f"{2 * COPIES} copies of them. Got {len(graphs)} graphs."
        )
    Recipe(epochs=epochs, batch_size=batch_size, learning_rate=learning_rate)  # checks the values
    if batch_size % 2:
        raise InvalidParameterError(
            f"batch_size must be an even number of at least 2. Got {batch_size}."
        )
    device = torch.device(device)
    at_once = _pairs_at_once(graphs, spec, batch_size) if device.type == "cuda" else 1
    found: list[PairComparison] = []
    for start in range(0, len(seeds), at_once):
        stop = min(start + at_once, len(seeds))
        part = graphs.subset(torch.arange(of_a_pair * start, of_a_pair * stop))
        try:
            comparison = _Comparison(part, spec, seeds[start:stop], device, batch_size)
        except ClipGNNError as error:
            pairs = f"pair {stop}" if stop - start == 1 else f"pairs {start + 1} to {stop}"
            raise type(error)(f"In relabeled copies of the graphs of {pairs}: {error}") from error
        found += comparison.run(epochs, learning_rate)
        for number, own in enumerate(found[start:], start=start + 1):
            if not own.finite:
                raise DivergedPairError(
                    f"The loss and the embeddings of a pair must be finite. Those of pair {number} "
                    f"are not, with learning_rate={learning_rate:g}. Use a smaller one.",
                    number,
                )
    return found


def _pairs_at_once(graphs: PackedGraphs, spec: ModelSpec, batch_size: int) -> int:
    """Number of pairs whose batches have at most `MAX_ROWS` rows together."""
    network = _members(spec, graphs, [0])
    scheme = network.training_scheme
    sampler = scheme.sampler(graphs, scheme.partition_of(graphs))
    k = network.num_colorings_for(training=True)
    largest = int(graphs.node_pointers.diff().max())
    rows = network.cost_of_graph(float(largest), largest, sampler.num_colorings(k) if k else 0)
    return max(1, int(MAX_ROWS / (batch_size * rows)))


class _Comparison:
    """Members that are trained together, one for each pair."""

    def __init__(
        self,
        graphs: PackedGraphs,
        spec: ModelSpec,
        seeds: Sequence[int],
        device: torch.device,
        batch_size: int,
    ) -> None:
        members = len(seeds)
        self.batch_size = batch_size
        copies = _copies(graphs, seeds).to(device)
        self.network = _members(spec, copies, seeds).to(device)
        scheme = self.network.training_scheme
        partition = scheme.partition(copies.to_batch())
        self.network.check_num_colors(scheme.num_colors(copies, partition))
        self.sampler = scheme.sampler(copies, partition)
        self.copies, self.groups = copies, partition.local_groups
        self.prepared = self.network.prepare(copies)
        self.assembler = Assembler(copies, self.groups, self.prepared)
        self.chosen = torch.arange(len(copies), device=device).view(members, -1)
        self.seeds = torch.tensor([as_signed(seed) for seed in seeds], device=device)
        self.counter = torch.zeros((), dtype=torch.int64, device=device)

    def run(self, epochs: int, learning_rate: float) -> list[PairComparison]:
        losses = self._train(epochs, learning_rate)
        self._use_double_precision()
        self.network.eval()
        with torch.no_grad():
            parts = self.chosen.split(self.batch_size, 1)
            embeddings = torch.cat([self._embeddings(own) for own in parts], 1).double()
        between, within = (
            hotelling(own[:, ::2] - own[:, 1::2]).tolist()
            for own in embeddings.split(2 * COPIES, 1)
        )
        return [
            PairComparison(loss, first, second)
            for loss, first, second in zip(losses, between, within, strict=True)
        ]

    def _use_double_precision(self) -> None:
        """Compute embeddings in double precision from now on.

        Embeddings of graphs that a network cannot distinguish differ by rounding. In single
        precision, that of sums of several thousand is larger than what the ridge ignores.
        """
        self.network.double()
        prepared = (own.double() if own.is_floating_point() else own for own in self.prepared)
        self.assembler = Assembler(self.copies, self.groups, tuple(prepared))

    def _train(self, epochs: int, learning_rate: float) -> NDArray[np.float64]:
        """Train all members; return the loss `[members, epochs]`."""
        optimizer = torch.optim.Adam(
            self.network.parameters(), lr=learning_rate, weight_decay=WEIGHT_DECAY
        )
        self.network.train()
        parts = self.chosen[:, : 2 * COPIES].split(self.batch_size, 1)
        curve = []
        for _ in range(epochs):
            total = torch.zeros(self.seeds.numel(), device=self.seeds.device)
            for own in parts:
                loss = _opposite(self._embeddings(own))
                optimizer.zero_grad()
                loss.sum().backward()
                optimizer.step()
                total += loss.detach()
            curve.append(total / len(parts))
        return torch.stack(curve, 1).double().cpu().numpy()

    def _embeddings(self, chosen: Tensor) -> Float[Tensor, "members graphs channels"]:
        padded = chosen.shape[0] > 1
        batch = self.assembler.batch(chosen, self.assembler.capacity_for(chosen), padded=padded)
        self.counter += 1
        k = self.network.num_colorings_for(training=self.network.training)
        colorings = self.sampler.sample(batch, k, self.seeds, self.counter) if k else None
        outputs: Tensor = self.network.forward_batch(batch, colorings)
        return outputs


def _copies(graphs: PackedGraphs, seeds: Sequence[int]) -> PackedGraphs:
    """Return 128 graphs for each pair: copies of its graphs in turn, then copies of the first."""
    of_a_pair = len(graphs) // len(seeds)
    given = of_a_pair == 2 * COPIES
    both = list(range(of_a_pair)) if given else [0, 1] * COPIES
    pair = torch.tensor(both + [0] * 2 * COPIES)
    chosen = (of_a_pair * torch.arange(len(seeds))[:, None] + pair).flatten()
    copies = graphs.subset(chosen)
    nodes = copies.node_pointers[:: pair.numel()].diff().tolist()
    bits = torch.cat(
        [
            torch.randint(
                -(2**63), 2**63 - 1, (own,), generator=torch.Generator().manual_seed(seed)
            )
            for own, seed in zip(nodes, seeds, strict=True)
        ]
    )
    random = relabeled(copies, bits)
    if not given:
        return random
    number = torch.arange(len(copies))
    is_given = number % pair.numel() < of_a_pair
    return join(copies, random).subset(number + len(copies) * ~is_given)


def hotelling(
    differences: Float[Tensor, "members copies channels"],
) -> Float[Tensor, "members"]:
    """Hotelling's T² of paired differences, without the factor of their number.

    It is NaN if the covariance is singular, which a ridge excludes for differences of usual size.
    """
    mean = differences.mean(1)
    centered = differences - mean[:, None]
    covariance = centered.transpose(1, 2) @ centered / (differences.shape[1] - 1)
    ridge = _RIDGE * torch.eye(mean.shape[1], dtype=mean.dtype, device=mean.device)
    # Unlike `solve`, `solve_ex` raises no error for the differences of a diverged training.
    solution, singular = torch.linalg.solve_ex(covariance + ridge, mean[..., None])
    statistic = (mean * solution.squeeze(-1)).sum(1)
    return torch.where(singular == 0, statistic, torch.nan)


def _opposite(embeddings: Tensor) -> Tensor:
    """Loss of each member, which is smallest if the graphs of a pair are not in one direction."""
    first, second = embeddings[:, ::2], embeddings[:, 1::2]
    members, pairs, channels = first.shape
    target = -torch.ones(members * pairs, device=first.device)
    loss = cosine_embedding_loss(
        first.reshape(-1, channels), second.reshape(-1, channels), target, reduction="none"
    )
    return loss.view(members, pairs).mean(1)


def _members(spec: ModelSpec, graphs: PackedGraphs, seeds: Sequence[int]) -> Network:
    with torch.random.fork_rng([]):  # the constructor draws weights that are replaced
        network = network_named(spec.name).from_graphs(
            graphs, out_channels=EMBEDDING, num_members=len(seeds), **spec.parameters
        )
    network.reset_parameters([torch.Generator().manual_seed(seed) for seed in seeds])
    return network
