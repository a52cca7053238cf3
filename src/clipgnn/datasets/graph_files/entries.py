"""What a file of graphs is read into: one entry for each graph, valid or not."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from clipgnn.errors import DatasetFileError, DatasetNotFoundError, suggestion
from clipgnn.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class Entry:
    """A graph of a file.

    Attributes:
        place: where it is, such as "line 7" or the name of a file.
        graph: the graph, as networkx graph or SMILES; None if it could not be read, or if it is in
            `GraphFile.packed`.
        values: text of columns, or attributes of the graph, by name: its possible targets.
        given: text that gives the graph, by column: its SMILES, or the name of its file.
        problem: why the graph could not be read; None if it could.
    """

    place: str
    graph: Any
    values: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


def as_texts(values: Mapping[Any, Any]) -> dict[str, str]:
    """Values that are strings or numbers, as text.

    Example:
        >>> as_texts({"y": 1.5, "name": "a", "node_default": {}})
        {'y': '1.5', 'name': 'a'}
    """
    return {
        str(name): own if isinstance(own, str) else json.dumps(own)
        for name, own in values.items()
        if isinstance(own, str | int | float | bool)
    }


@dataclass(frozen=True)
class GraphFile:
    """The graphs of a file or a folder.

    Attributes:
        name: name of the file.
        format: name of its format.
        entries: the graphs, in the order of the file.
        packed: all graphs, where they are not in the entries.
    """

    name: str
    format: str
    entries: Sequence[Entry]
    packed: PackedGraphs | None = None

    @property
    def valid(self) -> list[int]:
        """Numbers of the graphs that could be read."""
        return [number for number, own in enumerate(self.entries) if own.problem is None]

    def graphs(self, numbers: Sequence[int]) -> PackedGraphs | list[Any]:
        """Return some of the graphs, in a form that estimators accept."""
        if self.packed is not None:
            return self.packed[torch.tensor(numbers, dtype=torch.int64)]
        return [self.entries[number].graph for number in numbers]

    @cached_property
    def columns(self) -> list[str]:
        """Names of the values that entries have, in the order in which they occur."""
        return list(dict.fromkeys(name for own in self.entries for name in own.values))

    def column(self, name: str) -> list[str | None]:
        """Values of a column; None where an entry does not have it, or it is empty.

        Raises:
            DatasetFileError: if no entry has it.
        """
        if name not in self.columns:
            found = ", ".join(map(repr, self.columns)) or "none"
            raise DatasetFileError(
                f"{self.name} must have the column {name!r}. Got {found}."
                f"{suggestion(name, self.columns)}"
            )
        return [own.values.get(name) or None for own in self.entries]

    def with_labels(self, path: Path) -> "GraphFile":
        """Add the columns of a table of labels to the values of the entries.

        Args:
            path: a CSV file with a header. It has a column "file" with the names of files, or a row
                for each graph, in their order.

        Raises:
            DatasetNotFoundError: if there is no such file.
            DatasetFileError: if it is not a CSV file, or its rows are not those of the graphs.
        """
        header, rows = _read_rows(path)
        if "file" in header:
            rows = self._rows_by_file(rows, path)
        elif len(rows) != len(self.entries):
            raise DatasetFileError(
                f"{path.name} must have a row for each of the {len(self.entries)} graphs of "
                f"{self.name}, or a column 'file'. Got {len(rows)} rows."
            )
        labeled = [
            replace(own, values={**own.values, **row})
            for own, row in zip(self.entries, rows, strict=True)
        ]
        return replace(self, entries=labeled)

    def _rows_by_file(self, rows: list[dict[str, str]], path: Path) -> list[dict[str, str]]:
        by_file = {row.pop("file", ""): row for row in rows}
        names = {own.given.get("file") for own in self.entries}
        if not names & by_file.keys():
            raise DatasetFileError(
                f"The column 'file' of {path.name} must have names of files in {self.name}. Got "
                f"{next(iter(by_file), 'no rows')!r}."
            )
        return [by_file.get(own.given.get("file", ""), {}) for own in self.entries]


def _read_rows(path: Path) -> tuple[Sequence[str], list[dict[str, str]]]:
    """Read the header and the rows of a CSV file, without empty cells."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            rows = list(reader)
    except FileNotFoundError as error:
        raise DatasetNotFoundError(f"There must be a file {path.name!r}. It is missing.") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise DatasetFileError(f"{path.name} must be a CSV file in UTF-8. {error}.") from error
    known = [{name: text for name, text in row.items() if name and text} for row in rows]
    return reader.fieldnames or [], known
