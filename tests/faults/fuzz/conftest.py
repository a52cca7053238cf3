"""Fuzz tests: no shape checks of the suite, a bound on memory, and the counts at the end."""

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
from tests.faults.fuzz.oracle import LEDGER, OUTPUT

MEMORY = 6 * 2**30
"""What a call may allocate on top of what is there: beyond it, memory errors are defects."""


@pytest.fixture(autouse=True, scope="module")
def _as_a_user_has_it() -> Iterator[None]:
    """clipgnn's own errors must answer, not those of the suite's shape checks."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True, scope="module")
def _bounded_memory() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(OSError):  # Linux only
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        if hard in (resource.RLIM_INFINITY, -1) or limit < hard:
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if OUTPUT is None:
        return
    LEDGER.write(Path(OUTPUT))
    if LEDGER.defects and session.exitstatus == 0:
        session.exitstatus = 1
