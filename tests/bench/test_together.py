"""The benchmark of folds that train together: the table that is printed, and skipped models."""

import sys

import pytest

from clipgnn import cli
from clipgnn.baselines import ring_gnn
from clipgnn.bench import together
from clipgnn.parameters import MODELS


def test_folds_together_and_one_by_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = {name: MODELS[name] for name in ("gin", "dcnn", "ring-gnn", "wl")}
    monkeypatch.setattr(together, "MODELS", chosen)
    monkeypatch.setattr(ring_gnn, "MAX_STORED_ENTRIES", 10)
    command = ["clipgnn", "bench", "csl", "--together", "--rounds", "1", "--seconds", "0"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert not caught.value.code
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines() if "│" in line]
    rates = {cells[1]: cells[3::2] for cells in rows}
    for name in ("gin", "dcnn"):
        assert all(float(rate) > 0 for rate in rates[name][:3])
    assert rates["ring-gnn"][:3] == ["–"] * 3
    assert "wl" not in rates
    assert "ring-gnn is skipped: Ring-GNN stores a tensor" in printed.err
