"""The folder that a conversion writes: what it is a conversion of, and how far it is."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clipgnn.errors import DatasetFileError, OutputError, shown
from clipgnn.graphs.storage.stored import FILE, RECORD, UNFINISHED, is_stored
from clipgnn.writing import write_file

REJECTED = "rejected.csv"
"""File that lists graphs that are not used."""

HASHED = ("input", "labels")
"""Parts of the identity of a conversion that are hashes of files."""

_FORMAT = "clipgnn-conversion/1"
_TEMPORARY = re.compile(r"\.(shard-\d+|graphs|conversion|rejected)\.\w+\.[0-9a-f]{16}")
"""Names of files that `write_file` had not finished."""


class ConversionFolder:
    """The folder of a conversion.

    Args:
        path: the folder.
        identity: input and options, as values of JSON, by the names that messages use.
        versions: versions of the packages that decide what is read.
    """

    def __init__(
        self, path: Path, identity: Mapping[str, Any], versions: Mapping[str, str]
    ) -> None:
        self.path = path
        self._record = {"format": _FORMAT, **identity}
        self._versions = dict(versions)

    @property
    def finished(self) -> Mapping[str, Any] | None:
        """What was recorded when this conversion was finished; None if it is not.

        Raises:
            OutputError: if the folder has other content.
            DatasetFileError: if a record is damaged.
        """
        if is_stored(self.path):
            if not (self.path / RECORD).is_file():
                raise OutputError(
                    f"{self.path} must be a new folder. It has graphs of PackedGraphs.save. Use "
                    "another folder."
                )
            found = _read(self.path / RECORD)
            self._check(found, "has the graphs of")
            self.finish()
            return found
        return None

    def begin(self) -> None:
        """Create the folder, or check that this conversion was begun in it.

        Raises:
            OutputError: if the folder has other content, or cannot be written.
            DatasetFileError: if the record is damaged.
        """
        parts = self.path / UNFINISHED
        if (parts / RECORD).is_file():
            found = _read(parts / RECORD)
            self._check(found, "was begun as")
            if found.get("versions") != self._versions:
                raise self._other("was begun as", "versions", found.get("versions"), self._versions)
            return
        try:
            others = [own.name for own in self.path.iterdir() if own.name != UNFINISHED]
        except FileNotFoundError:
            others = []
        except OSError as error:
            raise _not_writable(self.path, error) from error
        if others:
            raise OutputError(
                f"{self.path} must be a new or an empty folder. It has {shown(min(others))}. Use "
                "another folder."
            )
        try:
            parts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_writable(self.path, error) from error
        write_file(parts / RECORD, _json({**self._record, "versions": self._versions}))

    def chunk(self, number: int) -> Path:
        """File of a chunk."""
        return self.path / UNFINISHED / f"chunk-{number:06d}.safetensors"

    def record(self, result: Mapping[str, Any]) -> None:
        """Write the record of a finished conversion."""
        content = {**self._record, "versions": self._versions, "result": dict(result)}
        write_file(self.path / RECORD, _json(content))

    def finish(self) -> None:
        """Remove what only an unfinished conversion needs."""
        shutil.rmtree(self.path / UNFINISHED, ignore_errors=True)
        for own in self.path.iterdir():  # what a killed process was writing
            if _TEMPORARY.fullmatch(own.name):
                own.unlink(missing_ok=True)

    def _check(self, found: Mapping[str, Any], state: str) -> None:
        for name, own in self._record.items():
            if found.get(name) != own:
                raise self._other(state, name, found.get(name), own)

    def _other(self, state: str, name: str, before: object, now: object) -> OutputError:
        found = f"its {name} must be {shown(before)}. Got {shown(now)}"
        if name in HASHED:
            found = f"the content of its {name} has changed"
        return OutputError(
            f"{self.path} {state} another conversion: {found}. Use another folder, or remove this "
            "one."
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise _damaged(path, f"its format is not {_FORMAT!r}")
    return found


def _damaged(path: Path, reason: str) -> DatasetFileError:
    return DatasetFileError(
        f"{path} must describe a conversion. It is damaged: {reason}. Remove the folder, and "
        f"convert again; its graphs, if it has {FILE}, can still be used."
    )


def _not_writable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{path} must be a folder that can be written. {error.strerror}. Use another one."
    )


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()
