"""Growth of the cost: the table that is printed."""

import pytest

from clipgnn.bench import scaling


def test_growth_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scaling, "NODES", 40)
    monkeypatch.setattr(scaling, "training_step", lambda **size: lambda: None)
    scaling.measure(rounds=1)
    printed = capsys.readouterr().out
    assert "exponent" in printed
    assert "T (layers)" in printed
