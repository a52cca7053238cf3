"""Compilation of kernels in several processes, where Triton's cache does not have them yet.

Triton compiles a kernel when it is first launched, one after the other, and its compiler holds
Python's interpreter lock. A training needs about 30 kernels, which takes half a minute. Here a new
process imports Triton, without using the device, and divides into as many processes as there are
cores. Triton's cache on disk, which all processes share, then has the kernels.
"""

import hashlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime import driver

from clipgnn.ops.kernels.kernel import collecting, compile_described, kernel_of

WORTH_PROCESSES = 3
"""Smallest number of kernels that compile in processes sooner than one after the other."""

MAX_SECONDS = 300
"""Seconds after which kernels are compiled one after the other instead."""


@contextmanager
def compiling() -> Iterator[None]:
    """Compile the kernels that are launched inside, without launching them.

    What they should compute is any numbers. A kernel whose compilation fails is compiled when it is
    launched, and raises the error there.
    """
    folder = _folder()
    # A new process needs seconds; begin early if nothing has been compiled.
    compiler = None if folder.exists() else _Compiler.start()
    try:
        with collecting() as descriptions:
            yield
    except BaseException:
        if compiler is not None:
            compiler.stop()
        raise
    markers = {own: folder / hashlib.sha256(own.encode()).hexdigest() for own in descriptions}
    missing = [own for own, marker in markers.items() if not marker.exists()]
    if compiler is None and len(missing) >= WORTH_PROCESSES:
        compiler = _Compiler.start()
    if compiler is not None:
        compiler.compile(missing)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for own in missing:
            markers[own].touch()


def _folder() -> Path:
    """A folder in Triton's cache with a file for each kernel that was compiled for this GPU."""
    digest = hashlib.sha256(triton.__version__.encode())
    digest.update(str(torch.cuda.get_device_capability()).encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return Path(triton.knobs.cache.dir) / f"clipgnn-{digest.hexdigest()}"


class _Compiler:
    """A process that compiles kernels."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    def start(cls) -> "_Compiler | None":
        """Start the process; return None where that is not possible."""
        if not torch.version.cuda:
            return None
        path = os.pathsep.join(own for own in sys.path if own)
        with suppress(OSError):
            return cls(
                subprocess.Popen(
                    [sys.executable, "-m", __name__],
                    env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    start_new_session=True,  # so that `stop` reaches the processes it divides into
                )
            )
        return None

    def compile(self, descriptions: list[str]) -> None:
        """Compile kernels and end the process."""
        target = json.dumps(astuple(driver.active.get_current_target()))
        try:
            self._process.communicate("\n".join([target, *descriptions]), timeout=MAX_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self.stop()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill the process and those that it has divided into."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError):
            self._process.communicate()


def _main() -> None:
    """Compile the kernels that are described on the standard input."""
    target, *descriptions = sys.stdin.read().splitlines()
    driver.set_active(_driver_for(GPUTarget(*json.loads(target))))
    for own in descriptions:
        kernel_of(own)  # imported once, for all processes
    number = max(1, min(len(os.sched_getaffinity(0)), len(descriptions)))
    forks = multiprocessing.get_context("fork")  # no thread runs here, and the device is not used
    with ProcessPoolExecutor(number, mp_context=forks) as pool:
        for own in descriptions:
            pool.submit(compile_described, own)


def _driver_for(target: GPUTarget) -> DriverBase:
    """A driver that does not use the device."""
    from triton.backends.nvidia.driver import CudaDriver  # not in every build of Triton

    own = CudaDriver()
    own.get_current_target = lambda: target
    own.get_current_device = lambda: 0
    own.get_current_stream = lambda _: 0
    return own


if __name__ == "__main__":
    _main()
