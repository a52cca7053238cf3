"""Options of a conversion, and what it returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clipgnn.errors import DatasetFileError
from clipgnn.graphs.columns import Part
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.parameters.targets import Task


@dataclass(frozen=True)
class ConvertOptions:
    """What is read, and how.

    Attributes:
        format: format of the input; None to recognize it.
        labels: CSV file with values of the graphs.
        smiles_column: column of SMILES; None for "smiles".
        root: folder of the TU data sets.
        strict: whether a graph that cannot be used is an error.
        targets: columns to predict; None for the usual one, none for graphs without targets.
        task: classification, regression, or auto.
        attributes: names of attributes to use by part, None for all.
        workers: number of processes.
    """

    format: str | None = None
    labels: Path | None = None
    smiles_column: str | None = None
    root: Path | None = None
    strict: bool = False
    targets: Sequence[str] | None = None
    task: Task = Task.auto
    attributes: Mapping[Part, Sequence[str] | None] | None = None
    workers: int = 1

    @property
    def chosen(self) -> Mapping[Part, Sequence[str] | None]:
        """Names of attributes to use by part; attributes of graphs only if they are chosen."""
        given: Mapping[Part, Sequence[str] | None] = self.attributes or {}
        return {
            "nodes": given.get("nodes"),
            "edges": given.get("edges"),
            "graphs": given.get("graphs") or [],
        }

    def as_json(self) -> dict[str, Any]:
        """Options that decide what is written, by the names that messages use."""
        names = {"nodes": "node attributes", "edges": "edge attributes", "graphs": "attributes"}
        return {
            "smiles column": self.smiles_column,
            "targets": "usual" if self.targets is None else list(self.targets),
            "task": str(self.task),
            **{
                names[part]: "all" if own is None else list(own)
                for part, own in self.chosen.items()
            },
        }


class RejectedGraphError(DatasetFileError):
    """A graph that cannot be used, if `strict` is true."""


@dataclass(frozen=True)
class Rejected:
    """A graph that is not used.

    Attributes:
        row: its number in the input, from 0.
        place: where it is.
        problem: why it is not used.
    """

    row: int
    place: str
    problem: str


@dataclass(frozen=True)
class Converted:
    """A finished conversion.

    Attributes:
        stored: the graphs.
        source: name of the input.
        given: number of graphs of the input.
        rejected: graphs that are not used.
        task: classification or regression; None without targets.
        before: whether it was finished before.
    """

    stored: StoredGraphs
    source: str
    given: int
    rejected: Sequence[Rejected]
    task: Task | None
    before: bool = False
