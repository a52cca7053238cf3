"""Product of a sparse matrix in CSR form and a dense matrix, by torch."""

import warnings
from functools import cache

import torch
from torch import Tensor


def csr_product(rowptr: Tensor, col: Tensor, weight: Tensor | None, x: Tensor) -> Tensor:
    """Multiply a sparse matrix with x, without gradients; all entries are 1 without `weight`."""
    if col.numel() == 0:
        return x.new_zeros(rowptr.numel() - 1, x.shape[1])
    if x.device.type == "cpu":  # two to three times as fast as the CSR kernel
        factors = None if weight is None else weight.detach()
        # Arguments: no scaling by frequency, sum, no sparse gradient, factors, last offset.
        return torch.embedding_bag(x.detach(), col, rowptr, False, 0, False, factors, True)[0]
    _silence_beta_warning()
    matrix = torch.sparse_csr_tensor(
        rowptr,
        col,
        x.new_ones(col.numel()) if weight is None else weight,
        (rowptr.numel() - 1, x.shape[0]),
        check_invariants=False,
    )
    return matrix @ x


@cache
def _silence_beta_warning() -> None:
    """Suppress the warning that CSR tensors are in beta, which torch gives once per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = torch.zeros(1, dtype=torch.int64)
        torch.sparse_csr_tensor(
            torch.tensor([0, 1]), index, torch.ones(1), (1, 1), check_invariants=False
        )
