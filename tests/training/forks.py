"""A process that imports everything once, and forks others to kill them or to train together.

A test starts it with `python -m` and the name of a module with a function `main`; forks of the test
process itself would be unsafe, because it has threads.
"""

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 120.0
"""Time after which processes are killed instead of waiting for them."""


def run_module(name: str, *arguments: str, seconds: float = SECONDS) -> str:
    """Run a module in a new process and return what it prints; errors of it are errors here."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "OMP_NUM_THREADS": "1",
    }
    found = subprocess.run(
        [sys.executable, "-m", name, *arguments],
        cwd=ROOT,
        env=environment,
        timeout=seconds,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def fork(work: Callable[[], None]) -> int:
    """Start a process that does some work, and return its PID."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # the process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def wait(pids: Sequence[int], seconds: float = SECONDS) -> list[int]:
    """Wait for processes and return their exit codes, negative for signals.

    If one fails or time is over, the others are killed.
    """
    codes: dict[int, int] = {}
    deadline = time.monotonic() + seconds
    while len(codes) < len(pids):
        for pid in set(pids) - set(codes):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                codes[pid] = os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline or any(codes.values()):
            for pid in set(pids) - set(codes):
                os.kill(pid, signal.SIGKILL)
                codes[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        time.sleep(0.002)
    return [codes[pid] for pid in pids]
