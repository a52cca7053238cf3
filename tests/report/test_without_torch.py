"""A table can be drawn, and a store read, on a machine without torch."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.report.kept import run_with_predictions

SOURCE = Path(__file__).parents[2] / "src"

BLOCKED = """
import sys
sys.modules["torch"] = None
sys.path.insert(0, sys.argv[1])
import {modules}
assert not [name for name in sys.modules if name.split(".")[0] in ("torch", "torch_geometric")
            and sys.modules[name] is not None]
"""

# SciPy reads attributes of torch if it is in sys.modules.
WITHOUT = """
import sys
class Finder:
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(fullname)
sys.meta_path.insert(0, Finder())
sys.path.insert(0, sys.argv[1])
sys.argv = ["clipgnn", "report", "a.sqlite", "-o", "{name}"]
from clipgnn.cli import main
main()
"""


@pytest.mark.parametrize(
    "modules",
    [
        "clipgnn.report",
        "clipgnn.report.coloring_figure, clipgnn.report.drawings",
        "clipgnn.report.comparison_page",
        "clipgnn.experiments",
        "clipgnn.experiments.store",
        "clipgnn.cli",
    ],
)
def test_no_torch(modules):
    code = BLOCKED.format(modules=modules)
    done = subprocess.run(
        [sys.executable, "-c", code, str(SOURCE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_page_needs_no_torch_and_a_table_no_matplotlib(tmp_path):
    """The page has figures of predictions, whose files and targets are read too."""
    run_with_predictions(tmp_path / "a.sqlite")
    for name, blocked in (("page.html", ["torch"]), ("table.csv", ["torch", "matplotlib"])):
        code = WITHOUT.format(blocked=blocked, name=name)
        done = subprocess.run(
            [sys.executable, "-c", code, str(SOURCE)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, f"Report: {name}\n")
    assert "confusion-16-clip-csl" in (tmp_path / "page.html").read_text()
