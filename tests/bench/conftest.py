"""Small settings, and tasks that run in this process instead of new ones."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from clipgnn.bench import growth, inference, memory, start, training
from clipgnn.bench.measurement import Plan
from clipgnn.bench.setting import Setting
from clipgnn.graphs.packed import PackedGraphs


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Return a plan for one small network, without new processes."""
    monkeypatch.setattr(Setting, "of", lambda dataset: Setting(dataset, 2, 1, 4))
    for module in (growth, inference, memory, start, training):
        monkeypatch.setattr(module, "in_processes", in_this_process)
    return Plan(("csl",), rounds=2, seconds=0.0, workers=2)


@pytest.fixture
def few_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep two of the ten classes of a data set, which has fifteen graphs of each."""
    load = Setting.graphs

    def some(self: Setting, root: Path | None) -> PackedGraphs:
        graphs = load(self, root)
        return graphs.subset((graphs.targets < 2).nonzero()[:, 0])

    monkeypatch.setattr(Setting, "graphs", some)


def in_this_process(run: Callable[[Any], Any], tasks: Sequence[Any], workers: int = 1) -> list[Any]:
    threads = torch.get_num_threads()
    try:
        return [run(task) for task in tasks]
    finally:
        torch.set_num_threads(threads)
