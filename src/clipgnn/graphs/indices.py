"""Selection of graphs by indices or by a boolean mask."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.checks import check_dense, describe, first_beyond_int64

GraphIndices = Tensor | NDArray[Any] | Sequence[int | np.integer[Any]] | Sequence[bool | np.bool_]
"""Indices of graphs, or a boolean mask over all graphs of the data set."""


def as_graph_indices(name: str, chosen: GraphIndices) -> tuple[Tensor, int | None]:
    """Copy indices of graphs, or the positions where a mask is true, to an int64 CPU tensor.

    Returns:
        The indices `[chosen]`, and the length of the mask; None if there was no mask.

    Raises:
        InvalidParameterError: if they are neither indices nor a mask.
    """
    rule = (
        f"{name} must be indices of graphs (integers) or a boolean mask, as a list, a NumPy array "
        "or a tensor with one axis."
    )
    if not isinstance(chosen, Tensor):
        chosen = _as_tensor(chosen, rule)
    check_dense(name, chosen, InvalidParameterError)
    integers = not (chosen.is_floating_point() or chosen.is_complex())
    if chosen.dim() != 1 or not (integers or chosen.numel() == 0):
        raise InvalidParameterError(f"{rule} Got {describe(chosen)}.")
    if chosen.dtype == torch.bool:
        return chosen.detach().cpu().nonzero()[:, 0], chosen.numel()
    if (wrapped := first_beyond_int64(chosen)) is not None:
        raise InvalidParameterError(f"{rule} Got graph {wrapped[1]}.")
    return chosen.detach().to("cpu", torch.int64, copy=True), None


def _as_tensor(chosen: Any, rule: str) -> Tensor:
    """Convert a list or a NumPy array whose elements are all integers, or all booleans."""
    if isinstance(chosen, str | bytes) or not isinstance(chosen, np.ndarray | Sequence):
        raise InvalidParameterError(f"{rule} Got {type(chosen).__name__}.")
    if isinstance(chosen, np.ma.MaskedArray):
        raise InvalidParameterError(
            f"{rule} Got a masked array. Use .compressed() for the entries that are not masked."
        )
    try:
        values = np.asarray(chosen)
    except (ValueError, OverflowError, RuntimeError) as error:  # such as rows of different lengths
        raise InvalidParameterError(f"{rule} Got {type(chosen).__name__}: {error}") from error
    listed = not isinstance(chosen, np.ndarray) and values.dtype != np.bool_
    if listed and any(_is_boolean(value) for value in chosen):
        raise InvalidParameterError(f"{rule} Got integers and booleans in one list.")
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iub"):
        raise InvalidParameterError(f"{rule} Got {values.dtype} of shape {list(values.shape)}.")
    dtype = {"b": np.bool_, "u": np.uint64}.get(values.dtype.kind, np.int64)
    return torch.from_numpy(values.astype(dtype))


def _is_boolean(value: object) -> bool:
    """Whether a value is a boolean of Python, NumPy or torch (an array without axes)."""
    return isinstance(value, bool) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool")


def check_range(name: str, indices: Tensor, num_graphs: int) -> None:
    """Check that int64 indices are in the range of the data set.

    Raises:
        InvalidParameterError: if one is not. The message names it.
    """
    outside = indices[(indices < 0) | (indices >= num_graphs)]
    if outside.numel():
        raise InvalidParameterError(
            f"{name} must have graphs from 0 to {num_graphs - 1}. Got graph {int(outside[0])}."
        )


def check_graph_indices(
    name: str, indices: Tensor, mask_length: int | None, num_graphs: int
) -> None:
    """Check indices from `as_graph_indices`: in range, and without duplicates.

    Raises:
        InvalidParameterError: if one is out of range or occurs twice, or if the mask did not have
            an entry for each graph.
    """
    if mask_length not in (None, num_graphs):
        raise InvalidParameterError(
            f"{name} must be a mask with an entry for each of the {num_graphs} graphs. Got "
            f"{mask_length} entries."
        )
    check_range(name, indices, num_graphs)
    values, counts = indices.unique(return_counts=True)
    if values.numel() < indices.numel():
        raise InvalidParameterError(
            f"{name} must not have duplicates. Got graph "
            f"{int(values[counts.argmax()])} {int(counts.max())} times."
        )
