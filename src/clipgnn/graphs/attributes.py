"""Attributes of graphs as channels: categories and numbers."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import InvalidGraphError, shown
from clipgnn.graphs.coded import CodedColumn, key, plain
from clipgnn.graphs.columns import Column, GraphColumns, Kind, Part

Value = str | int | float | bool | None
"""A category; None for rows without the attribute."""

MAX_CATEGORIES = 64
"""Largest number of distinct integers that are categories unless `kinds` says otherwise."""


@dataclass(frozen=True)
class Categories:
    """An attribute with a channel for each of its values.

    Attributes:
        name: name of the attribute.
        values: the values, sorted.
    """

    name: str
    values: tuple[Value, ...]

    @property
    def width(self) -> int:
        """Number of channels."""
        return len(self.values)

    def codes(self, columns: GraphColumns, part: Part) -> NDArray[np.int64]:
        """Number of the value of each row; -1 for values that are not known.

        Raises:
            InvalidGraphError: if there is no such attribute, unless the encoding knows rows without
                it.
        """
        column = _column(columns, part, self.name, optional=None in self.values)
        numbers = {key(value): number for number, value in enumerate(self.values)}
        values = _values(column)
        found = np.array([numbers.get(key(plain(value)), -1) for value in values], dtype=np.int64)
        return found[column.codes] if isinstance(column, CodedColumn) else found

    def check_known(self, columns: GraphColumns, part: Part) -> None:
        """Check that all values are known.

        Raises:
            InvalidGraphError: if one is not.
        """
        unknown = np.flatnonzero(self.codes(columns, part) < 0)
        if unknown.size:
            row = int(unknown[0])
            raise InvalidGraphError(
                f"{self.name!r} of the {part} must be one of the values of the encoding. Got "
                f"{shown(plain(columns.of(part)[self.name][row]))} in {columns.place(part, row)}."
            )

    def encode(self, columns: GraphColumns, part: Part) -> Tensor:
        """One-hot rows; zeros for values that are not known, with a warning."""
        codes = self.codes(columns, part)
        unknown = np.flatnonzero(codes < 0)
        if unknown.size:
            example = shown(plain(columns.of(part)[self.name][int(unknown[0])]))
            warnings.warn(
                f"{unknown.size} of {len(codes)} {part} have a value of {self.name!r} that the "
                f"encoding does not know, such as {example}. It is encoded as zeros.",
                stacklevel=2,
            )
        known = np.flatnonzero(codes >= 0)
        rows = torch.zeros(len(codes), self.width)
        rows[torch.from_numpy(known), torch.from_numpy(codes[known])] = 1
        return rows

    def decode(self, rows: Tensor) -> list[Value]:
        """Values of one-hot rows; None where a row has no category."""
        found = rows.max(1) if self.width else None
        if found is None:
            return [None] * rows.shape[0]
        pairs = zip(found.values.tolist(), found.indices.tolist(), strict=True)
        return [self.values[number] if largest > 0 else None for largest, number in pairs]


@dataclass(frozen=True)
class Numbers:
    """An attribute that is a number, or several numbers.

    Attributes:
        name: name of the attribute.
        width: how many numbers.
    """

    name: str
    width: int

    def encode(self, columns: GraphColumns, part: Part) -> Tensor:
        """The numbers, `[rows, width]`.

        Raises:
            InvalidGraphError: if a row does not have finite numbers.
        """
        column = _column(columns, part, self.name)
        if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
            rows = column.astype(np.float64).reshape(len(column), self._width_of(column))
            wrong = np.arange(len(rows)) if rows.shape[1] != self.width else _not_finite(rows)
        else:
            values = [plain(value) for value in column]
            listed = [value if isinstance(value, list | tuple) else [value] for value in values]
            largest = _largest()
            wrong = np.flatnonzero([not self._suits(own, largest) for own in listed])
            rows = np.array([] if wrong.size else listed, dtype=np.float64)
        if wrong.size:
            row = int(wrong[0])
            wanted = "a finite number" if self.width == 1 else f"{self.width} finite numbers"
            raise InvalidGraphError(
                f"{self.name!r} of the {part} must be {wanted}, at most {_largest():.1e}. Got "
                f"{shown(plain(column[row]))} in {columns.place(part, row)}."
            )
        return torch.from_numpy(rows.reshape(-1, self.width)).to(torch.get_default_dtype())

    def _suits(self, values: Sequence[Any], largest: float) -> bool:
        return len(values) == self.width and all(
            type(own) in (int, float) and -largest <= own <= largest for own in values
        )

    def _width_of(self, column: NDArray[Any]) -> int:
        if len(column) == 0:
            return self.width
        return column.shape[1] if column.ndim == 2 else 1

    def decode(self, rows: Tensor) -> list[Any]:
        """The numbers as floats, or lists of floats."""
        return rows[:, 0].tolist() if self.width == 1 else rows.tolist()


Attribute = Categories | Numbers


def attribute_of(columns: GraphColumns, part: Part, name: str, kind: Kind | None) -> Attribute:
    """Determine how an attribute is encoded.

    Args:
        columns: the graphs.
        part: whether it is an attribute of nodes, edges or graphs.
        name: its name.
        kind: its kind; None to determine it from the values.

    Raises:
        InvalidGraphError: if it is neither a category nor a number.
    """
    column = columns.of(part)[name]
    if isinstance(column, np.ndarray) and column.ndim == 2:
        return Numbers(name, column.shape[1])
    values = [plain(value) for value in _values(column)]
    if (kind or _kind_of(values)) == "number":
        place = next((own for own, value in enumerate(values) if value is not None), None)
        first = 0.0 if place is None else values[place]
        width = len(first) if isinstance(first, list | tuple) else 1
        if width == 0:
            raise _neither(columns, part, name, _row(column, place or 0), first)
        return Numbers(name, width)
    for place, value in enumerate(values):
        if not _is_category(value):
            raise _neither(columns, part, name, _row(column, place), value)
    distinct = {key(value): value for value in values}
    return Categories(name, tuple(sorted(distinct.values(), key=_order)))


def _values(column: Column) -> Column:
    """The distinct values of a coded column, and all values of others."""
    return column.values if isinstance(column, CodedColumn) else column


def _row(column: Column, place: int) -> int:
    """The first row with a value of `_values`, given by its place there."""
    return int(np.argmax(column.codes == place)) if isinstance(column, CodedColumn) else place


def _neither(
    columns: GraphColumns, part: Part, name: str, row: int, value: object
) -> InvalidGraphError:
    return InvalidGraphError(
        f"{name!r} of the {part} must be strings, booleans, finite numbers, integers of at most 64 "
        f"bits, or lists of numbers of one length. Got {shown(value)} in "
        f"{columns.place(part, row)}."
    )


def _is_category(value: object) -> bool:
    """Whether model files can contain a value, and it is equal to itself."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return value is None or isinstance(value, str)


def decode(attributes: Sequence[Attribute], rows: Tensor) -> dict[str, list[Any]]:
    """Decode a matrix into values by attribute."""
    widths = [own.width for own in attributes]
    parts = rows.split(widths, dim=1)
    return {own.name: own.decode(part) for own, part in zip(attributes, parts, strict=True)}


def _kind_of(values: Sequence[Any]) -> Kind:
    """The kind of a column by the types of its values."""
    types = {type(value) for value in values if value is not None}
    if types == {int} and len(set(values)) <= MAX_CATEGORIES:
        return "category"
    if types and types <= {int, float, list, tuple}:
        return "number"
    return "category"


def are_numbers(column: Column) -> bool:
    """Whether every row has one number."""
    if isinstance(column, np.ndarray):
        return column.ndim == 1 and column.dtype.kind in "iuf"
    return all(type(plain(value)) in (int, float) for value in _values(column))


def _column(columns: GraphColumns, part: Part, name: str, *, optional: bool = False) -> Column:
    present = columns.of(part)
    if columns.count(part) == 0:
        return np.empty(0)
    if part == "edges" and name in columns.constants:
        return np.full(columns.count(part), columns.constants[name])
    if name not in present and optional:
        return [None] * columns.count(part)
    if name not in present:
        raise InvalidGraphError(
            f"The {part} must have the attribute {name!r}. Got "
            f"{', '.join(map(repr, present)) or 'no attributes'}."
        )
    return present[name]


def _not_finite(rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows with NaN, or with numbers too large for the default dtype of torch."""
    return np.flatnonzero(~(np.abs(rows) <= _largest()).all(axis=1))


def _largest() -> float:
    """Largest number of the default dtype of torch, to which attributes are converted."""
    return torch.finfo(torch.get_default_dtype()).max


def _order(value: Any) -> tuple[str, Any]:
    """Sort by type, then by value."""
    return type(value).__name__, 0 if value is None else value
