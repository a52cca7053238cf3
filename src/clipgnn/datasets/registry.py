"""Data sets by name: the paper's nine, and any other of the TU collection."""

import os
from collections.abc import Callable, Mapping

from clipgnn.datasets.properties import (
    bipartiteness,
    circular_skip_links,
    connectivity,
    triangle_freeness,
)
from clipgnn.datasets.tu import load_tu
from clipgnn.errors import DatasetNotFoundError, suggestion
from clipgnn.graphs.packed import PackedGraphs

PROPERTY_TASKS: Mapping[str, Callable[[int], PackedGraphs]] = {
    "connectivity": connectivity,
    "bipartiteness": bipartiteness,
    "triangle-freeness": triangle_freeness,
    "csl": circular_skip_links,
}
"""The tasks made from a seed."""

BENCHMARKS = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI")
"""The paper's benchmarks, which it calls MUTAG, PTC, PROTEINS, IMDBb and IMDBm."""

DATASET_NAMES = (*PROPERTY_TASKS, *BENCHMARKS)
"""Every data set of the paper."""


def load_dataset(
    name: str,
    *,
    root: str | os.PathLike[str] | None = None,
    seed: int = 0,
    download: bool = True,
) -> PackedGraphs:
    """A data set by its name.

    Args:
        name: one of `DATASET_NAMES`, or any other data set in the layout of the TU collection.
        root: folder of the TU data sets, as for `load_tu`.
        seed: seed of the property tasks; the others do not depend on it.
        download: whether a TU data set that is not there may be downloaded.

    Raises:
        DatasetNotFoundError: if there is no such data set, or it is not there.
        DatasetFileError: if its files are damaged.

    Example:
        >>> load_dataset("csl", seed=1)
        PackedGraphs('csl', graphs=150, nodes=6150, edges=24600, in_channels=1)
    """
    if (make := PROPERTY_TASKS.get(name)) is not None:
        return make(seed)
    try:
        return load_tu(name, root, download=download)
    except DatasetNotFoundError as error:
        if name in BENCHMARKS:
            raise
        raise DatasetNotFoundError(
            f"{name!r} is none of the data sets known by name "
            f"({', '.join(DATASET_NAMES)}).{suggestion(name, DATASET_NAMES)} {error}"
        ) from error
