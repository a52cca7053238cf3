"""Which rows are summed into which: the pattern of a sparse matrix, by rows and by columns.

A graph's edges and the membership of nodes in graphs are both such patterns. Entries are kept
sorted by row (CSR); the transpose, which gradients and outgoing edges need, is kept as an order.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class SparsePattern:
    """Positions of the entries of a sparse matrix, sorted by row.

    Attributes:
        row: row of each entry, ascending.
        col: column of each entry.
        rowptr: entries of row `i` are `rowptr[i]:rowptr[i + 1]`.
        transposed_order: the entries in the order of the transposed matrix's rows.
        transposed_rowptr: as `rowptr`, for the transposed matrix.
    """

    row: Int[Tensor, "entries"]
    col: Int[Tensor, "entries"]
    rowptr: Int[Tensor, "rows_plus_one"]
    transposed_order: Int[Tensor, "entries"]
    transposed_rowptr: Int[Tensor, "cols_plus_one"]

    @classmethod
    def from_entries(
        cls, row: Tensor, col: Tensor, num_rows: int, num_cols: int
    ) -> tuple["SparsePattern", Tensor]:
        """The pattern with these entries, and the order that sorts them by row."""
        order = torch.argsort(row, stable=True)
        row, col = row[order], col[order]
        pattern = cls(
            row=row,
            col=col,
            rowptr=pointers(row, num_rows),
            transposed_order=torch.argsort(col, stable=True),
            transposed_rowptr=pointers(col, num_cols),
        )
        return pattern, order

    @classmethod
    def segments(cls, row: Tensor, num_rows: int) -> "SparsePattern":
        """Entry `i` is in row `row[i]` (ascending) and in column `i`: sums of segments."""
        identity = torch.arange(row.numel() + 1, device=row.device)
        return cls(
            row=row,
            col=identity[:-1],
            rowptr=pointers(row, num_rows),
            transposed_order=identity[:-1],
            transposed_rowptr=identity,
        )

    def transposed(self) -> "SparsePattern":
        """The pattern of the transposed matrix, its entries in `transposed_order`."""
        return SparsePattern(
            row=self.col[self.transposed_order],
            col=self.row[self.transposed_order],
            rowptr=self.transposed_rowptr,
            transposed_order=inverse_order(self.transposed_order),
            transposed_rowptr=self.rowptr,
        )


def pointers(index: Tensor, size: int) -> Tensor:
    """Where each of `size` segments begins, and where the last ends: counts of `index`, summed."""
    counts = torch.zeros(size + 1, dtype=torch.int64, device=index.device)
    counts.index_add_(0, index + 1, torch.ones_like(index))
    return counts.cumsum(0)


def running_sum(counts: Tensor) -> Tensor:
    """Pointers from counts: where each segment begins, and where the last one ends."""
    return functional.pad(counts.cumsum(0), (1, 0))


def inverse_order(order: Tensor) -> Tensor:
    """The order that undoes `order`."""
    places = torch.arange(order.numel(), device=order.device)
    return torch.empty_like(order).scatter_(0, order, places)
