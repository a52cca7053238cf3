"""Folds that train together: rates, and skipped networks."""

import pytest

from clipgnn.baselines import ring_gnn
from clipgnn.bench import together
from clipgnn.bench.measurement import Plan
from clipgnn.parameters import MODELS


def test_folds_together_and_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {name: MODELS[name] for name in ("gin", "dcnn", "ring-gnn", "wl")}
    monkeypatch.setattr(together, "MODELS", chosen)
    monkeypatch.setattr(ring_gnn, "MAX_STORED_ENTRIES", 10)
    rows = together.measure(Plan(("csl", "unused"), rounds=1, seconds=0.0))
    assert [row.network for row in rows] == ["gin", "dcnn", "ring-gnn"]
    for row in rows[:2]:
        assert float(row.cells()["ratio"]) > 0
        assert row.remark() == ""
    assert rows[2].cells()["ratio"] == "–"
    assert rows[2].remark().startswith("ring-gnn is skipped: Ring-GNN stores a tensor")


def test_no_data_set() -> None:
    assert together.measure(Plan(())) == []
