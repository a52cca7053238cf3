"""Growth of the cost of training with colorings k, edges E, layers T and the number of graphs.

The paper states O(kET). Each quantity is doubled several times while the others are fixed, and a
line is fitted to the logarithms; its slope is the exponent.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from typing_extensions import override

from clipgnn import CLIP
from clipgnn.bench.measurement import Measurement, Plan, Row
from clipgnn.bench.peak import PeakMemory
from clipgnn.bench.setting import (
    SEED,
    Setting,
    engine_for,
    epochs_of,
    program_for,
    small_graphs,
    splits_of,
)
from clipgnn.bench.timing import in_processes, synchronize
from clipgnn.datasets.properties import connectivity
from clipgnn.graphs.packed import PackedGraphs

K, NODES, DEGREE, LAYERS, HIDDEN = 16, 800, 8, 3, 64
NUM_GRAPHS = (1000, 2000, 4000, 8000)
GENERATED = Setting("generated", num_colorings=8, hidden_channels=32)
Step = Callable[[], None]


@dataclass(frozen=True)
class Growth(Row):
    """Cost by size.

    Attributes:
        quantity: what grows.
        cost: what is measured, with its unit.
        sizes: the sizes.
        costs: the cost of each size.
    """

    quantity: str
    cost: str
    sizes: list[int]
    costs: list[float]

    @property
    def exponent(self) -> float:
        """Slope of a line that is fitted to the logarithms."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.costs), 1)[0])

    @override
    def cells(self) -> dict[str, str]:
        return {
            "quantity": self.quantity,
            "sizes": " ".join(map(str, self.sizes)),
            "cost": self.cost,
            "costs": " ".join(f"{value:,.1f}" for value in self.costs),
            "exponent": f"{self.exponent:.2f}",
        }


def measure(plan: Plan) -> list[Growth]:
    """Measure the growth of a step on the CPU, and of an epoch on any device."""
    rows = [] if plan.on_gpu else _growth_of_a_step(plan.rounds)
    found = in_processes(_measure_epoch, [(size, plan) for size in NUM_GRAPHS])
    seconds, peaks = zip(*found, strict=True)
    sizes = list(NUM_GRAPHS)
    rows.append(Growth("graphs", "epoch, s", sizes, list(seconds)))
    rows.append(Growth("graphs", "peak memory, MB", sizes, [peak / 1e6 for peak in peaks]))
    return rows


def training_step(
    *, k: int = K, nodes: int = NODES, degree: int = DEGREE, layers: int = LAYERS
) -> Step:
    """Return a training step on graphs of 20 nodes with `degree` random edges per node."""
    generator = torch.Generator().manual_seed(SEED)
    torch.manual_seed(SEED)
    model = CLIP(1, 2, hidden_channels=HIDDEN, num_layers=layers, num_colorings=k, num_colors=20)
    batch = torch.arange(nodes) // 20
    source = torch.arange(nodes).repeat_interleave(degree)
    target = source // 20 * 20 + torch.randint(20, source.shape, generator=generator)
    edge_index = torch.stack([source, target])
    x = torch.ones(nodes, 1)

    def step() -> None:
        model.zero_grad()
        model(x, edge_index, batch, generator=generator).sum().backward()

    return step


def minimum_times(steps: list[Step], rounds: int) -> list[float]:
    """Return the minimum time of each step over several rounds, in seconds."""
    times = np.full((rounds, len(steps)), np.inf)
    for step in steps:
        step()
    for round_number in range(rounds):
        for number, step in enumerate(steps):
            start = time.perf_counter()
            step()
            times[round_number, number] = time.perf_counter() - start
    return [float(value) for value in times.min(0)]


def _growth_of_a_step(rounds: int) -> list[Growth]:
    series: list[tuple[str, int, tuple[int, ...], Callable[[int], Step]]] = [
        ("k (colorings)", 1, (8, 16, 32, 64), lambda size: training_step(k=size)),
        ("E (edges and nodes)", DEGREE, (400, 800, 1600, 3200), lambda n: training_step(nodes=n)),
        ("E (edges, nodes fixed)", NODES, (8, 16, 32, 64), lambda n: training_step(degree=n)),
        ("T (layers)", 1, (2, 4, 8, 16), lambda size: training_step(layers=size)),
    ]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = []
        for quantity, unit, sizes, step_of in series:
            times = minimum_times([step_of(size) for size in sizes], rounds)
            milliseconds = [1000 * value for value in times]
            rows.append(Growth(quantity, "step, ms", [unit * size for size in sizes], milliseconds))
        return rows
    finally:
        torch.set_num_threads(threads)


def _measure_epoch(task: tuple[int, Plan]) -> tuple[float, int]:
    """Measure the minimum duration of an epoch, in seconds, and the peak memory in bytes."""
    num_graphs, plan = task
    torch.set_num_threads(1)
    _epoch(small_graphs(), plan)()
    memory = PeakMemory(plan.device)
    epoch = _epoch(connectivity(SEED, num_pairs=num_graphs // 2), plan)
    [seconds] = minimum_times([epoch], plan.rounds)
    return seconds, memory.read()


def _epoch(graphs: PackedGraphs, plan: Plan) -> Step:
    splits = splits_of(graphs)[: None if plan.on_gpu else 1]
    spec, recipe, device = GENERATED.spec(), GENERATED.recipe(), torch.device(plan.device)
    engine = engine_for(spec, graphs, recipe, splits, device)
    epoch = epochs_of(program_for(engine, deterministic=plan.deterministic))

    def finished_epoch() -> None:
        epoch()
        synchronize(plan.device)

    return finished_epoch


MEASUREMENT = Measurement(
    title="Growth of the cost",
    note=f"Step: forward and backward pass of one batch on the CPU, k={K}, {NODES} nodes of degree "
    f"{DEGREE}, T={LAYERS} and hidden {HIDDEN} where they do not grow. With fixed nodes the "
    "exponent of E is below 1, because the cost of the MLPs on nodes does not depend on the number "
    f"of edges. Graphs: connectivity task, k={GENERATED.num_colorings}, T={GENERATED.num_layers}, "
    f"hidden {GENERATED.hidden_channels}, batches of 32; on the CPU one fold and resident memory "
    "beyond that after an epoch on 20 small graphs, with the generation of the graphs; on a GPU "
    "ten folds at once and memory of tensors. Minimum times over the rounds, one process of one "
    "thread.",
    row=Growth,
    measure=measure,
)
