"""Speed of inference: rates by round, and the share of matrix products."""

import pytest

from clipgnn.bench import inference
from clipgnn.bench.measurement import Plan


@pytest.mark.usefixtures("few_graphs")
def test_rates_and_shares(plan: Plan) -> None:
    [row] = inference.measure(plan)
    assert row.setting.num_colorings == 16
    assert len(row.ours) == len(row.peer) == 2
    assert all(rate > 0 for rate in (*row.ours, *row.peer))
    assert 0 < row.our_product_share < 1
    assert 0 < row.peer_product_share < 1
    assert row.cells()["products"].endswith("%")


def test_rates_count_graphs_of_all_processes(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "rate_of", lambda *arguments: 1.0)
    monkeypatch.setattr(inference, "product_share", lambda *arguments: 0.5)
    [row] = inference.measure(plan)
    assert row.ours == [300, 300]  # csl has 150 graphs, and there are two processes
    assert row.peer == [150, 150]
