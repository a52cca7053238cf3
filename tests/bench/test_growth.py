"""Growth of the cost: exponents, and what is measured on each device."""

import pytest

from clipgnn.bench import growth
from clipgnn.bench.growth import Growth
from clipgnn.bench.measurement import Plan


def test_the_exponent_is_the_slope() -> None:
    row = Growth("k", "step, ms", [1, 2, 4], [3.0, 12.0, 48.0])
    assert row.exponent == pytest.approx(2)
    assert row.cells()["exponent"] == "2.00"


def test_time_and_memory_of_generated_graphs(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "NUM_GRAPHS", (20, 80))
    monkeypatch.setattr(growth, "training_step", lambda **size: lambda: None)
    *steps, seconds, memory = growth.measure(plan)
    assert [row.quantity[0] for row in steps] == ["k", "E", "E", "T"]
    assert seconds.sizes == memory.sizes == [20, 80]
    assert 0 < seconds.costs[0] < seconds.costs[1]
    assert len(memory.costs) == 2


def test_minimum_times() -> None:
    step = growth.training_step(k=2, nodes=40, degree=2, layers=1)

    def ten_steps() -> None:
        for _ in range(10):
            step()

    one, ten = growth.minimum_times([step, ten_steps], 3)
    assert 0 < one < ten
