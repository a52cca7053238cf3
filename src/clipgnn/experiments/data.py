"""Data sets of an experiment: loading, and the fingerprints that trials record.

Torch is imported inside the functions, so that stores and reports work without it.
"""

import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from clipgnn.errors import DatasetFileError
from clipgnn.experiments.catalog import OPTION, TU_PREFIX


def fingerprint_of(dataset: str) -> str:
    """Load a data set and compute its fingerprint; it is not cached, because files change.

    Raises:
        DatasetNotFoundError: if it does not exist and could not be downloaded.
        DatasetFileError: if its files are damaged.
    """
    fingerprint: str = _load(dataset).fingerprint
    return fingerprint


def fingerprints(datasets: Iterable[str], expected: Mapping[str, str]) -> dict[str, str]:
    """Load data sets and compute their fingerprints, before training starts.

    Args:
        datasets: names of the data sets.
        expected: fingerprints of an earlier run that is continued; any of them may be missing.

    Raises:
        DatasetNotFoundError: if one does not exist and could not be downloaded.
        DatasetFileError: if files are damaged, or a data set is not the expected one.
    """
    found = {dataset: fingerprint_of(dataset) for dataset in datasets}
    for dataset, own in found.items():
        if expected.get(dataset, own) != own:
            raise DatasetFileError(
                f"{_changed(dataset, expected[dataset], own)} Restore its files, or start "
                "a new run, which trains all trials on it again."
            )
    return found


_loading = threading.Lock()
"""Jobs of a process that need the same data set wait until one of them has loaded it."""


def load(dataset: str, data: str) -> Any:
    """Return the graphs of a data set, cached for the next trials of this process.

    Args:
        dataset: name of the data set.
        data: the fingerprint that it must have; if empty, it is not checked.

    Raises:
        DatasetNotFoundError: if it does not exist and could not be downloaded.
        DatasetFileError: if its files are damaged, or it has another fingerprint.
    """
    with _loading:
        return _load_checked(dataset, data)


@lru_cache(maxsize=4)
def _load_checked(dataset: str, data: str) -> Any:
    graphs = _load(dataset)
    if data and graphs.fingerprint != data:
        raise DatasetFileError(
            f"{_changed(dataset, data, graphs.fingerprint)} Use the same files on every "
            "machine and during the whole run, or start the run again if the change was intended."
        )
    return graphs


def _load(dataset: str) -> Any:
    """Load a data set; generated ones use seed 0 for all trials."""
    from clipgnn.datasets.registry import load_dataset
    from clipgnn.datasets.tu import load_tu

    name, *options = dataset.split(OPTION)
    if name.startswith(TU_PREFIX) or options:
        return load_tu(
            name.removeprefix(TU_PREFIX),
            edge_labels="edge_labels" in options,
            node_attributes="node_attributes" in options,
        )
    return load_dataset(name, seed=0)


def _changed(dataset: str, expected: str, found: str) -> str:
    return (
        f"The data set {dataset!r} must have the fingerprint {expected} of this run. Got {found}."
    )
