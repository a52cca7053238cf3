"""Memory that was freed, but that the process has kept for itself."""

import ctypes
from functools import cache
from typing import Any


def release_freed_memory() -> None:
    """Return freed memory to the system, where the C library is glibc; otherwise do nothing.

    The checks of a shard allocate tensors of several megabytes, and the small objects that remain
    of it lie between them. Without this, glibc keeps one to two megabytes for every shard.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library, or Windows
        return None
