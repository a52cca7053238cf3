"""Sampling of colorings: rates, and loops that return colorings."""

import torch

from clipgnn.bench import colorings
from clipgnn.bench.measurement import Plan


def test_rates(plan: Plan) -> None:
    [row] = colorings.measure(plan)
    for rates in (row.sampled, row.trained, row.looped):
        assert len(rates) == 2
        assert min(rates) > 0
    assert min(row.sampled) > max(row.looped)
    assert row.cells()["k"] == "16"


def test_loops_return_colorings() -> None:
    groups = torch.tensor([0, 1, 0, 0, 0, 1])
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    colors = colorings.colorings_by_loops(groups, 50, batch)
    assert colors[:, [0, 2]].sort(1).values.unique(dim=0).tolist() == [[0, 1]]
    assert colors[:, [3, 4]].unique(dim=0).tolist() == [[0, 1], [1, 0]]
    assert not colors[:, [1, 5]].any()
