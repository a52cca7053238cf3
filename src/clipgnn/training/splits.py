"""Which graphs a member trains on, is validated on and is tested on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.checks import check_plain

Numbers = Tensor | NDArray[Any] | Sequence[int | np.integer[Any]] | Sequence[bool | np.bool_]
"""Numbers of graphs, or a boolean mask over all graphs of the data set."""

_PARTS = ("train", "test", "validation")


@dataclass(frozen=True, eq=False, init=False)
class Split:
    """Graphs for training, testing and validation, as int64 numbers of graphs on the CPU.

    Args:
        train: graphs to train on: integers as list, tuple, NumPy array or tensor, or a boolean mask
            with an entry for each graph of the data set.
        test: graphs to test on after every epoch.
        validation: graphs to choose an epoch or a configuration by; may be empty.

    Raises:
        InvalidParameterError: if a part is neither numbers nor a mask. Range, duplicates and
            overlap are checked by `train` and `fit`, which know the data set.

    Example:
        >>> Split(train=[0, 1, 4], test=[False, False, True, True, False]).test
        tensor([2, 3])
    """

    train: Tensor
    test: Tensor
    validation: Tensor
    mask_lengths: dict[str, int] = field(init=False, repr=False)

    def __init__(self, train: Numbers, test: Numbers, validation: Numbers = ()) -> None:
        lengths: dict[str, int] = {}
        for name, part in zip(_PARTS, (train, test, validation), strict=True):
            numbers = _integers(name, part)
            if numbers.dtype == torch.bool:
                lengths[name] = numbers.numel()
                numbers = numbers.nonzero()[:, 0]
            object.__setattr__(self, name, numbers)
        object.__setattr__(self, "mask_lengths", lengths)


def check_splits(splits: Any, num_graphs: int, *, allow_overlap: bool = False) -> None:
    """Check that every split names graphs of the data set, each in one part only.

    Args:
        splits: the splits of all members, a sequence of `Split`.
        num_graphs: graphs of the data set.
        allow_overlap: whether a graph may be in several parts of a split.

    Raises:
        InvalidParameterError: if a split does not. The message names split, part and graph.
    """
    if isinstance(splits, str) or not isinstance(splits, Sequence) or not splits:
        raise InvalidParameterError(
            f"splits must be a list of at least one Split. Got {_shown(splits)}."
        )
    for number, split in enumerate(splits):
        if not isinstance(split, Split):
            raise InvalidParameterError(
                f"splits must be a list of Split. Got {_shown(split)} as split {number}. A pair of "
                "stratified_folds becomes one with Split(*pair)."
            )
        for name in _PARTS:
            _check_part(f"Split {number}: {name}", name, split, num_graphs)
        if allow_overlap:
            continue
        for one, other in combinations(_PARTS, 2):
            first, second = getattr(split, one), getattr(split, other)
            common = first[torch.isin(first, second)]
            if common.numel():
                raise InvalidParameterError(
                    f"Split {number}: {one} and {other} must not have graphs in common. Got graph "
                    f"{int(common[0])} in both ({common.numel()} in all). Pass allow_overlap=True "
                    "if that is intended."
                )


def _check_part(what: str, name: str, split: Split, num_graphs: int) -> None:
    numbers: Tensor = getattr(split, name)
    length = split.mask_lengths.get(name, num_graphs)
    if length != num_graphs:
        raise InvalidParameterError(
            f"{what} must be a mask with an entry for each of the {num_graphs} graphs. Got "
            f"{length} entries."
        )
    if numbers.numel() == 0 and name != "validation":
        raise InvalidParameterError(f"{what} must name at least one graph. Got none.")
    outside = numbers[(numbers < 0) | (numbers >= num_graphs)]
    if outside.numel():
        raise InvalidParameterError(
            f"{what} must name graphs from 0 to {num_graphs - 1}. Got graph {int(outside[0])}."
        )
    values, counts = numbers.unique(return_counts=True)
    if values.numel() < numbers.numel():
        raise InvalidParameterError(
            f"{what} must name every graph at most once. Got graph "
            f"{int(values[counts.argmax()])} {int(counts.max())} times."
        )


def _integers(name: str, part: Numbers) -> Tensor:
    """The part as an int64 or boolean tensor with one axis, on the CPU."""
    rule = (
        f"The {name!r} part of a split must be numbers of graphs (integers) or a boolean mask, as "
        "list, NumPy array or tensor with one axis."
    )
    if isinstance(part, Tensor):
        check_plain(name, part, InvalidParameterError)
        kind = part.dtype.is_floating_point or part.dtype.is_complex
        if part.dim() != 1 or (kind and part.numel()):
            got = f"{str(part.dtype).removeprefix('torch.')} of shape {list(part.shape)}"
            raise InvalidParameterError(f"{rule} Got {got}.")
        part = part.detach().cpu()
        return part.clone() if part.dtype == torch.bool else part.long()
    if isinstance(part, str | bytes) or not isinstance(part, np.ndarray | Sequence):
        raise InvalidParameterError(f"{rule} Got {_shown(part)}.")
    try:
        values = np.asarray(part)
    except (ValueError, OverflowError) as error:  # rows of different lengths
        raise InvalidParameterError(f"{rule} Got {_shown(part)}: {error}.") from error
    listed = not isinstance(part, np.ndarray) and values.dtype != np.bool_
    mixed = listed and any(isinstance(value, bool) for value in part)
    if values.ndim != 1 or mixed or (values.size and values.dtype.kind not in "iub"):
        got = f"{values.dtype} of shape {list(values.shape)}"
        raise InvalidParameterError(f"{rule} Got {got}{' with booleans in it' if mixed else ''}.")
    if values.dtype.kind == "u" and values.size and int(values.max()) >= 2**63:
        raise InvalidParameterError(f"{rule} Got graph {int(values.max())}.")
    kept = np.bool_ if values.dtype == np.bool_ else np.int64
    return torch.from_numpy(values.astype(kept))


def _shown(value: object) -> str:
    return (
        f"{type(value).__name__} {value!r:.60}" if isinstance(value, str) else type(value).__name__
    )
