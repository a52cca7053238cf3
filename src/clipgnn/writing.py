"""Atomic writing of files."""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR, ELOOP, ENOENT, ENOSPC, ENOTBLK, ENOTDIR
from pathlib import Path
from typing import BinaryIO

from clipgnn.errors import ClipGNNError, OutputError

_MAX_LINKS = 40
"""Maximum number of symbolic links to follow, as in Linux."""

_FIXES = {
    EISDIR: "Use a file inside it.",
    ENOENT: "Create its folder first.",
    ENOTDIR: "Create its folder first.",
    ENOSPC: "Free some space, or use a file on another disk.",
}


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically.

    A regular file is replaced in one step by a complete one with the same permissions. If an error
    occurs before, it is unchanged and no temporary file remains. A symbolic link is kept, and its
    target is replaced. A character device, a pipe or an open descriptor such as `/dev/stdout` is
    never replaced; the content is written to it.

    Args:
        path: the file.
        content: the new content.

    Raises:
        OutputError: if it cannot be written.
    """
    try:
        target = _checked(path)
        if isinstance(target, int):
            with open(target, "wb", closefd=False) as opened:
                opened.write(content)
        elif target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace(target, content)
    except (OSError, ValueError) as error:
        raise _output_error(path, error) from error


@contextmanager
def written_in_parts(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file in parts, atomically: it is replaced when all parts are written.

    Yields:
        A file to write to. What is not a regular file is written to directly; see `write_file`.

    Raises:
        OutputError: if it cannot be written.
    """
    try:
        target = _checked(path)
        if isinstance(target, int):
            with open(target, "wb", closefd=False) as opened:
                yield opened
        elif target.exists() and not target.is_file():
            with open(target, "wb") as opened:
                yield opened
        else:
            with _replaced(target) as opened:
                yield opened
    except (OSError, ValueError) as error:
        if isinstance(error, ClipGNNError):
            raise
        raise _output_error(path, error) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check, without writing, that `write_file` can write a file.

    Raises:
        OutputError: if it cannot.
    """
    try:
        _checked(path)
    except (OSError, ValueError) as error:
        raise _output_error(path, error) from error


def _checked(path: str | os.PathLike[str]) -> Path | int:
    """Return the path at the end of all links, or the number of an open descriptor."""
    target = os.fspath(path)
    if not target:
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
    for _ in range(_MAX_LINKS):
        descriptor = _descriptor(target)
        if descriptor is not None:
            os.fstat(descriptor)
            return descriptor
        if not os.path.islink(target):
            break
        target = os.path.join(os.path.dirname(target), os.readlink(target))
    else:
        raise OSError(ELOOP, os.strerror(ELOOP))
    folder = os.path.dirname(target) or "."
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        os.stat(folder)
        needed = [folder]
    else:
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if stat.S_ISBLK(mode):
            raise OSError(ENOTBLK, "A block device is never overwritten")
        needed = [target, folder] if stat.S_ISREG(mode) else [target]
    for name in needed:
        if not os.access(name, os.W_OK):
            raise PermissionError(f"No permission to write to {name!r}")
    return Path(target)


def _descriptor(path: str) -> int | None:
    """Return the open descriptor of a path such as `/dev/stdout`."""
    name = os.path.abspath(path)
    name = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}.get(name, name)
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d{1,9})", name)
    return int(found[1]) if found else None


def _replace(target: Path, content: bytes) -> None:
    """Create a regular file, or replace it by a complete one."""
    with _replaced(target) as file:
        file.write(content)


@contextmanager
def _replaced(target: Path) -> Iterator[BinaryIO]:
    """Write a new file, which then replaces a regular file or creates it."""
    # The name is shortened, so that the temporary name is not too long for the file system.
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:  # permissions by umask
            with suppress(FileNotFoundError):
                _copy_permissions(file.fileno(), target.stat())
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _copy_permissions(descriptor: int, earlier: os.stat_result) -> None:
    """Give an open file the mode of an earlier one, and its owner if this is permitted."""
    if hasattr(os, "fchown"):  # not on Windows
        with suppress(PermissionError):
            os.fchown(descriptor, earlier.st_uid, earlier.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(earlier.st_mode))


def _existing_folder(path: str | os.PathLike[str]) -> str | None:
    """Return the folder of a file, at the end of all links; None if there is no such folder."""
    try:
        folder = os.path.dirname(os.path.realpath(path)) if os.fspath(path) else ""
    except (OSError, ValueError):  # such as a current folder that has been deleted
        return None
    return folder if os.path.isdir(folder) else None


def _output_error(path: str | os.PathLike[str], error: OSError | ValueError) -> OutputError:
    reason, fix = str(error), "Check the permissions, or use another file."
    if isinstance(error, OSError):
        reason = error.strerror or reason
        fix = _FIXES.get(error.errno or 0, fix)
        folder = _existing_folder(path) if error.errno == ENOENT else None
        if folder is not None:  # such as /proc, where creating a file fails in this way
            reason = f"No file can be created in the folder {folder!r}, which exists"
            fix = "Use another folder."
    return OutputError(f"{os.fspath(path)!r} must be a file that can be written. {reason}. {fix}")
