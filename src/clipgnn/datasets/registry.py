"""Data sets by name: those of the paper, other generated ones, the rest of the TU collection."""

import os
from importlib import import_module

from clipgnn.datasets.counting import substructure_counts
from clipgnn.datasets.tu import check_name, load_tu
from clipgnn.errors import DatasetNotFoundError, suggestion
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters.datasets import BENCHMARKS, COUNTING_TASKS, KNOWN, PROPERTY_TASKS


def load_dataset(
    name: str,
    *,
    root: str | os.PathLike[str] | None = None,
    seed: int = 0,
    download: bool = True,
) -> PackedGraphs:
    """Load a data set by its name.

    Args:
        name: one of `clipgnn.parameters.datasets.KNOWN`, or any other data set in the layout of
            the TU collection.
        root: folder of the TU data sets, as for `load_tu`.
        seed: seed of generated data sets; other data sets do not depend on it.
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
    if name in PROPERTY_TASKS:
        module, function = PROPERTY_TASKS[name].rsplit(".", 1)
        generated: PackedGraphs = getattr(import_module(module), function)(seed)
        return generated
    if name in COUNTING_TASKS:
        return substructure_counts(seed, substructure=COUNTING_TASKS[name])
    try:
        return load_tu(name, root, download=download)
    except DatasetNotFoundError as error:
        if name in BENCHMARKS:
            raise
        raise DatasetNotFoundError(
            f"The name of a data set must be one of {', '.join(KNOWN)}, or of a folder in "
            f"the TU layout. Got {name!r}.{suggestion(name, KNOWN)} {error}"
        ) from error
