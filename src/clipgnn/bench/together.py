"""Speed of ten folds at once compared with one fold after the other, for every network."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from clipgnn.bench.speed import BATCH_SIZE, engine_for, epochs_of, rate_of, splits_of
from clipgnn.datasets.registry import load_dataset
from clipgnn.errors import ClipGNNError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import MODELS, Recipe
from clipgnn.training.capture import Captured
from clipgnn.training.engine import num_steps
from clipgnn.training.loop import Eager
from clipgnn.training.models import ModelSpec
from clipgnn.training.splits import Split


@dataclass(frozen=True)
class Folds:
    """Fold-epochs per second of one network.

    Attributes:
        network: name of the network.
        together: rate of all folds with the same number of steps per epoch, usually ten, as one
            computation.
        alone: rate of a single fold.
        skipped: reason why the network does not support the data set, without rates; or empty.
    """

    network: str
    together: float = 0.0
    alone: float = 0.0
    skipped: str = ""


def compare_folds(
    dataset: str, device: str, *, root: Path | None, rounds: int, seconds: float
) -> list[Folds]:
    """Compare both for every network with default parameters, by medians over the rounds."""
    graphs = load_dataset(dataset, root=root)
    folds = splits_of(graphs)
    steps = num_steps(folds[0], BATCH_SIZE)
    splits = [split for split in folds if num_steps(split, BATCH_SIZE) == steps]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        networks = [name for name, model in MODELS.items() if model.trained]
        return [_compare(name, graphs, splits, device, rounds, seconds) for name in networks]
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
        return Folds(name, skipped=str(error))
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
    engine = engine_for(ModelSpec(name), graphs, recipe, splits, torch.device(device))
    return epochs_of(Eager(engine) if device == "cpu" else Captured(engine))
