"""Compilation of kernels in several processes, where Triton's cache does not have them yet.

Triton compiles a kernel when it is first launched, one after the other, and its compiler holds
Python's interpreter lock. A training needs about 30 kernels, which takes half a minute. Processes
share Triton's cache on disk, so that each of them can compile some of the kernels.
"""

# mypy: ignore-errors
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple
from functools import cache
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaDriver
from triton.runtime import driver

from clipgnn.ops.kernels.kernel import collecting, compile_described

MAX_PROCESSES = 16
"""Largest number of processes that compile at the same time."""

WORTH_PROCESSES = 3
"""Smallest number of kernels that compile in processes sooner than one after the other."""


@contextmanager
def compiling() -> Iterator[None]:
    """Compile the kernels that are launched inside, without launching them.

    What they should compute is any numbers. If a process fails, its kernels are compiled when they
    are launched, and an error is raised there.
    """
    with collecting() as descriptions:
        yield
    with suppress(OSError):
        markers = {own: _marker(own) for own in dict.fromkeys(descriptions)}
        missing = [own for own, marker in markers.items() if not marker.exists()]
        if len(missing) >= WORTH_PROCESSES and torch.version.cuda:
            _compile_in_processes(missing)
        for own in missing:
            markers[own].parent.mkdir(parents=True, exist_ok=True)
            markers[own].touch()


def _marker(description: str) -> Path:
    """A file in Triton's cache that exists if a kernel has been compiled for this GPU."""
    parts = (description, triton.__version__, str(torch.cuda.get_device_capability()), _source())
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return Path(triton.knobs.cache.dir) / "clipgnn" / digest


@cache
def _source() -> str:
    """Digest of the source of all kernels."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(own.read_bytes() for own in files)).hexdigest()


def _compile_in_processes(descriptions: list[str]) -> None:
    number = min(MAX_PROCESSES, len(os.sched_getaffinity(0)), len(descriptions))
    target = json.dumps(astuple(driver.active.get_current_target()))
    path = os.pathsep.join(own for own in sys.path if own)
    processes = []
    for part in range(number):
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write("\n".join([target, *descriptions[part::number]]))
        processes.append(process)
    for process in processes:
        process.wait()


def _main() -> None:
    """Compile the kernels that are described on the standard input."""
    target, *descriptions = sys.stdin.read().splitlines()
    driver.set_active(_driver_for(GPUTarget(*json.loads(target))))
    for description in descriptions:
        compile_described(description)


def _driver_for(target: GPUTarget) -> CudaDriver:
    """A driver that does not use the device: in many processes, that would take seconds."""
    own = CudaDriver()
    own.get_current_target = lambda: target
    own.get_current_device = lambda: 0
    own.get_current_stream = lambda _: 0
    return own


if __name__ == "__main__":
    _main()
