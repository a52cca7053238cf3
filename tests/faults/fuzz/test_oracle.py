"""The rule of the fuzz tests: what it counts, and what it calls a defect."""

import json
import time

import pytest
from tests.faults.fuzz import __main__ as runner
from tests.faults.fuzz import oracle

from clipgnn.errors import ClipGNNError


@pytest.fixture
def ledger(monkeypatch):
    monkeypatch.setattr(oracle, "LEDGER", oracle.Ledger())
    monkeypatch.setattr(oracle, "OUTPUT", None)
    return oracle.LEDGER


def refuse():
    raise ClipGNNError("It must not. It is. Do not.")


def silently():
    raise ClipGNNError


def nothing(result):
    assert result is None


def test_refused_and_accepted_are_counted(ledger):
    oracle.judge("entry", 0, refuse, nothing)
    oracle.judge("entry", 0, lambda: None, nothing)
    assert ledger.outcomes == {("entry", "refused"): 1, ("entry", "accepted"): 1}


@pytest.mark.parametrize("call", [lambda: 1, lambda: 1 / 0, silently])
def test_anything_else_is_a_defect(ledger, monkeypatch, tmp_path, call):
    with pytest.raises((AssertionError, ZeroDivisionError)):
        oracle.judge("entry", "this input", call, nothing)
    monkeypatch.setattr(oracle, "OUTPUT", "somewhere")
    oracle.judge("entry", "this input", call, nothing)
    oracle.judge("entry", "another", call, nothing)
    ledger.write(tmp_path / "counts.json")
    report = json.loads((tmp_path / "counts.json").read_text())
    assert report["inputs"] == {"entry": {"defect": 2}}
    [text] = report["defects"].values()
    assert "this input" in text
    assert "| entry | 2 | 0 | 0 | 2 |" in runner.as_markdown(runner.merged([report], seed=1))


def test_what_takes_too_long_is_a_defect(ledger, monkeypatch):
    monkeypatch.setattr(oracle, "SECONDS", 0.05)
    with pytest.raises(oracle.TooSlowError):
        oracle.judge("entry", 0, lambda: time.sleep(0.2), nothing)


def test_shares_are_shares():
    assert sum(oracle.SHARES.values()) == pytest.approx(1.0)


def test_the_runner_knows_every_file():
    assert {path.stem for path in runner.FOLDER.glob("test_*.py")} == {
        f"test_{name}" for name in runner.NAMES
    }
