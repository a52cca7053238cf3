"""The input of a conversion: a file that is read in chunks, or graphs that are read at once."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from clipgnn.datasets.graph_files import recognized_format
from clipgnn.datasets.graph_files.entries import GraphFile, RawEntry
from clipgnn.datasets.graph_files.tables import Row, stream_table
from clipgnn.datasets.sources import open_source
from clipgnn.errors import DatasetFileError
from clipgnn.parameters.datasets import FILE_FORMATS

CHUNK_GRAPHS, CHUNK_CHARACTERS = 2**12, 2**20
"""Largest numbers of graphs, and of characters that give them, of a chunk of several graphs."""


@dataclass(frozen=True)
class StreamedFile:
    """A file whose graphs are read one after the other.

    Attributes:
        path: the file.
        format: its format.
        columns: names of the values of graphs; None if they are known only when it is parsed.
        raw: function that begins to read the graphs.
    """

    path: Path
    format: str
    columns: Sequence[str] | None
    raw: Callable[[], Iterator[RawEntry]]

    def chunks(self) -> Iterator[list[RawEntry]]:
        """Read the graphs in chunks, which are the same each time.

        Raises:
            DatasetFileError: if the file, or that of labels, is not valid, or it has no graphs.
        """
        raw = self.raw()
        first = next(raw, None)
        if first is None:
            raise DatasetFileError(f"{self.path.name} must have at least one graph. Got none.")
        chunk: list[RawEntry] = []
        size = 0
        for own in chain([first], raw):
            chunk.append(own)
            size += len(own.content if isinstance(own.content, bytes) else own.content[-1])
            if len(chunk) == CHUNK_GRAPHS or size >= CHUNK_CHARACTERS:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk


def open_input(
    data: str, *, format: str | None, labels: Path | None, smiles_column: str | None, root: Any
) -> StreamedFile | GraphFile:
    """Open graphs for a conversion. Arguments and errors are those of `open_source`."""
    path = Path(data)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DatasetFileError(
            f"{path} must be a file or a folder, which a conversion reads twice. It is neither. "
            "Write it to a file."
        )
    if path.is_file() and format in (None, *FILE_FORMATS):
        name = recognized_format(path) if format is None else format
        module = import_module(FILE_FORMATS[name])
        if hasattr(module, "raw_entries"):
            options = {"smiles_column": smiles_column} if name == "smiles" else {}

            def begin() -> tuple[Sequence[str] | None, Iterator[RawEntry]]:
                columns, raw = module.raw_entries(path, **options)
                return (columns, raw) if labels is None else _labeled(path, columns, raw, labels)

            return StreamedFile(path, name, begin()[0], lambda: begin()[1])
    return open_source(data, format=format, labels=labels, smiles_column=smiles_column, root=root)


def hash_of(path: Path) -> tuple[str, int]:
    """Hash of the content of a file or a folder, and its number of lines."""
    files = sorted(own for own in path.rglob("*") if own.is_file()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    lines = 0
    for file in files:
        digest.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as opened:
            while block := opened.read(2**20):
                digest.update(block)
                lines += block.count(b"\n")
    return digest.hexdigest(), lines


def _labeled(
    path: Path, columns: Sequence[str] | None, raw: Iterator[RawEntry], labels: Path
) -> tuple[Sequence[str] | None, Iterator[RawEntry]]:
    """Add the rows of a table, in their order, to the values of graphs."""
    header, rows = stream_table(labels)
    if "file" in header:
        raise DatasetFileError(
            f"{labels.name} must have a row for each graph of {path.name}, in their order, and no "
            "column 'file', which is for folders. Rename the column."
        )
    named = None if columns is None else list(dict.fromkeys([*columns, *header]))
    return named, _joined(path, raw, labels, rows)


def _joined(
    path: Path, raw: Iterator[RawEntry], labels: Path, rows: Iterator[Row]
) -> Iterator[RawEntry]:
    graphs = 0
    for own in raw:
        row = next(rows, None)
        graphs += 1
        if row is None:
            graphs += sum(1 for _ in raw)
            raise _unequal(path, graphs, labels, "fewer")
        yield own._replace(values={**own.values, **row.cells})
    if any(any(row.cells.values()) for row in rows):
        raise _unequal(path, graphs, labels, "more")


def _unequal(path: Path, graphs: int, labels: Path, found: str) -> DatasetFileError:
    return DatasetFileError(
        f"{labels.name} must have a row for each of the {graphs} graphs of {path.name}. Got "
        f"{found} rows."
    )
