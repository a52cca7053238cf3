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


def counted(**changes):
    inputs = {entry: {"accepted": 1, "refused": 9} for entry in oracle.SHARES}
    inputs.update(changes)
    return runner.merged([{"inputs": inputs, "defects": {}}], seed=1)


def test_what_a_run_did_not_test_is_a_shortfall():
    total = 10 * len(oracle.SHARES)
    assert runner.shortfalls(counted(), total) == []
    assert runner.shortfalls(counted(), total + 1) == [
        f"{total} inputs, fewer than the {total + 1} asked for"
    ]
    text = "train: no input was accepted and checked"
    assert runner.shortfalls(counted(train={"refused": 10}), total) == [text]
    missing = counted()
    del missing["inputs"]["train"]
    assert runner.shortfalls(missing, total) == [text]


@pytest.mark.parametrize("report", [counted(), counted(train={"refused": 10}), counted(train={})])
def test_a_run_with_a_shortfall_fails(monkeypatch, report):
    monkeypatch.setattr(runner, "run_file", lambda name, *rest: {"inputs": {}, "defects": {}})
    monkeypatch.setattr(runner, "merged", lambda reports, seed: report)
    whole = report["inputs"]["train"].get("accepted") == 1
    assert runner.main(["--examples", "10", "--seed", "1", "--jobs", "1"]) == (0 if whole else 1)


@pytest.mark.parametrize("total", [1, 999, 2000, 12345])
def test_the_budgets_come_to_the_total(monkeypatch, total):
    monkeypatch.setattr(oracle, "_EXAMPLES", str(total))
    assert sum(oracle.budget(entry).max_examples for entry in oracle.SHARES) >= total


def test_the_runner_knows_every_file():
    assert {path.stem for path in runner.FOLDER.glob("test_*.py")} == {
        f"test_{name}" for name in runner.NAMES
    }
