"""Data sets of an experiment: loading, and the fingerprints that trials record.

Torch is imported inside the functions, so that stores and reports work without it.
"""

import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from clipgnn.errors import DatasetFileError
from clipgnn.experiments.catalog import FRESH, OPTION, TU_PREFIX, fresh_name
from clipgnn.experiments.trial import Trial

FRESH_SEED = 1
"""Seed of the fresh graphs of generated data sets."""


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


def _load_checked(dataset: str, data: str) -> Any:
    graphs = _load(dataset)
    if data and graphs.fingerprint != data:
        raise DatasetFileError(
            f"{_changed(dataset, data, graphs.fingerprint)} Use the same files on every "
            "machine and during the whole run, or start the run again if the change was intended."
        )
    return graphs


class Loaded(NamedTuple):
    """The graphs of a trial.

    Attributes:
        graphs: a `PackedGraphs`: the data set, followed by the fresh graphs.
        num_graphs: number of graphs of the data set.
        groups: group of each graph of the data set, or None.
    """

    graphs: Any
    num_graphs: int
    groups: Any


def load(trial: Trial) -> Loaded:
    """Return the graphs of a trial, cached for the next trials of this process.

    Raises:
        DatasetNotFoundError: if the data set does not exist and could not be downloaded.
        DatasetFileError: if its files are damaged, or it has another fingerprint.
    """
    with _loading:
        return _joined(trial.dataset, trial.data, trial.groups, trial.fresh)


@lru_cache(maxsize=4)
def _joined(dataset: str, data: str, groups: str, fresh: str) -> Loaded:
    from clipgnn.graphs.joining import join

    graphs = _load_checked(dataset, data)
    found = _groups(graphs, groups)
    if not fresh:
        return Loaded(graphs, len(graphs), found)
    joined = join(graphs, _load_checked(fresh_name(dataset), fresh))
    return Loaded(joined, len(graphs), found)


def _groups(graphs: Any, groups: str) -> Any:
    import torch

    from clipgnn.datasets.isomorphism import isomorphism_classes

    if groups == "isomorphic":
        return isomorphism_classes(graphs)
    # The two graphs of a pair follow each other in the property tasks.
    return torch.arange(len(graphs)) // 2 if groups == "pairs" else None


def _load(dataset: str) -> Any:
    """Load a data set; generated ones use seed 0 for all trials, and another for fresh graphs."""
    from clipgnn.datasets.registry import load_dataset
    from clipgnn.datasets.tu import load_tu

    name, *options = dataset.split(OPTION)
    if FRESH in options:
        return load_dataset(name, seed=FRESH_SEED)
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
