"""Which graphs are trained on and which are held out."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.numbers import Numbers, as_numbers, check_numbers
from clipgnn.graphs.packed_checks import check_targets, with_classes
from clipgnn.graphs.seeds import NUMPY_BITS, check_seed


def stratified_folds(
    y: Tensor, num_folds: int | np.integer[Any] = 10, seed: int = 0
) -> list[tuple[Tensor, Tensor]]:
    """Folds with the same share of every class: those of the GIN protocol with seed 0.

    Targets to regress have no classes, and get folds drawn at random.

    Args:
        y: target of each graph.
        num_folds: how many folds; each is the test part once.
        seed: seed of the shuffling before graphs are dealt out.

    Returns:
        For each fold the numbers of its training and of its test graphs, ascending, on the CPU.

    Raises:
        InvalidParameterError: if no class has a graph for every fold, or the seed has more than 32
            bits.
        InvalidGraphError: if a target is negative or not finite.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # slow to import

    targets, seed = _targets(y), check_seed(seed, bits=NUMPY_BITS)
    graphs = targets.shape[0]
    integer = isinstance(num_folds, int | np.integer) and not isinstance(num_folds, bool)
    if not integer or not 2 <= num_folds <= graphs:
        raise InvalidParameterError(
            f"num_folds must be an integer from 2 to the number of graphs, {graphs}. "
            f"Got {shown(num_folds)}."
        )
    num_folds = int(num_folds)
    if targets.is_floating_point():
        splits = KFold(num_folds, shuffle=True, random_state=seed).split(targets)
    else:
        most = int(targets.unique(return_counts=True)[1].max())
        if most < num_folds:
            raise InvalidParameterError(
                f"A class must have a graph for each of the {num_folds} folds. The largest has "
                f"{most}. Use at most {most} folds, or more data."
            )
        folds = StratifiedKFold(num_folds, shuffle=True, random_state=seed)
        splits = folds.split(targets, targets)
    return [(torch.from_numpy(train), torch.from_numpy(test)) for train, test in splits]


def hold_out(train: Numbers, y: Tensor, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Set a part of the training graphs aside, with the same share of every class.

    Args:
        train: numbers of the training graphs, or a mask, as for `Split`.
        y: target of every graph of the data set.
        fraction: share of `train` to set aside, between 0 and 1.
        seed: seed of the choice.

    Returns:
        The graphs to go on training with and those set aside, ascending, on the CPU.

    Raises:
        InvalidParameterError: if a part would be empty or too small to hold every class, `train`
            names graphs that are not there or twice, or the seed has more than 32 bits.
        InvalidGraphError: if a target is negative or not finite.
    """
    from sklearn.model_selection import train_test_split

    targets, seed = _targets(y), check_seed(seed, bits=NUMPY_BITS)
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction < 1:
        raise InvalidParameterError(f"fraction must be between 0 and 1. Got {shown(fraction)}.")
    chosen, mask_length = as_numbers("train", train)
    check_numbers("train", chosen, mask_length, targets.shape[0])
    try:
        kept, aside = train_test_split(
            chosen.numpy(),
            test_size=fraction,
            random_state=seed,
            stratify=None if targets.is_floating_point() else targets[chosen].numpy(),
        )
    except ValueError as error:
        raise InvalidParameterError(
            f"Both parts must hold graphs of every class. A share of {fraction} of "
            f"{chosen.numel()} graphs cannot be set aside so: {error}"
        ) from error
    return torch.from_numpy(kept).sort().values, torch.from_numpy(aside).sort().values


def _targets(y: Tensor) -> Tensor:
    """Targets on the CPU, classes in int64."""
    if isinstance(y, Tensor):
        y = with_classes(y)
    check_targets(y)
    return y.cpu()
