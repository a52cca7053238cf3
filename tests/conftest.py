"""Configuration of every test: checked shapes, reproducible examples, optional packages."""

import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType

import jaxtyping
import pytest
import torch
from hypothesis import settings


class Blocked(MetaPathFinder):
    """Make the import of some packages fail, as if they were not installed."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Raise ModuleNotFoundError for a blocked package; leave others to the next finder."""
        if fullname.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {fullname!r} (blocked)", name=fullname)


# CLIPGNN_TEST_WITHOUT=igraph,grakel,pandas,pyarrow,ray runs the suite as it runs without these.
if "CLIPGNN_TEST_WITHOUT" in os.environ:
    sys.meta_path.insert(0, Blocked(os.environ["CLIPGNN_TEST_WITHOUT"].split(",")))


def is_installed(package: str) -> bool:
    """Whether an optional package can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked `needs("package")` where the package is not installed."""
    for marker in item.iter_markers("needs"):
        for package in marker.args:
            if not is_installed(package):
                pytest.skip(f"{package} is not installed")


# Without a GPU, Triton's interpreter runs the kernels; it is chosen before they are loaded.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

# Triton reads the source of its kernels, which the hook below would change.
if is_installed("triton"):
    for module in pkgutil.iter_modules(
        [str(Path(__file__).parents[1] / "src/clipgnn/ops/kernels")]
    ):
        if module.name != "launch":  # has no kernels
            importlib.import_module(f"clipgnn.ops.kernels.{module.name}")

# The hook changes modules as they are loaded, so it precedes every import of clipgnn. Without
# beartype the annotations are not checked.
if is_installed("beartype"):
    from tests import annotation_checks

    annotation_checks.install("clipgnn")
else:
    collect_ignore = ["annotation_checks.py", "test_annotation_checks.py"]

if "OMP_NUM_THREADS" not in os.environ:
    torch.set_num_threads(1)

settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci")


@pytest.fixture
def double() -> Iterator[None]:
    """Compute in float64, in which batched and single computations agree to 1e-10."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


WHOLE_PROGRAMS = {
    "bench",
    "commands",
    "estimators",
    "experiments",
    "faults",
    "report",
    "theory",
} | {
    *("test_attributes.py", "test_checkpoint.py", "test_shuffle.py", "test_splits.py"),
    *("test_stream.py", "test_trained.py", "test_workers.py"),
    *("test_docs.py", "test_examples.py"),
}
"""Folders and files of tests that train whole models. Shapes are checked in the tests of the layers
and of the engine; here the checks would take a quarter of the time."""


@pytest.fixture(autouse=True)
def _fast_programs(request: pytest.FixtureRequest) -> None:
    path = request.node.path
    if {path.parent.name, path.name} & WHOLE_PROGRAMS:
        request.getfixturevalue("without_shape_checks")


@pytest.fixture
def without_shape_checks() -> Iterator[None]:
    """Disable the checks of shapes, so that bad input raises clipgnn's own errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
