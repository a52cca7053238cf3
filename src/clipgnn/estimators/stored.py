"""Targets and validation graphs of graphs on disk, without reading all of them into memory."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.storage.stored import StoredGraphs

MAX_VALIDATION = 2**16
"""Largest number of validation graphs, which are in memory."""


def check_no_targets(y: object) -> None:
    """Check that targets are not given beside those on disk.

    Raises:
        InvalidParameterError: if they are.
    """
    if y is not None:
        raise InvalidParameterError(
            "y must be None for graphs on disk, which are trained with their own targets. Got "
            f"{type(y).__name__}. Convert the graphs with these targets."
        )


def classes_of(graphs: StoredGraphs) -> NDArray[Any]:
    """The classes: their names, or numbers if they have no names.

    Raises:
        InvalidParameterError: if the targets are numbers, or there is only one class.
    """
    if not graphs.has_classes:
        raise InvalidParameterError(
            f"The targets of {graphs.name!r} must be classes. They are numbers. Use CLIPRegressor."
        )
    count = graphs.num_classes
    if count < 2:
        raise InvalidParameterError(f"{graphs.name!r} must have at least two classes. Got one.")
    names = None if graphs.target_names is None else graphs.target_names.classes
    if names is not None and len(names) < count:
        raise InvalidParameterError(
            f"{graphs.name!r} must have a name for each class. Got {len(names)} names and class "
            f"{count - 1}. Convert all graphs together."
        )
    return np.arange(count) if names is None else np.array(names)


def stored_names(graphs: object) -> list[str] | None:
    """Names of the targets of graphs on disk; None if they have no names."""
    names = graphs.target_names if isinstance(graphs, StoredGraphs) else None
    return None if names is None else list(names.names)


def scaling_of(graphs: StoredGraphs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of the known targets, which are read one shard at a time.

    Raises:
        InvalidParameterError: if the targets are classes, or none is known.
    """
    if graphs.has_classes:
        raise InvalidParameterError(
            f"The targets of {graphs.name!r} must be numbers. They are classes. Use CLIPClassifier."
        )
    # Number, mean and squared deviations of each target; shards are joined one by one.
    count = mean = squares = torch.zeros(())
    for y in graphs.targets_by_shard():
        known = ~y.isnan()
        own_count = known.sum(0).double()
        own_mean = torch.where(known, y.double(), 0).sum(0) / own_count.clamp(min=1)
        own_squares = torch.where(known, y.double() - own_mean, 0).square().sum(0)
        total = (count + own_count).clamp(min=1)
        difference = own_mean - mean
        squares = squares + own_squares + difference.square() * count * own_count / total
        mean = mean + difference * own_count / total
        count = count + own_count
    if bool((count == 0).any()):
        raise InvalidParameterError(
            f"{graphs.name!r} must have a known value of each target. Got only missing values."
        )
    scale = (squares / count).sqrt()
    return mean.numpy(), torch.where(scale > 0, scale, 1.0).numpy()


def validation_graphs(num_graphs: int, fraction: object, seed: int) -> Tensor:
    """Random graphs to validate with, at most `MAX_VALIDATION`, ascending.

    Raises:
        InvalidParameterError: if the fraction is not possible.
    """
    real = isinstance(fraction, int | float | np.floating) and not isinstance(fraction, bool)
    if not real or not 0 < float(fraction) < 1:  # type: ignore[arg-type]
        raise InvalidParameterError(
            f"validation_fraction must be between 0 and 1. Got {shown(fraction)}."
        )
    count = min(round(float(fraction) * num_graphs), MAX_VALIDATION)  # type: ignore[arg-type]
    if not 1 <= count <= num_graphs - 2:
        raise InvalidParameterError(
            f"validation_fraction must leave at least two training graphs and one validation graph "
            f"of {num_graphs}. Got {shown(fraction)}."
        )
    random = np.random.default_rng(seed)
    drawn = np.zeros(0, dtype=np.int64)
    while len(drawn) < count:
        drawn = np.unique(np.concatenate([drawn, random.integers(num_graphs, size=2 * count)]))
    return torch.from_numpy(np.sort(random.choice(drawn, count, replace=False)))
