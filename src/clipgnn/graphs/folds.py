"""Which graphs are trained on and which are held out."""

import torch
from torch import Tensor

from clipgnn.errors import InvalidParameterError


def stratified_folds(y: Tensor, num_folds: int = 10, seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Folds with the same share of every class: those of the GIN protocol with seed 0.

    Targets to regress have no classes, and get folds drawn at random.

    Args:
        y: target of each graph.
        num_folds: how many folds; each is the test part once.
        seed: seed of the shuffling before graphs are dealt out.

    Returns:
        For each fold the numbers of its training and of its test graphs, ascending, on the CPU.

    Raises:
        InvalidParameterError: if no class has a graph for every fold.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # slow to import

    if not 2 <= num_folds <= y.shape[0]:
        raise InvalidParameterError(
            f"num_folds must be from 2 to the number of graphs, {y.shape[0]}. Got {num_folds}."
        )
    targets = y.cpu()
    if y.is_floating_point():
        splits = KFold(num_folds, shuffle=True, random_state=seed).split(targets)
    else:
        most = int(targets.bincount().max())
        if most < num_folds:
            raise InvalidParameterError(
                f"A class must have a graph for each of the {num_folds} folds. The largest has "
                f"{most}. Use at most {most} folds, or more data."
            )
        folds = StratifiedKFold(num_folds, shuffle=True, random_state=seed)
        splits = folds.split(targets, targets)
    return [(torch.from_numpy(train), torch.from_numpy(test)) for train, test in splits]


def hold_out(train: Tensor, y: Tensor, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Set a part of the training graphs aside, with the same share of every class.

    Args:
        train: numbers of the training graphs.
        y: target of every graph of the data set.
        fraction: share of `train` to set aside, between 0 and 1.
        seed: seed of the choice.

    Returns:
        The graphs to go on training with and those set aside, ascending, on the CPU.

    Raises:
        InvalidParameterError: if a part would be empty, or too small to hold every class.
    """
    from sklearn.model_selection import train_test_split

    if not 0 < fraction < 1:
        raise InvalidParameterError(f"fraction must be between 0 and 1. Got {fraction}.")
    numbers, targets = train.cpu().numpy(), y.cpu()[train.cpu()].numpy()
    try:
        kept, aside = train_test_split(
            numbers,
            test_size=fraction,
            random_state=seed,
            stratify=None if y.is_floating_point() else targets,
        )
    except ValueError as error:
        raise InvalidParameterError(
            f"Both parts must hold graphs of every class. A share of {fraction} of {train.numel()} "
            f"graphs cannot be set aside so: {error}"
        ) from error
    return torch.from_numpy(kept).sort().values, torch.from_numpy(aside).sort().values
