"""Damaged stores: refused, or the table of the undamaged one."""

from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiments.fake_training import diverging
from tests.faults.command import experiment, numbers, report
from tests.faults.fuzz.oracle import budget, judge
from tests.faults.fuzz.strategies import damage

from clipgnn.experiments.trial import Trial, TrialResult

SPEC = """
title = "A small table"
datasets = ["csl"]
folds = 2
[grid]
epochs = 3
num_layers = [1, 2]
[[models]]
model = "clip"
num_colorings = 0
[[models]]
name = "other"
model = "gin"
"""


def train(trials: Sequence[Trial], **_: object) -> list[TrialResult]:
    """One fold of the larger "other" diverges."""
    bad = {
        own.identity
        for own in trials
        if own.model == "gin" and own.parameters["num_layers"] == 2 and own.fold == 0
    }
    return diverging(trials, bad=bad)


def table(path: Path) -> str:
    """Every fold of every cell."""
    return numbers(report(str(path), "--format", "csv"))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str, Path]:
    folder = tmp_path_factory.mktemp("stores")
    spec, path = folder / "small.toml", folder / "small.sqlite"
    spec.write_text(SPEC)
    with mock.patch("clipgnn.experiments.work.run_trials", train):
        where = ("--store", str(path), "--executor", "in-process", "--device", "cpu")
        experiment("run", str(spec), *where)
    assert "1 diverged" in experiment("status", "small", "--store", str(path))
    right = table(path)
    assert right.count("True") >= 2
    return path.read_bytes(), right, path


@budget("report")
@given(st.data())
def test_damaged_store(stored: tuple[bytes, str, Path], data: st.DataObject) -> None:
    content, right, path = stored
    damaged = data.draw(damage(content))
    path.write_bytes(damaged)
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
    changed = [
        place for place, byte in enumerate(damaged) if content[place : place + 1] != bytes([byte])
    ]

    def check(found: str) -> None:
        assert found == right

    judge(
        "report",
        {"first changed bytes": changed[:20], "length": (len(content), len(damaged))},
        lambda: table(path),
        check,
    )
