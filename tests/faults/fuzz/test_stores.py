"""Damaged stores: refused, or the table of the undamaged one."""

import contextlib
import io
import sys
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.fake_cli import fake_run_trials
from tests.faults.fuzz.oracle import budget, judge
from tests.faults.fuzz.strategies import damage

from clipgnn import cli
from clipgnn.errors import ClipGNNError
from clipgnn.experiments import trial

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


def clipgnn(*words: str) -> str:
    """What the command prints; its refusal is raised, as the library raises it."""
    printed, errors = io.StringIO(), io.StringIO()
    status: object = 0
    with (
        mock.patch.object(sys, "argv", ["clipgnn", "experiment", *words]),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(errors),
    ):
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
    if status == 2:
        message = errors.getvalue()
        assert message.startswith("clipgnn: ")
        assert "Traceback" not in message
        raise ClipGNNError(message)
    assert status == 0, errors.getvalue()
    return printed.getvalue()


def table(path: Path) -> str:
    """Every fold of every cell, without the lines that say where it comes from."""
    text = clipgnn("report", "small", "--store", str(path), "--format", "csv")
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str, Path]:
    folder = tmp_path_factory.mktemp("stores")
    spec, path = folder / "small.toml", folder / "small.sqlite"
    spec.write_text(SPEC)
    with mock.patch.object(trial, "run_trials", fake_run_trials):
        where = ("--store", str(path), "--executor", "in-process", "--device", "cpu")
        clipgnn("run", str(spec), *where)
    right = table(path)
    assert right.count("True") >= 2
    return path.read_bytes(), right, path


@budget("experiment report")
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
        "experiment report",
        {"first changed bytes": changed[:20], "length": (len(content), len(damaged))},
        lambda: table(path),
        check,
    )
