"""The scripts of the folder examples run, most of them with little training."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

EXPECTED = {
    "five_lines.py": ([], r"\['ring'\]\n"),
    "networks.py": (
        ["--graphs", "6", "--epochs", "3"],
        r".*accuracy.*ring lattice of 30 nodes, small world: [01]\.\d\d.*most important",
    ),
    "molecules.py": (
        ["--epochs", "2"],
        r"204 training molecules, RMSE on 52 others: .*least sure: .*ethanol: .*without O: [+-]",
    ),
    "scikit_learn.py": (
        ["--epochs", "2"],
        r"accuracy over 3 folds: .*best number of colorings: [04]\n.*calibrated",
    ),
    "pyg_loop.py": (
        ["--epochs", "1"],
        r"message passing: 50% of the graphs\nCLIP: \d+% of the graphs\nimportance",
    ),
    "pyg_colorings.py": (
        ["--epochs", "1", "--copies", "2"],
        r"0 colorings: 10.0% of 20 graphs\n4 colorings: \d+\.\d% of 20 graphs",
    ),
    "lightning_module.py": (["--epochs", "1"], r".*validation accuracy: [01]\.\d\d"),
    "skorch_net.py": (["--epochs", "1"], r".*validation accuracy: [01]\.\d\d"),
}
"""Arguments of each script, and what it prints."""

PACKAGES = {
    "molecules.py": "rdkit",
    "lightning_module.py": "lightning",
    "skorch_net.py": "skorch",
}
"""Optional package that a script needs."""


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED)
    # The experiment is tested in tests/commands/test_own_experiment.py.
    assert {path.parent.name for path in EXAMPLES.glob("*/*.toml")} == {"own_experiment"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.needs(PACKAGES[name])] if name in PACKAGES else [])
        for name in EXPECTED
    ],
)
def test_an_example_runs(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, printed = EXPECTED[name]
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert re.match(printed, capsys.readouterr().out, re.DOTALL)


def test_the_five_lines_are_those_of_the_readme() -> None:
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    lines = (EXAMPLES / "five_lines.py").read_text(encoding="utf-8").partition("\n\n")[2]
    assert f"```python\n{lines}```" in readme
