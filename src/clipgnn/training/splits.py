"""Which graphs a member trains on, is validated on and is tested on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import torch
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.numbers import Numbers, as_numbers, check_numbers

_PARTS = ("train", "test", "validation")


@dataclass(frozen=True, eq=False, init=False)
class Split:
    """Graphs for training, testing and validation, as int64 numbers of graphs on the CPU.

    Args:
        train: graphs to train on: integers as list, tuple, NumPy array or tensor, or a boolean mask
            with an entry for each graph of the data set.
        test: graphs to test on after every epoch.
        validation: graphs to choose an epoch or a configuration by; may be empty.
        masks: set by `dataclasses.replace`, so that the lengths of the masks are still checked.

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
    masks: Sequence["FromMask"] = field(default=(), repr=False)

    def __init__(
        self,
        train: Numbers,
        test: Numbers,
        validation: Numbers = (),
        masks: Sequence["FromMask"] = (),
    ) -> None:
        found = []
        for name, part in zip(_PARTS, (train, test, validation), strict=True):
            numbers, length = as_numbers(f"The {name!r} part of a split", part)
            length = mask_length(part, masks) if length is None else length
            if length is not None:
                found.append(FromMask(numbers, length))
            object.__setattr__(self, name, numbers)
        object.__setattr__(self, "masks", tuple(found))


class FromMask(NamedTuple):
    """A part of a split that was given as a mask of this length."""

    numbers: Tensor
    length: int


def mask_length(part: object, masks: Sequence[FromMask]) -> int | None:
    """The length of the mask that a part was made from; None if it was made from numbers."""
    return next((length for numbers, length in masks if numbers is part), None)


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
            "splits must be a list of at least one Split. Got "
            f"{'none' if isinstance(splits, Sequence) and not splits else type(splits).__name__}."
        )
    for number, split in enumerate(splits):
        if not isinstance(split, Split):
            raise InvalidParameterError(
                f"splits must be a list of Split. Got {type(split).__name__} as split {number}. A "
                "pair of stratified_folds becomes one with Split(*pair)."
            )
        for name in _PARTS:
            _check_part(name, split, number, num_graphs)
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


def _check_part(name: str, split: Split, number: int, num_graphs: int) -> None:
    what = f"Split {number}: {name}"
    numbers: Tensor = getattr(split, name)
    check_numbers(what, numbers, mask_length(numbers, split.masks), num_graphs)
    if numbers.numel() == 0 and name != "validation":
        raise InvalidParameterError(f"{what} must name at least one graph. Got none.")
