"""The data sets of an experiment: loading them, and the fingerprints by which trials name them.

Torch is imported inside the functions, so that stores and reports work without it.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from clipgnn.errors import DatasetFileError
from clipgnn.experiments.catalog import TU_PREFIX


def fingerprint_of(dataset: str) -> str:
    """Load a data set and compute its fingerprint; nothing is cached, because files change.

    Raises:
        DatasetNotFoundError: if it does not exist and could not be downloaded.
        DatasetFileError: if its files are damaged.
    """
    fingerprint: str = _load(dataset).fingerprint
    return fingerprint


def fingerprints(datasets: Iterable[str], expected: Mapping[str, str]) -> dict[str, str]:
    """Load data sets and compute their fingerprints, before anything is trained on them.

    Args:
        datasets: names of the data sets.
        expected: fingerprints of an earlier run that is to be continued; may lack any of them.

    Raises:
        DatasetNotFoundError: if one does not exist and could not be downloaded.
        DatasetFileError: if files are damaged, or a data set is not the expected one.
    """
    found = {dataset: fingerprint_of(dataset) for dataset in datasets}
    for dataset, own in found.items():
        if expected.get(dataset, own) != own:
            raise DatasetFileError(
                f"{_changed(dataset, expected[dataset], own)} Restore its files, or use "
                "`clipgnn experiment run`, which measures everything on it again."
            )
    return found


@lru_cache(maxsize=2)
def load(dataset: str, data: str) -> Any:
    """The graphs of a data set, kept for the next trial of this process.

    Args:
        dataset: name of the data set.
        data: the fingerprint it must have; if empty, any will do.

    Raises:
        DatasetNotFoundError: if it does not exist and could not be downloaded.
        DatasetFileError: if its files are damaged, or it has another fingerprint.
    """
    graphs = _load(dataset)
    if data and graphs.fingerprint != data:
        raise DatasetFileError(
            f"{_changed(dataset, data, graphs.fingerprint)} Every machine must have the same "
            "files, and they must stay the same during a run; start the run again if the change "
            "was intended."
        )
    return graphs


def _load(dataset: str) -> Any:
    """A data set; those made from a seed are made from seed 0, the same one for all trials."""
    from clipgnn.datasets.registry import load_dataset
    from clipgnn.datasets.tu import load_tu

    if dataset.startswith(TU_PREFIX):
        return load_tu(dataset.removeprefix(TU_PREFIX))
    return load_dataset(dataset, seed=0)


def _changed(dataset: str, expected: str, found: str) -> str:
    return (
        f"The data set {dataset!r} must have the fingerprint {expected}, with which this run "
        f"began. Got {found}."
    )
