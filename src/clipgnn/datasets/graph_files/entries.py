"""What a file of graphs is read into: one entry for each graph, valid or not."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch

from clipgnn.datasets.graph_files.tables import read_table
from clipgnn.errors import DatasetFileError, InvalidGraphError, suggestion
from clipgnn.graphs.packed import PackedGraphs

_T = TypeVar("_T")

MISSING = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None"}
"""Texts of missing values, most of those of pandas."""


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


class RawEntry(NamedTuple):
    """A graph of a file that is read graph by graph, before it is parsed.

    Attributes:
        place: where it is.
        content: the text that gives it.
        values: text of columns by name; those in the content are added when it is parsed.
        problem: why it cannot be parsed; None if it may be valid.
    """

    place: str
    content: Any
    values: Mapping[str, str]
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


def known_text(text: str) -> str | None:
    """The text of a value without spaces around it; None if it is one of `MISSING`."""
    stripped = text.strip()
    return None if stripped in MISSING else stripped


def parsed(
    place: str,
    content: _T,
    read: Callable[[_T], tuple[Any, dict[str, str]]],
    *,
    given: Mapping[str, str] | None = None,
    requirement: str = "in the form of networkx.node_link_data",
) -> Entry:
    """Read a graph and its values; a graph that is not valid is an entry with a problem.

    Args:
        place: where it is.
        content: what `read` is called with.
        read: function that returns the graph and its values.
        given: text that gives the graph.
        requirement: what the content must be, for the message.
    """
    try:
        graph, values = read(content)
    except InvalidGraphError as error:
        return Entry(place, None, {}, given or {}, str(error))
    except Exception as error:  # parsers of networkx raise errors of many kinds
        reason = str(error) or type(error).__name__
        return Entry(place, None, {}, given or {}, f"The graph must be {requirement}. {reason}.")
    return Entry(place, graph, values, given or {})


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
        """Values of a column; None where an entry does not have it, or has one of `MISSING`.

        Raises:
            DatasetFileError: if no entry has it.
        """
        if name not in self.columns:
            found = ", ".join(map(repr, self.columns)) or "none"
            raise DatasetFileError(
                f"{self.name} must have the column {name!r}. Got {found}."
                f"{suggestion(name, self.columns)}"
            )
        return [known_text(own.values.get(name, "")) for own in self.entries]

    def with_labels(self, path: Path) -> "GraphFile":
        """Add the columns of a table of labels to the values of the entries.

        Args:
            path: a CSV file with a header. It has a column "file" for the files of a folder, and
                otherwise a row for each graph, in their order.

        Raises:
            DatasetNotFoundError: if there is no such file.
            DatasetFileError: if it is not a CSV file, or its rows are not those of the graphs.
        """
        table = read_table(path)
        rows = [row.cells for row in table.rows]
        while len(rows) > len(self.entries) and not any(rows[-1].values()):
            rows.pop()  # an empty line at the end
        if "file" in table.header:
            rows = self._rows_by_file(rows, path)
        elif len(self.entries) > 1 and "file" in self.entries[0].given:
            raise DatasetFileError(
                f"{path.name} must have a column 'file' with the names of the files in "
                f"{self.name}. Its columns are {', '.join(map(repr, table.header))}."
            )
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
        by_file: dict[str, dict[str, str]] = {}
        for row in rows:
            name = row.pop("file")
            if name in by_file:
                raise DatasetFileError(
                    f"The column 'file' of {path.name} must name each file once. Got {name!r} "
                    "twice."
                )
            by_file[name] = row
        names = {own.given.get("file") for own in self.entries}
        if not names & by_file.keys():
            raise DatasetFileError(
                f"The column 'file' of {path.name} must have names of files in {self.name}. Got "
                f"{next(iter(by_file), 'no rows')!r}."
            )
        return [by_file.get(own.given.get("file", ""), {}) for own in self.entries]
