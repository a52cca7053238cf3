"""Peak memory of training compared with PyTorch Geometric."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from typing_extensions import override

from clipgnn.bench.measurement import Measurement, Plan, Row
from clipgnn.bench.peak import PeakMemory
from clipgnn.bench.peer import Peer
from clipgnn.bench.setting import (
    Setting,
    engine_for,
    epochs_of,
    program_for,
    small_graphs,
    splits_of,
)
from clipgnn.bench.timing import in_processes, synchronize
from clipgnn.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class Memory(Row):
    """Peak memory of an epoch with its evaluation, by round.

    Attributes:
        setting: the setting.
        ours: bytes of clipgnn.
        peer: bytes of PyTorch Geometric.
    """

    setting: Setting
    ours: list[int]
    peer: list[int]

    @property
    def medians(self) -> tuple[float, float]:
        """Medians of clipgnn and of PyTorch Geometric, in megabytes."""
        return statistics.median(self.ours) / 1e6, statistics.median(self.peer) / 1e6

    @override
    def cells(self) -> dict[str, str]:
        ours, peer = self.medians
        return {
            **self.setting.cells(),
            "MB": f"{ours:,.0f}",
            "PyG": f"{peer:,.0f}",
            "PyG / ours": f"{peer / ours:.1f}",
        }


@dataclass(frozen=True)
class _Task:
    setting: Setting
    root: Path | None
    device: str
    threads: int = 1


def measure(plan: Plan) -> list[Memory]:
    """Measure both on each data set, each in a new process."""
    rows = []
    for setting in map(Setting.of, plan.datasets):
        own = _Task(setting, plan.root, plan.device)
        other = replace(own, threads=plan.workers)
        ours = in_processes(_ours, [own] * plan.rounds)
        peer = in_processes(_peer, [other] * plan.rounds)
        rows.append(Memory(setting, ours, peer))
    return rows


def _ours(task: _Task) -> int:
    def epoch(graphs: PackedGraphs) -> None:
        setting, device = task.setting, torch.device(task.device)
        splits = splits_of(graphs)[: 1 if task.device == "cpu" else None]
        engine = engine_for(setting.spec(), graphs, setting.recipe(), splits, device)
        epochs_of(program_for(engine))()

    return _peak_of(epoch, task)


def _peer(task: _Task) -> int:
    def epoch(graphs: PackedGraphs) -> None:
        Peer.of(task.setting, graphs, torch.device(task.device)).epoch()

    return _peak_of(epoch, task)


def _peak_of(epoch: Callable[[PackedGraphs], object], task: _Task) -> int:
    torch.set_num_threads(task.threads)
    epoch(small_graphs())
    memory = PeakMemory(task.device)
    epoch(task.setting.graphs(task.root))
    synchronize(task.device)
    return memory.read()


MEASUREMENT = Measurement(
    title="Peak memory of training",
    note="Peak of loading the data and of one epoch with its evaluation, in a new process. On the "
    "CPU: resident memory of the process beyond that after an epoch on 20 small graphs (imports, "
    "memory of libraries), for one fold; clipgnn uses one such "
    "process for each core at the same time, PyTorch Geometric one. On a GPU: memory of tensors, "
    "for ten folds at once (clipgnn) and for one fold (PyTorch Geometric).",
    row=Memory,
    measure=measure,
)
