"""Columns with few distinct values: each value once, and its number in every row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CodedColumn(Sequence[Any]):
    """A column whose rows refer to its distinct values.

    Attributes:
        values: values by their numbers, in the order in which they first occur; each occurs.
        codes: `[rows]`, number of the value of each row.
    """

    values: Sequence[Any]
    codes: NDArray[Any]

    @classmethod
    def of(cls, column: Sequence[Any] | NDArray[Any]) -> "CodedColumn":
        """Convert another column."""
        if isinstance(column, CodedColumn):
            return column
        numbers: dict[tuple[str, str], int] = {}
        values: list[Any] = []
        codes = np.empty(len(column), dtype=np.int64)
        for row, given in enumerate(column):
            value = plain(given)
            number = numbers.setdefault(key(value), len(values))
            if number == len(values):
                values.append(value)
            codes[row] = number
        return cls(values, codes)

    def take(self, rows: NDArray[Any]) -> "CodedColumn":
        """A column of some of the rows, given by a mask or by their numbers."""
        codes = self.codes[rows]
        found, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return CodedColumn([self.values[own] for own in found[order].tolist()], rank[inverse])

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> Any: ...
    @overload
    def __getitem__(self, row: slice) -> "CodedColumn": ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return self.take(np.arange(*row.indices(len(self))))
        return self.values[int(self.codes[row])]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.codes.tolist())


def plain(value: Any) -> Any:
    """Convert values of NumPy and torch to those of Python."""
    if isinstance(value, np.generic | np.ndarray | torch.Tensor):
        return value.tolist()
    return value


def key(value: object) -> tuple[str, str]:
    """A key that is equal for equal values of one type only: 1 is not True."""
    return type(value).__name__, repr(value)
