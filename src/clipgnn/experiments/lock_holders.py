"""Processes that have a file open or locked, where the operating system lists them."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def lock_holders(path: Path) -> list[str]:
    """Return other processes of this machine that may lock a file, as "process 12 (python)".

    These are the processes that `/proc/locks` lists for the file, or else all that have it open.
    Without `/proc`, and for processes of other machines or users, the list is empty.

    Args:
        path: the file.
    """
    try:
        file = path.stat()
    except OSError:
        return []
    opened_by = {process for process in _processes() if _has_open(process, file)}
    return [
        f"process {each} ({_name(each)})"
        for each in sorted(_locking(file) & opened_by or opened_by)
    ]


def _processes() -> Iterator[int]:
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                yield int(name)


def _has_open(process: int, file: os.stat_result) -> bool:
    try:
        opened = list(Path(f"/proc/{process}/fd").iterdir())
    except OSError:  # a process of another user, or one that has ended
        return False
    for each in opened:
        with suppress(OSError):
            if os.path.samestat(each.stat(), file):
                return True
    return False


def _locking(file: os.stat_result) -> set[int]:
    """Return processes with a lock on a file of this inode number, on any disk."""
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
