"""Tables as text: what all formats print."""

from collections.abc import Sequence
from dataclasses import dataclass

EMPTY = "–"
"""Text of an empty field."""

NOT_APPLICABLE = "not applicable"
"""Text of a field of a model that cannot be measured on a data set."""


@dataclass(frozen=True)
class Field:
    """Text of a field and its marks."""

    text: str
    bold: bool = False
    star: bool = False
    dagger: bool = False


@dataclass(frozen=True)
class Line:
    """A line of a table.

    Attributes:
        fields: the name, then a field for each column.
        ours: whether its numbers are measured on the test folds; otherwise they are the paper's, or
            those of fresh graphs.
    """

    fields: tuple[Field, ...]
    ours: bool = True


@dataclass(frozen=True)
class Block:
    """One of the tables of a report.

    Attributes:
        title: its title; empty if the report has only this one.
        headings: headings of the columns, the first one of the names.
        lines: its lines.
    """

    title: str
    headings: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Notes:
    """Notes under the tables, with their heading."""

    heading: str
    texts: Sequence[str]
