"""Speed of cross-validation compared with PyTorch Geometric, both measured in one run.

The unit is fold-epochs per second: training on nine folds and evaluation on the tenth. The peer
runs one fold after the other with all cores (or the GPU), as users run it. clipgnn runs as its
executors do: on the CPU one process of one thread per core, with one fold each; on a GPU all ten
folds at once. Both are measured in each round, and the median over the rounds is used.
"""

import itertools
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from clipgnn.bench.peer import Peer, PeerCLIP
from clipgnn.coloring.groups import Partition, color_groups
from clipgnn.datasets.folds import stratified_folds
from clipgnn.datasets.registry import load_dataset
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import Recipe
from clipgnn.training.capture import Captured
from clipgnn.training.engine import Engine
from clipgnn.training.loop import Eager
from clipgnn.training.models import ModelSpec, new_members
from clipgnn.training.splits import Split

BATCH_SIZE = 32


@dataclass(frozen=True)
class Setting:
    """Setting of a measurement.

    Attributes:
        dataset: name of the data set.
        num_colorings: number of colorings k.
        num_layers: number of layers T.
        hidden_channels: number of units of every layer.
        epochs: number of epochs of a training run, for the total time on a GPU.
    """

    dataset: str
    num_colorings: int = 8
    num_layers: int = 3
    hidden_channels: int = 64
    epochs: int = 350

    def spec(self) -> ModelSpec:
        """Return the model of this setting."""
        return ModelSpec(
            "clip",
            {
                "num_colorings": self.num_colorings,
                "num_layers": self.num_layers,
                "hidden_channels": self.hidden_channels,
            },
        )


@dataclass(frozen=True)
class Comparison:
    """Fold-epochs per second of clipgnn and the peer, by round.

    Attributes:
        setting: the setting.
        ours: fold-epochs per second of clipgnn.
        peer: fold-epochs per second of PyTorch Geometric.
        compile_seconds: time of compilation of clipgnn, which is not part of `ours`.
    """

    setting: Setting
    ours: list[float]
    peer: list[float]
    compile_seconds: float = 0.0

    @property
    def ratio(self) -> float:
        """Ratio of the medians."""
        return statistics.median(self.ours) / statistics.median(self.peer)


def compare_on_cpu(
    setting: Setting, *, root: Path | None, rounds: int, seconds: float, workers: int
) -> Comparison:
    """Compare clipgnn in `workers` processes of one thread with the peer in `workers` threads."""
    ours, peer = [], []
    for _ in range(rounds):
        ours.append(sum(_in_processes(_our_fold, workers, [(setting, root, seconds)] * workers)))
        peer += _in_processes(_peer_fold, 1, [(setting, root, seconds, workers)])
    return Comparison(setting, ours, peer)


def compare_on_gpu(
    setting: Setting, *, root: Path | None, rounds: int, seconds: float, deterministic: bool
) -> Comparison:
    """Compare all ten folds at once with the peer, which trains one fold after the other."""
    graphs = load_dataset(setting.dataset, root=root)
    splits = splits_of(graphs)
    device = torch.device("cuda")
    recipe = Recipe(epochs=setting.epochs, batch_size=BATCH_SIZE)
    engine = engine_for(setting.spec(), graphs, recipe, splits, device)
    captured = Captured(engine, deterministic=deterministic)
    peer = _peer(graphs, splits[0], setting, device)
    our_epoch = epochs_of(captured)
    our_rates, peer_rates = [], []
    for _ in range(rounds):
        our_rates.append(engine.num_members * rate_of(our_epoch, seconds, synchronize=True))
        peer_rates.append(rate_of(peer.epoch, seconds, synchronize=True))
    return Comparison(setting, our_rates, peer_rates, captured.compile_seconds)


def _our_fold(task: tuple[Setting, Path | None, float]) -> float:
    setting, root, seconds = task
    torch.set_num_threads(1)
    graphs = load_dataset(setting.dataset, root=root)
    recipe = Recipe(epochs=setting.epochs, batch_size=BATCH_SIZE)
    device = torch.device("cpu")
    engine = engine_for(setting.spec(), graphs, recipe, splits_of(graphs)[:1], device)
    return rate_of(epochs_of(Eager(engine)), seconds)


def _peer_fold(task: tuple[Setting, Path | None, float, int]) -> float:
    setting, root, seconds, threads = task
    torch.set_num_threads(threads)
    graphs = load_dataset(setting.dataset, root=root)
    peer = _peer(graphs, splits_of(graphs)[0], setting, torch.device("cpu"))
    return rate_of(peer.epoch, seconds)


def _peer(graphs: PackedGraphs, split: Split, setting: Setting, device: torch.device) -> Peer:
    groups = color_groups(graphs.x, graphs.graph_of_node)
    largest = int(Partition.of(groups, graphs.graph_of_node).sizes.max())
    torch.manual_seed(0)
    model = PeerCLIP(
        graphs.in_channels,
        graphs.num_classes,
        hidden=setting.hidden_channels,
        num_layers=setting.num_layers,
        num_colorings=setting.num_colorings,
        num_colors=largest,
    ).to(device)
    return Peer(graphs.to_data_list(), split.train, split.test, model, BATCH_SIZE)


def engine_for(
    spec: ModelSpec,
    graphs: PackedGraphs,
    recipe: Recipe,
    splits: Sequence[Split],
    device: torch.device,
) -> Engine:
    """An engine with a member for each split, with seeds 0, 1, 2 and so on."""
    seeds = range(len(splits))
    network = new_members(spec, graphs, recipe, seeds)
    return Engine(graphs, network, recipe, splits, seeds, device)


def splits_of(graphs: PackedGraphs) -> list[Split]:
    """Return the ten folds of the GIN protocol."""
    return [Split(train, test) for train, test in stratified_folds(graphs.targets)]


def epochs_of(program: Captured | Eager) -> Callable[[], None]:
    """Return a function that trains and evaluates the next epoch each time it is called."""
    engine = program.engine
    numbers = itertools.cycle(range(engine.recipe.epochs))

    def epoch() -> None:
        number = next(numbers)
        engine.set_rate(number)
        engine.shuffle(number)
        program.epoch()
        program.test()

    return epoch


def rate_of(epoch: Callable[[], object], seconds: float, *, synchronize: bool = False) -> float:
    """Return the epochs per second over at least this time, after one warm-up epoch."""
    epoch()
    done = 0
    if synchronize:
        torch.cuda.synchronize()
    start = time.perf_counter()
    while done == 0 or time.perf_counter() - start < seconds:
        epoch()
        done += 1
        if synchronize:
            torch.cuda.synchronize()
    return done / (time.perf_counter() - start)


def _in_processes(
    measure: Callable[[Any], float], workers: int, tasks: Sequence[Any]
) -> list[float]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        return list(pool.map(measure, tasks))
