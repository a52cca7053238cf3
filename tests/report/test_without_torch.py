"""A table can be drawn, and a store read, on a machine without torch."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

BLOCKED = """
import sys
sys.modules["torch"] = None
sys.path.insert(0, sys.argv[1])
import {modules}
assert not [name for name in sys.modules if name.split(".")[0] in ("torch", "torch_geometric")
            and sys.modules[name] is not None]
"""


@pytest.mark.parametrize(
    "modules",
    [
        "clipgnn.report",
        "clipgnn.report.coloring_figure, clipgnn.report.curve_figure, clipgnn.report.score_figure",
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
