"""Time from the call of `train` to curves."""

import os

import pytest

from clipgnn.bench.measurement import Plan
from clipgnn.bench.start import measure


def test_start_on_the_cpu(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", "unused")  # restored, because each task replaces it
    [row] = measure(plan)
    assert os.environ["TRITON_CACHE_DIR"] != "unused"
    assert (row.folds, row.setting.epochs) == (1, 1)
    assert len(row.empty) == 2
    for total, epochs in zip(row.filled, row.training, strict=True):
        assert 0 < epochs <= total < 60
    assert set(row.cells()) >= {"empty cache", "filled cache"}
