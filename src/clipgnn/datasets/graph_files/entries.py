"""What a file of graphs is read into: one entry for each graph, valid or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clipgnn.errors import DatasetFileError, suggestion


@dataclass(frozen=True)
class Entry:
    """A graph of a file.

    Attributes:
        place: where it is, such as "line 7" or the name of a file.
        graph: the graph, as networkx graph or SMILES; None if it could not be read.
        values: text of columns, or attributes of the graph, by name: its possible targets.
        problem: why the graph could not be read; None if it could.
    """

    place: str
    graph: Any
    values: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True)
class GraphFile:
    """The graphs of a file or a folder.

    Attributes:
        name: name of the file.
        format: name of its format.
        entries: the graphs, in the order of the file.
    """

    name: str
    format: str
    entries: Sequence[Entry]

    @property
    def valid(self) -> list[int]:
        """Numbers of the graphs that could be read."""
        return [number for number, own in enumerate(self.entries) if own.problem is None]

    @property
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
