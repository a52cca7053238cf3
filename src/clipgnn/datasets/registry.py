"""Data sets by name: the nine of the paper, and all others of the TU collection."""

import os
from collections.abc import Callable, Mapping

from clipgnn.datasets.properties import (
    bipartiteness,
    circular_skip_links,
    connectivity,
    triangle_freeness,
)
from clipgnn.datasets.tu import check_name, load_tu
from clipgnn.errors import DatasetNotFoundError, suggestion
from clipgnn.graphs.packed import PackedGraphs

PROPERTY_TASKS: Mapping[str, Callable[[int], PackedGraphs]] = {
    "connectivity": connectivity,
    "bipartiteness": bipartiteness,
    "triangle-freeness": triangle_freeness,
    "csl": circular_skip_links,
}
"""The synthetic tasks, which are generated from a seed."""

BENCHMARKS = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI")
"""The real data sets of the paper, which calls them MUTAG, PTC, PROTEINS, IMDBb and IMDBm."""

DATASET_NAMES = (*PROPERTY_TASKS, *BENCHMARKS)
"""All data sets of the paper."""


def load_dataset(
    name: str,
    *,
    root: str | os.PathLike[str] | None = None,
    seed: int = 0,
    download: bool = True,
) -> PackedGraphs:
    """Load a data set by its name.

    Args:
        name: one of `DATASET_NAMES`, or any other data set in the layout of the TU collection.
        root: folder of the TU data sets, as for `load_tu`.
        seed: seed of the property tasks; other data sets do not depend on it.
        download: whether a missing TU data set may be downloaded.

    Raises:
        InvalidParameterError: if the name is not a string or cannot be a data set's.
        DatasetNotFoundError: if there is no data set of this name, or its files are missing.
        DatasetFileError: if its files are damaged.

    Example:
        >>> load_dataset("csl", seed=1)
        PackedGraphs('csl', graphs=150, nodes=6150, edges=24600, in_channels=1)
    """
    check_name(name)
    if (make := PROPERTY_TASKS.get(name)) is not None:
        return make(seed)
    try:
        return load_tu(name, root, download=download)
    except DatasetNotFoundError as error:
        if name in BENCHMARKS:
            raise
        raise DatasetNotFoundError(
            f"The name of a data set must be one of {', '.join(DATASET_NAMES)}, or of a folder in "
            f"the TU layout. Got {name!r}.{suggestion(name, DATASET_NAMES)} {error}"
        ) from error
