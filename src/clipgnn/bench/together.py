"""Speed of ten folds at once compared with one fold after the other, for every network."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from typing_extensions import override

from clipgnn.bench.measurement import Measurement, Plan, Row
from clipgnn.bench.setting import (
    BATCH_SIZE,
    SEED,
    engine_for,
    epochs_of,
    program_for,
    splits_of,
)
from clipgnn.bench.timing import rate_of
from clipgnn.datasets.registry import load_dataset
from clipgnn.errors import ClipGNNError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import MODELS, Recipe
from clipgnn.training.models import ModelSpec
from clipgnn.training.splits import Split
from clipgnn.training.windows import num_steps


@dataclass(frozen=True)
class Folds(Row):
    """Fold-epochs per second of one network.

    Attributes:
        dataset: name of the data set.
        network: name of the network.
        together: rates, by round, of all folds with the same number of steps per epoch, usually
            ten, as one computation.
        alone: rates of a single fold.
        skipped: reason why the network does not support the data set, without rates; or empty.
    """

    dataset: str
    network: str
    together: list[float]
    alone: list[float]
    skipped: str = ""

    @override
    def cells(self) -> dict[str, str]:
        together, alone, ratio = "–", "–", "–"
        if not self.skipped:
            rates = statistics.median(self.together), statistics.median(self.alone)
            together, alone = (f"{rate:.1f}" for rate in rates)
            ratio = f"{rates[0] / rates[1]:.2f}"
        return {
            "network": self.network,
            "data set": self.dataset,
            "fold-epochs/s together": together,
            "one by one": alone,
            "ratio": ratio,
        }

    @override
    def remark(self) -> str:
        return f"{self.network} is skipped: {self.skipped}" if self.skipped else ""


def measure(plan: Plan) -> list[Folds]:
    """Compare both for every network on the first data set, with one thread."""
    if not plan.datasets:
        return []
    graphs = load_dataset(plan.datasets[0], root=plan.root, seed=SEED)
    folds = splits_of(graphs)
    steps = num_steps(folds[0].train.numel(), BATCH_SIZE)
    splits = [own for own in folds if num_steps(own.train.numel(), BATCH_SIZE) == steps]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        networks = [name for name, model in MODELS.items() if model.trained]
        return [_compare(name, graphs, splits, plan) for name in networks]
    finally:
        torch.set_num_threads(threads)


def _compare(name: str, graphs: PackedGraphs, splits: Sequence[Split], plan: Plan) -> Folds:
    try:
        together = _epoch(name, graphs, splits, plan)
        alone = _epoch(name, graphs, splits[:1], plan)
    except ClipGNNError as error:
        return Folds(plan.datasets[0], name, [], [], skipped=str(error))
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(plan.rounds):
        rates[0].append(len(splits) * rate_of(together, plan.seconds, plan.device))
        rates[1].append(rate_of(alone, plan.seconds, plan.device))
    return Folds(plan.datasets[0], name, *rates)


def _epoch(
    name: str, graphs: PackedGraphs, splits: Sequence[Split], plan: Plan
) -> Callable[[], None]:
    recipe = Recipe(batch_size=BATCH_SIZE)
    engine = engine_for(ModelSpec(name), graphs, recipe, splits, torch.device(plan.device))
    return epochs_of(program_for(engine, deterministic=plan.deterministic))


MEASUREMENT = Measurement(
    title="Folds together",
    note="All ten folds as one computation, and one by one, on the first data set. One by one is "
    "one process of one thread on the CPU, and one such process for each core can run at the same "
    "time. Default parameters, batches of 32.",
    row=Folds,
    measure=measure,
)
