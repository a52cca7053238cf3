"""Speed of training: rates by round and their ratio."""

import pytest

from clipgnn.bench import training
from clipgnn.bench.measurement import Plan
from clipgnn.bench.setting import Setting
from clipgnn.bench.training import Training


@pytest.mark.usefixtures("few_graphs")
def test_rates_of_every_round(plan: Plan) -> None:
    [row] = training.measure(plan)
    assert row.setting.dataset == "csl"
    assert len(row.ours) == len(row.peer) == 2
    assert all(rate > 0 for rate in (*row.ours, *row.peer))
    assert row.compile_seconds is None


def test_our_rate_is_the_sum_over_processes(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "rate_of", lambda *arguments: 3.0)
    [row] = training.measure(plan)
    assert row.ours == [6.0, 6.0]
    assert row.peer == [3.0, 3.0]


def test_cells() -> None:
    row = Training(Setting("csl"), [4.0, 8.0, 8.0], [2.0, 2.0, 4.0])
    assert row.ratio == 4
    cells = row.cells()
    assert (cells["fold-epochs/s"], cells["PyG"], cells["ratio"]) == ("8", "2", "4.0")
    assert cells["by round"] == "2.0 to 4.0"
    assert "compilation" not in cells
    cells = Training(Setting("csl"), [35.0], [3.5], 20.0).cells()
    assert (cells["ten folds"], cells["ten folds, PyG"]) == ("100.0 s", "1000 s")
    assert cells["compilation"] == "20 s"
