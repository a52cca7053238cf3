"""Time from the call of `train` to curves."""

from clipgnn.bench.measurement import Plan
from clipgnn.bench.start import measure


def test_start_on_the_cpu() -> None:
    [row] = measure(Plan(("csl",), rounds=1))
    assert (row.folds, row.setting.epochs) == (1, 1)
    [total], [epochs] = row.filled, row.training
    assert 0 < epochs <= total < 60
    assert set(row.cells()) >= {"empty cache", "filled cache"}
