"""Growth of the cost of a training step with colorings k, edges E and layers T.

The paper states O(kET). Each quantity is doubled several times while the others are fixed, the
forward and backward pass are timed, and a line is fitted to the logarithms; its slope is the
exponent. All sizes are measured once in each of several rounds, and the minimum time of each size
is used, which is robust to other load on the machine.

    clipgnn bench
"""

import platform
import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import clipgnn
from clipgnn import CLIP

K, NODES, DEGREE, LAYERS, HIDDEN = 16, 800, 8, 3, 64
Step = Callable[[], None]


def training_step(
    *, k: int = K, nodes: int = NODES, degree: int = DEGREE, layers: int = LAYERS, seed: int = 0
) -> Step:
    """Return a training step on graphs of 20 nodes with `degree` random edges per node."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
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


def measure(rounds: int = 7, threads: int = 1) -> None:
    """Measure and print the exponents.

    Args:
        rounds: number of rounds over all sizes.
        threads: number of threads of torch.
    """
    torch.set_num_threads(threads)
    series: dict[str, tuple[list[int], list[Step]]] = {
        "k (colorings)": (sizes := [8, 16, 32, 64], [training_step(k=size) for size in sizes]),
        "E (edges, with proportional nodes)": (
            [size * DEGREE for size in (400, 800, 1600, 3200)],
            [training_step(nodes=size) for size in (400, 800, 1600, 3200)],
        ),
        "E (edges, nodes fixed)": (
            [NODES * size for size in (8, 16, 32, 64)],
            [training_step(degree=size) for size in (8, 16, 32, 64)],
        ),
        "T (layers)": (sizes := [2, 4, 8, 16], [training_step(layers=size) for size in sizes]),
    }
    table = Table(title="Cost of a training step")
    for heading in ("quantity", "sizes", "milliseconds", "exponent"):
        table.add_column(heading)
    for name, (values, steps) in series.items():
        times = minimum_times(steps, rounds)
        exponent = np.polyfit(np.log(values), np.log(times), 1)[0]
        table.add_row(
            name,
            " ".join(map(str, values)),
            " ".join(f"{1000 * value:.1f}" for value in times),
            f"{exponent:.2f}",
        )
    console = Console(width=120)
    console.print(table)
    console.print(
        f"Otherwise k={K}, {NODES} nodes of degree {DEGREE}, T={LAYERS}, hidden {HIDDEN}; float32, "
        f"minimum of {rounds} rounds, seed 0. clipgnn {clipgnn.__version__}, torch "
        f"{torch.__version__}, {threads} thread(s), Python {platform.python_version()}, "
        f"{platform.machine()}."
    )
    console.print(
        "With fixed nodes the exponent of E is below 1, because the cost of the MLPs on nodes does "
        "not depend on the number of edges."
    )
