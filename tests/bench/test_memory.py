"""Peak memory of training, each in a new process."""

from collections.abc import Callable

import pytest

from clipgnn.bench import memory
from clipgnn.bench.measurement import Plan
from clipgnn.bench.memory import Memory
from clipgnn.bench.setting import Setting, small_graphs
from clipgnn.bench.timing import in_processes
from clipgnn.graphs.packed import PackedGraphs


def test_both_are_measured(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def run_and_return(epoch: Callable[[PackedGraphs], object], task: memory._Task) -> int:
        calls.append(task)
        epoch(small_graphs())
        return 7

    monkeypatch.setattr(memory, "_peak_of", run_and_return)
    [row] = memory.measure(plan)
    assert (row.ours, row.peer) == ([7, 7], [7, 7])
    assert [task.threads for task in calls] == [1, 1, 2, 2]


@pytest.mark.slow
def test_activations_count_in_a_new_process() -> None:
    task = memory._Task(Setting("csl", 64, 1, 16), None, "cpu")
    [peak] = in_processes(memory._ours, [task])
    # An activation of 32 graphs of 41 nodes, 64 colorings and 16 channels in float32 has 5.4 MB.
    assert 2 * 5.4e6 < peak < 40 * 5.4e6


def test_cells() -> None:
    cells = Memory(Setting("csl"), [20_000_000, 10_000_000, 20_000_000], [50_000_000]).cells()
    assert (cells["MB"], cells["PyG"], cells["PyG / ours"]) == ("20", "50", "2.5")
