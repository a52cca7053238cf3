"""Ten folds at once against one fold after the other, for every network."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from clipgnn.bench.speed import BATCH_SIZE, epochs_of, rate_of, splits_of
from clipgnn.datasets.registry import load_dataset
from clipgnn.errors import ClipGNNError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training.capture import Captured
from clipgnn.training.engine import Engine, num_steps
from clipgnn.training.loop import Eager
from clipgnn.training.models import NETWORKS, ModelSpec
from clipgnn.training.recipe import Recipe
from clipgnn.training.splits import Split


@dataclass(frozen=True)
class Folds:
    """Fold-epochs a second of one network.

    Attributes:
        network: its name.
        together: all folds with as many steps an epoch, usually ten, as one computation.
        alone: one fold by itself.
        refusal: why it cannot serve the data set; then there are no rates.
    """

    network: str
    together: float = 0.0
    alone: float = 0.0
    refusal: str = ""


def compare_folds(
    dataset: str, device: str, *, root: Path | None, rounds: int, seconds: float
) -> list[Folds]:
    """Every network with its default parameters, both ways in turn, medians of the rounds."""
    graphs = load_dataset(dataset, root=root)
    folds = splits_of(graphs)
    steps = num_steps(folds[0], BATCH_SIZE)
    splits = [split for split in folds if num_steps(split, BATCH_SIZE) == steps]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_compare(name, graphs, splits, device, rounds, seconds) for name in NETWORKS]
    finally:
        torch.set_num_threads(threads)


def _compare(
    name: str,
    graphs: PackedGraphs,
    splits: Sequence[Split],
    device: str,
    rounds: int,
    seconds: float,
) -> Folds:
    try:
        together = _epoch(name, graphs, splits, device)
        alone = _epoch(name, graphs, splits[:1], device)
    except ClipGNNError as error:
        return Folds(name, refusal=str(error))
    synchronize = device != "cpu"
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for found, epoch in zip(rates, (together, alone), strict=True):
            found.append(rate_of(epoch, seconds, synchronize=synchronize))
    return Folds(name, len(splits) * statistics.median(rates[0]), statistics.median(rates[1]))


def _epoch(
    name: str, graphs: PackedGraphs, splits: Sequence[Split], device: str
) -> Callable[[], None]:
    recipe = Recipe(batch_size=BATCH_SIZE)
    engine = Engine(
        graphs, ModelSpec(name), recipe, splits, range(len(splits)), torch.device(device)
    )
    return epochs_of(Eager(engine) if device == "cpu" else Captured(engine))
