"""Splits of a data set: stratified folds and validation parts."""

import math
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.indices import GraphIndices, as_graph_indices, check_graph_indices
from clipgnn.graphs.packed_checks import check_targets, with_classes
from clipgnn.graphs.seeds import NUMPY_BITS, check_seed


def stratified_folds(
    y: Tensor,
    num_folds: int | np.integer[Any] = 10,
    seed: int = 0,
    groups: Tensor | None = None,
) -> list[tuple[Tensor, Tensor]]:
    """Split graphs into folds with equal shares of every class.

    With seed 0 these are the folds of the GIN protocol. For regression, which has no classes, folds
    are drawn at random. Of a class with fewer graphs than folds, some test parts have none.

    Args:
        y: target of each graph.
        num_folds: number of folds; each is the test part once.
        seed: seed of the shuffling before graphs are assigned to folds.
        groups: group of each graph; graphs of one group are in one fold. The shares of the classes
            are then as equal as the groups allow.

    Returns:
        For each fold the indices of its training and test graphs, ascending, on the CPU.

    Raises:
        InvalidParameterError: if every class has fewer graphs than there are folds, there are fewer
            groups than folds, or the seed has more than 32 bits.
        InvalidGraphError: if a target is negative or infinite; NaN stands for a missing one.
    """
    # imports take a second
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    targets, seed = _targets(y), check_seed(seed, bits=NUMPY_BITS)
    graphs = targets.shape[0]
    integer = isinstance(num_folds, int | np.integer) and not isinstance(num_folds, bool)
    if not integer or not 2 <= num_folds <= graphs:
        raise InvalidParameterError(
            f"num_folds must be an integer from 2 to the number of graphs, {graphs}. "
            f"Got {shown(num_folds)}."
        )
    num_folds = int(num_folds)
    options = {"n_splits": num_folds, "shuffle": True, "random_state": seed}
    if not targets.is_floating_point():
        largest = int(targets.unique(return_counts=True)[1].max())
        if largest < num_folds:
            raise InvalidParameterError(
                f"A class must have a graph for each of the {num_folds} folds. Got at most "
                f"{largest} graphs of a class. Use num_folds={largest} or fewer, or more data."
            )
    if groups is not None:
        groups = _checked_groups(groups, graphs, num_folds)
        kind = GroupKFold if targets.is_floating_point() else StratifiedGroupKFold
        splits = kind(**options).split(targets, targets, groups)
    elif targets.is_floating_point():
        splits = KFold(**options).split(targets)
    else:
        splits = StratifiedKFold(**options).split(targets, targets)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return [(torch.from_numpy(train), torch.from_numpy(test)) for train, test in splits]


def hold_out(
    train: GraphIndices,
    y: Tensor,
    fraction: float | np.floating[Any],
    seed: int,
    groups: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Split training graphs into a training and a validation part, with equal shares of classes.

    Args:
        train: indices of the training graphs, or a mask, as for `Split`.
        y: target of every graph of the data set.
        fraction: share of `train` in the validation part, between 0 and 1.
        seed: seed of the random choice.
        groups: group of each graph of the data set; graphs of one group are in one part, which has
            the fraction nearest to `fraction` of the form 1 / integer.

    Returns:
        Indices of the training graphs and of the validation graphs, ascending, on the CPU.

    Raises:
        InvalidParameterError: if a part would be empty or too small for every class, an index in
            `train` is out of range or repeated, or the seed has more than 32 bits.
        InvalidGraphError: if a target is negative or infinite; NaN stands for a missing one.
    """
    from sklearn.model_selection import train_test_split

    targets, seed = _targets(y), check_seed(seed, bits=NUMPY_BITS)
    real = isinstance(fraction, int | float | np.floating) and not isinstance(fraction, bool)
    if not real or not 0 < fraction < 1:
        raise InvalidParameterError(f"fraction must be between 0 and 1. Got {shown(fraction)}.")
    chosen, mask_length = as_graph_indices("train", train)
    check_graph_indices("train", chosen, mask_length, targets.shape[0])
    if groups is not None:
        number = max(2, round(1 / fraction))
        _checked_groups(groups, targets.shape[0], 1)
        own_groups = _checked_groups(groups[chosen], chosen.numel(), number)
        own = stratified_folds(targets[chosen], number, seed, own_groups)
        return tuple(chosen[part].sort().values for part in own[0])  # type: ignore[return-value]
    classes = None if targets.is_floating_point() else targets[chosen]
    _check_parts(chosen.numel(), classes, float(fraction))
    kept, held_out = train_test_split(
        chosen.numpy(),
        test_size=float(fraction),
        random_state=seed,
        stratify=None if classes is None else classes.numpy(),
    )
    return torch.from_numpy(kept).sort().values, torch.from_numpy(held_out).sort().values


def _check_parts(graphs: int, classes: Tensor | None, fraction: float) -> None:
    """Check that both parts can have graphs, and of every class."""
    held_out = math.ceil(fraction * graphs)
    counts = None if classes is None else classes.unique(return_counts=True)[1]
    each = 1 if counts is None else counts.numel()
    if counts is not None and counts.numel() and int(counts.min()) < 2:
        raise InvalidParameterError(
            "Every class must have at least two graphs, one for each part. Got a class with one of "
            f"{graphs} graphs. Use more graphs, or leave that class out."
        )
    if min(held_out, graphs - held_out) < max(1, each):
        needed = "a graph" if counts is None else f"a graph of each of the {each} classes"
        raise InvalidParameterError(
            f"Both parts must have {needed}. Got fraction={fraction} of {graphs} graphs, which are "
            f"parts of {graphs - held_out} and {held_out}. Use another fraction, or more graphs."
        )


def _checked_groups(groups: Tensor, num_graphs: int, num_folds: int) -> Tensor:
    if not isinstance(groups, Tensor) or groups.shape != (num_graphs,):
        got = list(groups.shape) if isinstance(groups, Tensor) else type(groups).__name__
        raise InvalidParameterError(
            f"groups must be a tensor with an entry for each of the {num_graphs} graphs. Got {got}."
        )
    count = groups.unique().numel()
    if count < num_folds:
        raise InvalidParameterError(
            f"groups must have at least {num_folds} groups, one for each fold. Got {count}. Use "
            "fewer folds."
        )
    return groups.cpu()


def _targets(y: Tensor) -> Tensor:
    """Check targets and return them on the CPU, classes in int64."""
    if isinstance(y, Tensor):
        y = with_classes(y)
    check_targets(y)
    return y.cpu()
