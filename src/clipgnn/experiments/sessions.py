"""Sessions: processes that run trials of a store, and whether they are alive.

A claim on a trial belongs to a session, which is one process that has a store open. On the same
machine, its PID and start time show whether it is alive; from another machine, only its heartbeats
in the store do.
"""

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

HEARTBEAT_SECONDS = 15.0
"""Seconds between two heartbeats."""

EXPIRY_SECONDS = 180.0
"""Seconds without a heartbeat after which claims from another machine expire."""


@dataclass(frozen=True)
class Session:
    """A process that has a store open.

    Attributes:
        identity: random name of the session.
        machine: host, boot and PID namespace of the process.
        process: PID of the process.
        started: start time of the process, which distinguishes it from a later one with that PID.
    """

    identity: str
    machine: str
    process: int
    started: str

    @classmethod
    def of_this_process(cls) -> "Session":
        """Create a session of the calling process."""
        process = os.getpid()
        return cls(uuid4().hex, _machine(), process, _start_time(process) or "unknown")

    @property
    def here(self) -> bool:
        """Whether the process runs on this machine, in the same PID namespace."""
        return self.machine == _machine()

    def is_alive(self, silence: float) -> bool:
        """Whether the process is alive.

        Args:
            silence: seconds since its last heartbeat; used only for other machines.
        """
        if not self.here:
            return silence < EXPIRY_SECONDS
        return self.started == (_start_time(self.process) or "gone")

    def __str__(self) -> str:
        host = self.machine.partition(" ")[0] or "an unnamed machine"
        return f"process {self.process} on {'this machine' if self.here else host}"


@dataclass(frozen=True)
class Claimant:
    """A session that has claimed trials.

    Attributes:
        session: the session.
        trials: identities of the trials.
        silence: seconds since its last heartbeat, by the clock of this machine.
        ahead: seconds by which its last heartbeat is in the future, because its clock is ahead of
            this machine's; otherwise 0.
    """

    session: Session
    trials: frozenset[str]
    silence: float
    ahead: float

    @property
    def here(self) -> bool:
        """Whether its process runs on this machine."""
        return self.session.here

    @property
    def alive(self) -> bool:
        """Whether its process is alive, or has sent a heartbeat recently from another machine."""
        return self.session.is_alive(self.silence)

    @property
    def expires_in(self) -> float:
        """Seconds without a heartbeat until its claims expire, if it runs on another machine."""
        return max(0.0, EXPIRY_SECONDS - self.silence)


class Heartbeats:
    """Clock for the time since the last heartbeat of each session.

    The clocks of two machines may differ. A session's own clock is therefore used only the first
    time that the session is read, and a heartbeat in the future counts as a heartbeat now. After
    that, the time is measured by the clock of this machine, until the heartbeat changes.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, float]] = {}

    def silence(self, session: Session, heartbeat: float) -> float:
        """Return the seconds since the last heartbeat of a session.

        Args:
            session: the session.
            heartbeat: time of its last heartbeat by its own clock, in seconds since 1970.
        """
        now = time.monotonic()
        before, at = self._seen.get(session.identity, (None, 0.0))
        if before is None:
            at = now - max(0.0, time.time() - heartbeat)
        elif before != heartbeat:
            at = now
        self._seen[session.identity] = heartbeat, at
        return now - at


def _machine() -> str:
    """Return host, boot and PID namespace; PIDs are unique within them."""
    boot, namespace = "", ""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        pass  # no /proc: the host name alone
    return f"{platform.node()} {boot} {namespace}".strip()


def _start_time(process: int) -> str | None:
    """Return the start time of a process in ticks since boot, or None if it does not exist."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        return "unknown" if _exists(process) else None
    # The second field is the program's name in parentheses, which may contain spaces.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
