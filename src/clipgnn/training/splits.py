"""Splits of a data set into training, test, validation and fresh graphs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import torch
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.indices import GraphIndices, as_graph_indices, check_graph_indices

EVALUATED = ("test", "validation", "fresh")
"""Parts of a split that are evaluated after every epoch."""

_PARTS = ("train", *EVALUATED)


@dataclass(frozen=True, eq=False, init=False)
class Split:
    """Graphs for training and evaluation, as int64 indices on the CPU.

    Args:
        train: training graphs: indices as list, tuple, NumPy array or tensor, or a boolean mask
            with an entry for each graph of the data set.
        test: test graphs, evaluated after every epoch; can be empty, for all splits of a training.
        validation: validation graphs, for the selection of epochs and configurations; can be empty.
        fresh: a second test set, such as graphs of another source, whose scores are recorded and
            never used for a selection; can be empty.
        masks: internal; `dataclasses.replace` sets it to keep the lengths of masks.
        rest: internal; set by `Split.others`.

    Attributes:
        rest: whether all graphs that are in no other part are trained on; see `Split.others`.

    Raises:
        InvalidParameterError: if a part is neither indices nor a mask. `train` and `fit_kernel`
            check range, duplicates and overlap.

    Example:
        >>> Split(train=[0, 1, 4], test=[False, False, True, True, False]).test
        tensor([2, 3])
    """

    train: Tensor
    test: Tensor
    validation: Tensor
    fresh: Tensor
    masks: Sequence["FromMask"] = field(default=(), repr=False)
    rest: bool = False

    @classmethod
    def others(
        cls, test: GraphIndices = (), validation: GraphIndices = (), fresh: GraphIndices = ()
    ) -> "Split":
        """Train on all graphs that are in no other part.

        Their indices are not stored, so that it suits graphs on disk of any number.

        Example:
            >>> Split.others(test=[1]).with_train(4).train
            tensor([0, 2, 3])
        """
        return cls((), test, validation, fresh, rest=True)

    @property
    def evaluated(self) -> Tensor:
        """Graphs of all parts but the training graphs, ascending and without duplicates."""
        return torch.cat([getattr(self, name) for name in EVALUATED]).unique()

    def with_train(self, num_graphs: int) -> "Split":
        """Return the split with the indices of its training graphs."""
        if not self.rest:
            return self
        inside = torch.ones(num_graphs, dtype=torch.bool)
        inside[self.evaluated] = False
        train = inside.nonzero()[:, 0]
        return Split(train, self.test, self.validation, self.fresh, self.masks)

    def num_train(self, num_graphs: int) -> int:
        """Number of training graphs."""
        return num_graphs - self.evaluated.numel() if self.rest else self.train.numel()

    def __init__(
        self,
        train: GraphIndices,
        test: GraphIndices = (),
        validation: GraphIndices = (),
        fresh: GraphIndices = (),
        masks: Sequence["FromMask"] = (),
        rest: bool = False,
    ) -> None:
        found = []
        for name, part in zip(_PARTS, (train, test, validation, fresh), strict=True):
            indices, length = as_graph_indices(f"The {name!r} part of a split", part)
            length = mask_length(part, masks) if length is None else length
            if length is not None:
                found.append(FromMask(indices, length))
            object.__setattr__(self, name, indices)
        object.__setattr__(self, "masks", tuple(found))
        object.__setattr__(self, "rest", rest)


class FromMask(NamedTuple):
    """Indices from a mask, and the length of the mask."""

    indices: Tensor
    length: int


def mask_length(part: object, masks: Sequence[FromMask]) -> int | None:
    """Length of the mask that a part was created from; None for indices."""
    return next((length for indices, length in masks if indices is part), None)


def check_splits(splits: Any, num_graphs: int, *, allow_overlap: bool = False) -> None:
    """Check that the indices of every split are valid, and that its parts do not overlap.

    Args:
        splits: the splits of all members, a sequence of `Split`.
        num_graphs: number of graphs of the data set.
        allow_overlap: whether a graph can be in several parts of a split.

    Raises:
        InvalidParameterError: if a split is invalid. The message names split, part and graph.
    """
    if isinstance(splits, str) or not isinstance(splits, Sequence) or not splits:
        raise InvalidParameterError(
            "splits must be a list of at least one Split. Got "
            f"{'none' if isinstance(splits, Sequence) and not splits else type(splits).__name__}."
        )
    for number, split in enumerate(splits):
        if not isinstance(split, Split):
            raise InvalidParameterError(
                f"splits must be a list of Split. Got {type(split).__name__} as split {number}. "
                "Use Split(*pair) for a pair of stratified_folds."
            )
        for name in _PARTS:
            _check_part(name, split, number, num_graphs)
        if (split.test.numel() == 0) != (splits[0].test.numel() == 0):
            raise InvalidParameterError(
                f"test must have graphs in all splits or in none. Got split {number} "
                f"{'without' if split.test.numel() == 0 else 'with'} test graphs, but split 0 "
                f"{'with' if split.test.numel() == 0 else 'without'} them."
            )
        if allow_overlap:
            continue
        for one, other in combinations(_PARTS, 2):
            first, second = getattr(split, one), getattr(split, other)
            common = first[torch.isin(first, second)]
            if common.numel():
                raise InvalidParameterError(
                    f"Split {number}: {one} and {other} must not have graphs in common. Got graph "
                    f"{int(common[0])} in both ({common.numel()} in all). Use allow_overlap=True "
                    "to allow it."
                )


def _check_part(name: str, split: Split, number: int, num_graphs: int) -> None:
    what = f"Split {number}: {name}"
    indices: Tensor = getattr(split, name)
    check_graph_indices(what, indices, mask_length(indices, split.masks), num_graphs)
    if name == "train" and split.num_train(num_graphs) == 0:
        raise InvalidParameterError(f"{what} must have at least one graph. Got none.")
