"""Which processes have a file open, as far as the operating system tells."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def lock_holders(path: Path) -> list[str]:
    """Other processes of this machine that may hold a lock on a file: "process 12 (python)".

    Those that `/proc/locks` lists for the file, or else all that have it open. Empty where there
    is no `/proc`, and for processes of other machines or users.

    Args:
        path: the file.
    """
    try:
        file = path.stat()
    except OSError:
        return []
    having = {process for process in _processes() if _has_open(process, file)}
    return [f"process {each} ({_name(each)})" for each in sorted(_locking(file) & having or having)]


def _processes() -> Iterator[int]:
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                yield int(name)


def _has_open(process: int, file: os.stat_result) -> bool:
    try:
        opened = list(Path(f"/proc/{process}/fd").iterdir())
    except OSError:  # of another user, or gone
        return False
    for each in opened:
        with suppress(OSError):
            if os.path.samestat(each.stat(), file):
                return True
    return False


def _locking(file: os.stat_result) -> set[int]:
    """Processes with a lock on a file of this number, on whichever disk."""
    found = set()
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            # 1: POSIX  ADVISORY  WRITE 3568 fd:00:2531452 1073741824 1073742335
            fields = line.split()
            if "->" not in fields and int(fields[5].rpartition(":")[2]) == file.st_ino:
                found.add(int(fields[4]))
    return found


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "ended"
