"""Sparsity pattern of a matrix, by rows and by columns."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from clipgnn.ops.pointers import inverse_order, pointers_from_index
from clipgnn.ops.sparse_sum import sparse_sum


@dataclass(frozen=True)
class SparsePattern:
    """Sparsity pattern of a matrix, with entries sorted by row.

    Attributes:
        row: row of each entry, ascending.
        col: column of each entry.
        rowptr: entries of row `i` are `rowptr[i]:rowptr[i + 1]`.
        transposed_order: the entries in the order of the transposed matrix's rows.
        transposed_rowptr: row pointers of the transposed matrix.
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
        """Create a pattern from its entries; return it and the order that sorts them by row."""
        order = torch.argsort(row, stable=True)
        row, col = row[order], col[order]
        pattern = cls(
            row=row,
            col=col,
            rowptr=pointers_from_index(row, num_rows),
            transposed_order=torch.argsort(col, stable=True),
            transposed_rowptr=pointers_from_index(col, num_cols),
        )
        return pattern, order

    @classmethod
    def segments(cls, row: Tensor, num_rows: int) -> "SparsePattern":
        """Pattern of sums over segments: entry i is in row `row[i]` (ascending) and column i."""
        identity = torch.arange(row.numel() + 1, device=row.device)
        return cls(
            row=row,
            col=identity[:-1],
            rowptr=pointers_from_index(row, num_rows),
            transposed_order=identity[:-1],
            transposed_rowptr=identity,
        )

    def transposed(self) -> "SparsePattern":
        """Pattern of the transposed matrix, with entries in `transposed_order`."""
        return SparsePattern(
            row=self.col[self.transposed_order],
            col=self.row[self.transposed_order],
            rowptr=self.transposed_rowptr,
            transposed_order=inverse_order(self.transposed_order),
            transposed_rowptr=self.rowptr,
        )

    def product(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        """Multiply the matrix with x `[cols, channels]`; all entries are 1 without `weight`."""
        return sparse_sum(
            x,
            weight,
            self.row,
            self.col,
            self.rowptr,
            self.transposed_order,
            self.transposed_rowptr,
        )
