"""Which commit of this package a result was computed with."""

import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from clipgnn.errors import ClipGNNError, InvalidParameterError
from clipgnn.experiments.machine import hash_of_files

PACKAGE = "src/clipgnn"
"""Folder of the package in its repository."""


def commits_with(repository: Path, hashes: Collection[str]) -> dict[str, str]:
    """Find the newest commit whose source has each of some hashes.

    Args:
        repository: a Git repository of this package.
        hashes: results of `source_hash`.

    Returns:
        Commits by hash, without hashes that no commit has.

    Raises:
        InvalidParameterError: if it is no Git repository with this package.
    """
    found: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    for commit in _git(repository, "log", "--all", "--format=%H", "--", PACKAGE).split():
        if found.keys() >= set(hashes):
            break
        files = dict(_python_files(repository, commit.decode()))
        missing = [blob for blob in files.values() if blob not in contents]
        contents.update(zip(missing, _contents(repository, missing), strict=True))
        own = hash_of_files({path: contents[blob] for path, blob in files.items()})
        if own in hashes:
            found.setdefault(own, commit.decode())
    if not contents:
        raise InvalidParameterError(
            f"The repository must contain {PACKAGE}. Got {repository}, which has no commit of it."
        )
    return found


def _python_files(repository: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Path within the package and name of the content of each Python file of a commit."""
    listed = _git(repository, "ls-tree", "-r", "-z", commit, f"{PACKAGE}/").decode()
    for entry in listed.split("\0"):
        description, _, path = entry.partition("\t")
        if path.endswith(".py"):
            yield path.removeprefix(f"{PACKAGE}/"), description.split()[2]


def _contents(repository: Path, blobs: list[str]) -> Iterator[bytes]:
    """Read contents from the repository, in order."""
    output = _git(repository, "cat-file", "--batch", given="".join(f"{own}\n" for own in blobs))
    position = 0
    for _ in blobs:
        end = output.index(b"\n", position)
        size = int(output[position:end].split()[2])
        yield output[end + 1 : end + 1 + size]
        position = end + size + 2


def _git(repository: Path, *arguments: str, given: str = "") -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    try:
        done = subprocess.run(command, input=given.encode(), capture_output=True, check=False)
    except OSError as error:
        raise ClipGNNError(f"Git cannot be run ({error.strerror}). Install it.") from error
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise InvalidParameterError(
            f"{repository} must be a Git repository of this package. "
            f"Git reports: {reason[0] if reason else 'an error'}."
        )
    return done.stdout
