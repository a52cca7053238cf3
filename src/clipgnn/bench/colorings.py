"""Speed of sampling colorings compared with Python loops."""

import statistics
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from typing_extensions import override

from clipgnn.bench.measurement import Measurement, Plan, Row
from clipgnn.bench.setting import BATCH_SIZE, SEED, Setting, engine_for, splits_of
from clipgnn.bench.timing import rate_of
from clipgnn.coloring.groups import color_groups
from clipgnn.coloring.sample import sample_colorings
from clipgnn.graphs.packed import PackedGraphs

NUM_COLORINGS = 16


@dataclass(frozen=True)
class Colorings(Row):
    """Colorings of a graph per second, by round.

    Attributes:
        dataset: name of the data set.
        num_colorings: number of colorings k of each graph.
        sampled: rates of `sample_colorings`.
        trained: rates of the sampler of training.
        looped: rates of Python loops.
    """

    dataset: str
    num_colorings: int
    sampled: list[float]
    trained: list[float]
    looped: list[float]

    @override
    def cells(self) -> dict[str, str]:
        sampled, trained, looped = map(statistics.median, (self.sampled, self.trained, self.looped))
        return {
            "data set": self.dataset,
            "k": str(self.num_colorings),
            "sample_colorings, colorings/s": f"{sampled:,.0f}",
            "in training": f"{trained:,.0f}",
            "Python loops": f"{looped:,.0f}",
            "ratio to loops": f"{sampled / looped:.1f}",
            "in training to loops": f"{trained / looped:.1f}",
        }


def measure(plan: Plan) -> list[Colorings]:
    """Measure the three on each data set, with one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_measure(Setting.of(name), plan) for name in plan.datasets]
    finally:
        torch.set_num_threads(threads)


def colorings_by_loops(groups: Tensor, k: int, batch: Tensor) -> Tensor:
    """Sample k colorings of every graph with a permutation of each group, `[k, nodes]`."""
    colors = torch.empty(k, groups.numel(), dtype=torch.int64)
    for graph in range(int(batch[-1]) + 1):
        for group in groups[batch == graph].unique():
            nodes = ((batch == graph) & (groups == group)).nonzero()[:, 0]
            for coloring in range(k):
                colors[coloring, nodes] = torch.randperm(nodes.numel())
    return colors


def _measure(setting: Setting, plan: Plan) -> Colorings:
    k, device = NUM_COLORINGS, torch.device(plan.device)
    graphs = setting.graphs(plan.root)
    parts = torch.arange(len(graphs)).split(BATCH_SIZE)
    batches = [_groups_of(graphs, part) for part in parts]
    on_device = [(groups.to(device), batch.to(device)) for groups, batch in batches]
    spec = replace(setting, num_colorings=k).spec()
    engine = engine_for(spec, graphs, setting.recipe(), splits_of(graphs)[:1], device)
    assembler, counter = engine.window.assembler, torch.zeros((), dtype=torch.int64, device=device)
    sampler = engine.window.sampler
    assert sampler is not None
    assembled = [
        assembler.batch(chosen, assembler.capacity_for(chosen), padded=plan.on_gpu)
        for chosen in (part[None].to(device) for part in parts)
    ]

    def sample() -> None:
        for groups, batch in on_device:
            sample_colorings(groups, k, batch)

    def sample_in_training() -> None:
        for batch in assembled:
            sampler.sample(batch, k, engine.seeds, counter)
            counter.add_(1)

    def loop() -> None:
        for groups, batch in batches:
            colorings_by_loops(groups, k, batch).to(device)

    torch.manual_seed(SEED)
    rates: tuple[list[float], ...] = ([], [], [])
    for _ in range(plan.rounds):
        for found, run in zip(rates, (sample, sample_in_training, loop), strict=True):
            found.append(k * len(graphs) * rate_of(run, plan.seconds, plan.device))
    return Colorings(setting.dataset, k, *rates)


def _groups_of(graphs: PackedGraphs, chosen: Tensor) -> tuple[Tensor, Tensor]:
    part = graphs.subset(chosen)
    return color_groups(part.x, part.graph_of_node), part.graph_of_node


MEASUREMENT = Measurement(
    title="Sampling of colorings",
    note="Colorings of one graph per second, for batches of 32 with known groups, in one process "
    "of one thread. `sample_colorings` returns distinct colorings. The sampler of training and "
    "the Python loops (`torch.randperm` for each graph, group and coloring, on the CPU) may repeat "
    "them.",
    row=Colorings,
    measure=measure,
)
