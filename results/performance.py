"""Measure a training step on a GPU: its kernels, trainings at the same time, precision of products.

    python results/performance.py > results/performance.json

Ten folds with k = 8, T = 3 and 64 hidden units, batches of 32. `docs/performance.md` explains the
numbers.
"""

import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from clipgnn.bench.setting import Setting, engine_for, epochs_of, splits_of
from clipgnn.datasets.registry import load_dataset
from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import Recipe
from clipgnn.training import train
from clipgnn.training.capture import Captured
from clipgnn.training.engine import Engine

PACKAGES = ("clipgnn", "clipgnn-source", "python", "torch", "triton", "cuda")
DATASETS = ("MUTAG", "IMDB-MULTI", "PROTEINS")
DEVICE = torch.device("cuda")
STEPS = 5
SECONDS = 1.0
AT_ONCE = (1, 2, 4)
EPOCHS = {"MUTAG": 100, "IMDB-MULTI": 20, "PROTEINS": 20}


def recorded(setting: Setting, graphs: PackedGraphs) -> Captured:
    """Return the recorded program of ten folds."""
    recipe = setting.recipe()
    return Captured(engine_for(setting.spec(), graphs, recipe, splits_of(graphs), DEVICE))


def kernels_of(program: Captured) -> dict[str, Any]:
    """Return number and microseconds of the kernels of a step, by name."""
    program.engine.begin(0)
    next(program.engine.portions(0))
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(STEPS):
            program._step.replay()
        torch.cuda.synchronize()
    counts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for event in profiled.events():
        if event.device_type == DeviceType.CUDA:
            counts[event.name[:60]][0] += 1 / STEPS
            counts[event.name[:60]][1] += event.self_device_time_total / STEPS
    largest = sorted(counts.items(), key=lambda item: -item[1][1])
    return {
        "number": round(sum(count for count, _ in counts.values())),
        "microseconds": round(sum(total for _, total in counts.values())),
        "largest": {name: [round(n, 1), round(us, 1)] for name, (n, us) in largest[:16]},
    }


def epoch_seconds(program: Captured) -> float:
    """Return the mean duration of an epoch with its evaluation."""
    epoch = epochs_of(program)
    epoch()
    torch.cuda.synchronize()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        epoch()
        count += 1
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def share_of_slots(engine: Engine) -> float:
    """Return the share of the slots of nodes that are not padding, over an epoch."""
    engine.begin(0)
    next(engine.portions(0))
    nodes = engine.window.assembler.node_count[engine.order].sum()
    return float(nodes / (engine.capacity.nodes * engine.num_members * engine.steps))


def in_threads(runs: Sequence[Callable[[], object]]) -> float:
    """Run functions at the same time; return the seconds until all have ended."""
    threads = [threading.Thread(target=run) for run in runs]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def at_once(setting: Setting, graphs: PackedGraphs) -> dict[str, Any]:
    """Measure trainings in threads, and as members of one network; compare their losses."""
    splits = splits_of(graphs)
    recipe = Recipe(epochs=EPOCHS[setting.dataset], batch_size=setting.recipe().batch_size)

    def losses(first_seed: int, copies: int = 1) -> list[list[float]]:
        seeds = range(first_seed, first_seed + len(splits) * copies)
        trained = train(graphs, setting.spec(), recipe, splits * copies, list(seeds), DEVICE)
        return [own.history.train_loss for own in trained]

    alone = losses(0)
    found: dict[str, Any] = {"epochs": recipe.epochs, "seconds of ten folds": {}}
    for number in AT_ONCE:
        results: dict[int, list[list[float]]] = {}

        def run(position: int, results: dict[int, list[list[float]]] = results) -> None:
            results[position] = losses(100 * position)

        seconds = in_threads([lambda own=own: run(own) for own in range(number)])  # type: ignore[misc]
        found["seconds of ten folds"][f"{number} trainings"] = round(seconds / number, 3)
        found[f"same losses, {number} trainings"] = results[0] == alone
    start = time.perf_counter()
    members = losses(0, copies=4)
    seconds = (time.perf_counter() - start) / 4
    found["seconds of ten folds"]["40 members"] = round(seconds, 3)
    found["same losses, 40 members"] = members[: len(splits)] == alone
    return found


def main() -> None:
    """Measure everything and print it as JSON."""
    results: dict[str, Any] = {
        "command": "python results/performance.py",
        "versions": {own: installed_versions().get(own) for own in PACKAGES},
        "machine": this_machine("cuda"),
    }
    for name in DATASETS:
        setting, graphs = Setting.of(name), load_dataset(name)
        found: dict[str, Any] = {}
        for precision in ("highest", "high"):
            torch.set_float32_matmul_precision(precision)
            program = recorded(setting, graphs)
            seconds = epoch_seconds(program)
            found[precision] = {
                "350 epochs": round(350 * seconds, 2),
                "steps of an epoch": program.engine.steps,
                "share of slots with a node": round(share_of_slots(program.engine), 2),
                "kernels of a step": kernels_of(program),
            }
        torch.set_float32_matmul_precision("highest")
        found["at once"] = at_once(setting, graphs)
        results[name] = found
        print(name, file=sys.stderr, flush=True)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
