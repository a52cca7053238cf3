"""Seconds from the call of `train` in a new process to finished curves."""

import os
import statistics
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import override

from clipgnn.bench.measurement import Measurement, Plan, Row
from clipgnn.bench.setting import SEED, Setting, splits_of
from clipgnn.bench.timing import in_processes
from clipgnn.training import train


@dataclass(frozen=True)
class Start(Row):
    """Seconds of a cross-validation, by round.

    Attributes:
        setting: the setting; on the CPU with one epoch.
        folds: number of folds.
        empty: seconds with an empty cache of compiled kernels.
        filled: seconds with the cache that the run before has filled.
        training: seconds of the epochs alone, in the runs with a filled cache.
    """

    setting: Setting
    folds: int
    empty: list[float]
    filled: list[float]
    training: list[float]

    @override
    def cells(self) -> dict[str, str]:
        return {
            **self.setting.cells(),
            "folds × epochs": f"{self.folds} × {self.setting.epochs}",
            "empty cache": f"{statistics.median(self.empty):.1f} s",
            "filled cache": f"{statistics.median(self.filled):.1f} s",
            "of it epochs": f"{statistics.median(self.training):.1f} s",
        }


@dataclass(frozen=True)
class _Task:
    setting: Setting
    folds: int
    root: Path | None
    device: str
    cache: str


def measure(plan: Plan) -> list[Start]:
    """Measure each data set twice in each round, the second time with a filled cache."""
    rows = []
    for setting in map(Setting.of, plan.datasets):
        folds = 10
        if not plan.on_gpu:
            setting, folds = replace(setting, epochs=1), 1
        row = Start(setting, folds, [], [], [])
        for _ in range(plan.rounds):
            with tempfile.TemporaryDirectory() as cache:
                task = _Task(setting, folds, plan.root, plan.device, cache)
                (first, _), (second, epochs) = in_processes(_seconds, [task, task])
            row.empty.append(first)
            row.filled.append(second)
            row.training.append(epochs)
        rows.append(row)
    return rows


def _seconds(task: _Task) -> tuple[float, float]:
    """Seconds of the call of `train`, and of its epochs."""
    os.environ["TRITON_CACHE_DIR"] = task.cache
    setting, graphs = task.setting, task.setting.graphs(task.root)
    splits = splits_of(graphs)[: task.folds]
    seeds = range(SEED, SEED + task.folds)
    start = time.perf_counter()
    trained = train(graphs, setting.spec(), setting.recipe(), splits, list(seeds), task.device)
    total = time.perf_counter() - start
    return total, max(own.history.seconds for own in trained)


MEASUREMENT = Measurement(
    title="From the call of `train` to finished curves",
    note="In a new process that has imported clipgnn and loaded the data: start of the device, "
    "compilation of kernels, recording, all epochs. On the CPU, which compiles nothing, one epoch "
    "of one fold.",
    row=Start,
    measure=measure,
)
