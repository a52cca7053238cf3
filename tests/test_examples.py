"""The scripts of the folder examples run, in their quick modes."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_every_example_is_tested() -> None:
    assert [path.name for path in EXAMPLES.glob("*.py")] == ["pyg_colorings.py"]


def test_colorings_for_a_network_of_pyg(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = EXAMPLES / "pyg_colorings.py"
    monkeypatch.setattr(sys, "argv", [script.name, "--epochs", "1", "--copies", "2"])
    runpy.run_path(str(script), run_name="__main__")
    first, second = capsys.readouterr().out.splitlines()
    assert first == "0 colorings: 10.0% of 20 graphs"
    assert re.fullmatch(r"4 colorings: \d+\.\d% of 20 graphs", second)
