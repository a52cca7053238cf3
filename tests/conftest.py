"""What every test runs under: checked tensor shapes, reproducible examples, one thread."""

import importlib.util
import os
from collections.abc import Iterator

import jaxtyping
import pytest
import torch
from hypothesis import settings

# Before anything imports clipgnn: the hook checks annotations as modules are loaded. The suite
# also runs on machines without beartype, where the annotations are only read.
if importlib.util.find_spec("beartype") is not None:
    jaxtyping.install_import_hook("clipgnn", "beartype.beartype")

if "OMP_NUM_THREADS" not in os.environ:
    torch.set_num_threads(1)

settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci")


@pytest.fixture
def double() -> Iterator[None]:
    """Rounding aside, batched and single computations agree; in float64 it is aside."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def without_shape_checks() -> Iterator[None]:
    """For bad input, so that clipgnn's own errors answer it and not those of the checks."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
