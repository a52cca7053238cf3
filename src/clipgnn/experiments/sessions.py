"""Which process is at work on a store, and whether it still lives.

A claim on a trial belongs to a session, the stay of one process on a store. On the machine of the
process its number and start time say whether it lives; from another machine, only that it has
signed its session lately does.
"""

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

SIGN_SECONDS = 15.0
"""How often a process signs its session."""

EXPIRY_SECONDS = 180.0
"""How long a process on another machine may be silent before its claims are free again."""


@dataclass(frozen=True)
class Session:
    """The stay of one process on a store.

    Attributes:
        identity: a random name.
        machine: where the process runs: host, boot and process namespace.
        process: number of the process.
        started: start time of the process, which tells it from a later one of that number.
    """

    identity: str
    machine: str
    process: int
    started: str

    @classmethod
    def of_this_process(cls) -> "Session":
        """A new session of the process that calls."""
        process = os.getpid()
        return cls(uuid4().hex, _machine(), process, _start_time(process) or "unknown")

    def is_alive(self, signed: float) -> bool:
        """Does the process live that last signed at this time?"""
        if self.machine != _machine():
            return time.time() - signed < EXPIRY_SECONDS
        return self.started == (_start_time(self.process) or "gone")


def _machine() -> str:
    """This host since its last boot; processes of other containers have other numbers."""
    boot, namespace = "", ""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        pass  # no /proc: the host's name alone must do
    return f"{platform.node()} {boot} {namespace}".strip()


def _start_time(process: int) -> str | None:
    """When a process began, in ticks since boot; None if there is no such process."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        return "unknown" if _answers(process) else None
    # The second field is the program's name in parentheses, which may hold spaces itself.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _answers(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
