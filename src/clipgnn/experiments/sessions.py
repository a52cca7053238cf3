"""Which processes work on a store, and whether they are still alive.

A claim on a trial belongs to a session: one process that has a store open. On the machine of the
process its PID and start time tell whether it is alive; from another machine, only its heartbeats
in the store do.
"""

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

SIGN_SECONDS = 15.0
"""Seconds between two heartbeats."""

EXPIRY_SECONDS = 180.0
"""Seconds without a heartbeat after which the claims of a process elsewhere are free again."""


@dataclass(frozen=True)
class Session:
    """A process that has a store open.

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

    @property
    def here(self) -> bool:
        """Whether the process runs on this machine, in a process namespace that is ours."""
        return self.machine == _machine()

    def is_alive(self, silence: float) -> bool:
        """Whether the process is alive.

        Args:
            silence: seconds since its last heartbeat, which count on other machines only.
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
        silence: seconds since its last heartbeat, as far as can be told from here.
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
        """Whether its process is alive, as far as can be told from here."""
        return self.session.is_alive(self.silence)

    @property
    def expires_in(self) -> float:
        """Seconds without a heartbeat after which it counts as dead, if it runs elsewhere."""
        return max(0.0, EXPIRY_SECONDS - self.silence)


class Heartbeats:
    """Measures how long sessions have been without a heartbeat.

    The clocks of two machines may differ. Theirs is therefore used only when a session is seen for
    the first time, and a heartbeat in the future counts as one of now; from then on the time is
    measured here, until the heartbeat changes.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, float]] = {}

    def silence(self, session: Session, signed: float) -> float:
        """Seconds since the last heartbeat of a session.

        Args:
            session: the session.
            signed: its last heartbeat by its own clock, in seconds since 1970.
        """
        now = time.monotonic()
        before, at = self._seen.get(session.identity, (None, 0.0))
        if before is None:
            at = now - max(0.0, time.time() - signed)
        elif before != signed:
            at = now
        self._seen[session.identity] = signed, at
        return now - at


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
