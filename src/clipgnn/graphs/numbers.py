"""Graphs chosen by number or by mask, in every form that users have them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.checks import check_plain, describe

Numbers = Tensor | NDArray[Any] | Sequence[int | np.integer[Any]] | Sequence[bool | np.bool_]
"""Numbers of graphs, or a boolean mask over all graphs of the data set."""


def as_numbers(name: str, chosen: Numbers) -> Tensor:
    """Copy numbers of graphs, or a mask, to an int64 or boolean tensor with one axis on the CPU.

    Raises:
        InvalidParameterError: if they are neither.
    """
    rule = (
        f"{name} must be numbers of graphs (integers) or a boolean mask, as list, NumPy array or "
        "tensor with one axis."
    )
    if isinstance(chosen, Tensor):
        check_plain(name, chosen, InvalidParameterError)
        integers = not (chosen.is_floating_point() or chosen.is_complex())
        if chosen.dim() != 1 or not (integers or chosen.numel() == 0):
            raise InvalidParameterError(f"{rule} Got {describe(chosen)}.")
        kept = torch.bool if chosen.dtype == torch.bool else torch.int64
        return chosen.detach().to("cpu", kept, copy=True)
    if isinstance(chosen, str | bytes) or not isinstance(chosen, np.ndarray | Sequence):
        raise InvalidParameterError(f"{rule} Got {type(chosen).__name__}.")
    try:
        values = np.asarray(chosen)
    except (ValueError, OverflowError, RuntimeError) as error:  # such as rows of unlike lengths
        raise InvalidParameterError(f"{rule} Got {type(chosen).__name__}: {error}") from error
    listed = not isinstance(chosen, np.ndarray) and values.dtype != np.bool_
    if listed and any(isinstance(value, bool | np.bool_) for value in chosen):
        raise InvalidParameterError(f"{rule} Got integers and booleans in one list.")
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iub"):
        raise InvalidParameterError(f"{rule} Got {values.dtype} of shape {list(values.shape)}.")
    if values.dtype.kind == "u" and values.size and int(values.max()) >= 2**63:
        raise InvalidParameterError(f"{rule} Got graph {int(values.max())}.")
    return torch.from_numpy(values.astype(np.bool_ if values.dtype == np.bool_ else np.int64))


def check_numbers(name: str, numbers: Tensor, num_graphs: int) -> None:
    """Check that int64 numbers name graphs of the data set, each at most once.

    Raises:
        InvalidParameterError: if they do not. The message names the graph.
    """
    outside = numbers[(numbers < 0) | (numbers >= num_graphs)]
    if outside.numel():
        raise InvalidParameterError(
            f"{name} must name graphs from 0 to {num_graphs - 1}. Got graph {int(outside[0])}."
        )
    values, counts = numbers.unique(return_counts=True)
    if values.numel() < numbers.numel():
        raise InvalidParameterError(
            f"{name} must name every graph at most once. Got graph "
            f"{int(values[counts.argmax()])} {int(counts.max())} times."
        )


def check_mask(name: str, length: int, num_graphs: int) -> None:
    """Check that a mask has an entry for each graph.

    Raises:
        InvalidParameterError: if it has more or fewer.
    """
    if length != num_graphs:
        raise InvalidParameterError(
            f"{name} must be a mask with an entry for each of the {num_graphs} graphs. Got "
            f"{length} entries."
        )
