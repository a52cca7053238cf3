"""Graphs chosen by number or by mask, in every form that users have them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.checks import check_plain, describe, first_beyond_int64

Numbers = Tensor | NDArray[Any] | Sequence[int | np.integer[Any]] | Sequence[bool | np.bool_]
"""Numbers of graphs, or a boolean mask over all graphs of the data set."""


def as_numbers(name: str, chosen: Numbers) -> tuple[Tensor, int | None]:
    """Copy numbers of graphs, or the places where a mask is true, to an int64 tensor on the CPU.

    Returns:
        The numbers, with one axis, and the length of the mask; None where there was no mask.

    Raises:
        InvalidParameterError: if they are neither numbers nor a mask.
    """
    rule = (
        f"{name} must be numbers of graphs (integers) or a boolean mask, as list, NumPy array or "
        "tensor with one axis."
    )
    if not isinstance(chosen, Tensor):
        chosen = _as_tensor(chosen, rule)
    check_plain(name, chosen, InvalidParameterError)
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
    except (ValueError, OverflowError, RuntimeError) as error:  # such as rows of unlike lengths
        raise InvalidParameterError(f"{rule} Got {type(chosen).__name__}: {error}") from error
    listed = not isinstance(chosen, np.ndarray) and values.dtype != np.bool_
    if listed and any(_is_boolean(value) for value in chosen):
        raise InvalidParameterError(f"{rule} Got integers and booleans in one list.")
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iub"):
        raise InvalidParameterError(f"{rule} Got {values.dtype} of shape {list(values.shape)}.")
    dtype = {"b": np.bool_, "u": np.uint64}.get(values.dtype.kind, np.int64)
    return torch.from_numpy(values.astype(dtype))


def _is_boolean(value: object) -> bool:
    """Whether it is Python's, NumPy's or torch's boolean, the latter as array without axes."""
    return isinstance(value, bool) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool")


def check_range(name: str, numbers: Tensor, num_graphs: int) -> None:
    """Check that int64 numbers name graphs of the data set.

    Raises:
        InvalidParameterError: if one does not. The message names it.
    """
    outside = numbers[(numbers < 0) | (numbers >= num_graphs)]
    if outside.numel():
        raise InvalidParameterError(
            f"{name} must name graphs from 0 to {num_graphs - 1}. Got graph {int(outside[0])}."
        )


def check_numbers(name: str, numbers: Tensor, mask_length: int | None, num_graphs: int) -> None:
    """Check that what `as_numbers` returned names graphs of the data set, each at most once.

    Raises:
        InvalidParameterError: if it does not, or if there was a mask that did not have an entry for
            each graph.
    """
    if mask_length not in (None, num_graphs):
        raise InvalidParameterError(
            f"{name} must be a mask with an entry for each of the {num_graphs} graphs. Got "
            f"{mask_length} entries."
        )
    check_range(name, numbers, num_graphs)
    values, counts = numbers.unique(return_counts=True)
    if values.numel() < numbers.numel():
        raise InvalidParameterError(
            f"{name} must name every graph at most once. Got graph "
            f"{int(values[counts.argmax()])} {int(counts.max())} times."
        )
