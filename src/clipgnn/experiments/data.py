"""Data sets of an experiment: loading, and the fingerprints that trials record.

Torch is imported inside the functions, so that stores and reports work without it.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from clipgnn.errors import (
    DatasetFileError,
    DatasetNotFoundError,
    InvalidParameterError,
    counted,
)
from clipgnn.experiments.catalog import FRESH, OPTION, TU_PREFIX, fresh_name, is_own_dataset
from clipgnn.experiments.trial import Trial
from clipgnn.parameters.datasets import FILE_PREFIX, GENERATED, KNOWN, is_pair_set

FRESH_SEED = 1
"""Seed of the fresh graphs of generated data sets."""


Inspect = Callable[[str, Any], None]
"""Function that is called with the name and the graphs of a data set, and raises if it must."""


def fingerprint_of(
    dataset: str, root: str | None = None, inspect: Inspect = lambda name, graphs: None
) -> str:
    """Load a data set and compute its fingerprint; it is not cached, because files change.

    Args:
        dataset: name of the data set.
        root: folder of the TU data sets, as for `load_tu`.
        inspect: called with the data set.

    Raises:
        DatasetNotFoundError: if it does not exist and could not be downloaded.
        DatasetFileError: if its files are damaged.
        InvalidParameterError: if a function of the user does not return graphs.
    """
    graphs = _load(dataset, root)
    inspect(dataset, graphs)
    fingerprint: str = graphs.fingerprint
    return fingerprint


def fingerprints(
    datasets: Iterable[str],
    expected: Mapping[str, str],
    root: str | None = None,
    inspect: Inspect = lambda name, graphs: None,
) -> dict[str, str]:
    """Load data sets and compute their fingerprints, before training starts.

    Missing data sets are downloaded first. The first download that fails ends this, so that there
    is one error, after one attempt to connect.

    Args:
        datasets: names of the data sets.
        expected: fingerprints of an earlier run that is continued; any of them may be missing.
        root: folder of the TU data sets, as for `load_tu`.
        inspect: called with each data set.

    Raises:
        DatasetNotFoundError: if data sets do not exist and could not be downloaded; it names all of
            them.
        DatasetFileError: if files are damaged, or a data set is not the expected one.
    """
    datasets = list(datasets)
    missing = [dataset for dataset in datasets if _is_missing(dataset, root)]
    found: dict[str, str] = {}
    for dataset in sorted(datasets, key=lambda own: own not in missing):
        try:
            found[dataset] = fingerprint_of(dataset, root, inspect)
        except DatasetNotFoundError as error:
            others = [own for own in missing if own not in (dataset, *found)]
            if not others:
                raise
            raise DatasetNotFoundError(
                f"{error} Other data sets that are missing: {', '.join(others)}."
            ) from error
    found = {dataset: found[dataset] for dataset in datasets}
    for dataset, own in found.items():
        if expected.get(dataset, own) != own:
            raise DatasetFileError(
                f"{_changed(dataset, expected[dataset], own)} Restore its files, or start "
                "a new run, which trains all trials on it again."
            )
    return found


_loading = threading.Lock()
"""Jobs of a process that need the same data set wait until one of them has loaded it."""


_not_found: dict[tuple[str, str | None], DatasetNotFoundError] = {}
"""Data sets that this process could not download; it does not try again for every trial."""


def _load_checked(dataset: str, data: str, root: str | None) -> Any:
    if (dataset, root) in _not_found and _is_missing(dataset, root):
        raise _not_found[dataset, root]
    try:
        graphs = _load(dataset, root)
    except DatasetNotFoundError as error:
        _not_found[dataset, root] = error
        raise
    if data and graphs.fingerprint != data:
        raise DatasetFileError(
            f"{_changed(dataset, data, graphs.fingerprint)} Use the same {_origin(dataset)} on "
            "every machine and during the whole run, or start the run again if the change was "
            "intended."
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


def load(trial: Trial, root: str | None = None) -> Loaded:
    """Return the graphs of a trial, cached for the next trials of this process.

    Args:
        trial: the trial.
        root: folder of the TU data sets, as for `load_tu`.

    Raises:
        DatasetNotFoundError: if the data set does not exist and could not be downloaded.
        DatasetFileError: if its files are damaged, or it has another fingerprint.
    """
    with _loading:
        return _joined(trial.dataset, trial.data, trial.groups, trial.fresh, root)


@lru_cache(maxsize=4)
def _joined(dataset: str, data: str, groups: str, fresh: str, root: str | None) -> Loaded:
    from clipgnn.graphs.joining import join

    graphs = _load_checked(dataset, data, root)
    found = _groups(graphs, groups)
    if not fresh:
        return Loaded(graphs, len(graphs), found)
    joined = join(graphs, _load_checked(fresh_name(dataset), fresh, root))
    return Loaded(joined, len(graphs), found)


def _groups(graphs: Any, groups: str) -> Any:
    import torch

    from clipgnn.datasets.isomorphism import isomorphism_classes

    if groups == "isomorphic":
        return isomorphism_classes(graphs)
    # The two graphs of a pair follow each other in the property tasks, and in files of pairs.
    return torch.arange(len(graphs)) // 2 if groups == "pairs" else None


def check_pairs(dataset: str, graphs: Any) -> None:
    """Check that graphs 1 and 2, 3 and 4, … of a file have different targets.

    Raises:
        InvalidParameterError: if they do not.
    """
    if not dataset.startswith(FILE_PREFIX):
        return  # generated pairs
    targets = graphs.targets.reshape(len(graphs), -1)
    even = len(targets) // 2 * 2
    same = (targets[0:even:2] == targets[1:even:2]).all(dim=1).nonzero()
    if even == len(targets) and not len(same):
        return
    found = f"{len(targets)} graphs"
    if len(same):
        first = 2 * int(same[0]) + 1
        found = f"the same target of graphs {first} and {first + 1}"
    raise InvalidParameterError(
        f'groups must not be "pairs" for {dataset.removeprefix(FILE_PREFIX)}, unless graphs 1 and '
        f'2, 3 and 4, … are pairs of different targets. Got {found}. Use "none".',
        parameter="groups",
    )


def check_folds(dataset: str, graphs: Any, num_folds: int, groups: str) -> None:
    """Check that a data set of the user can be split into folds.

    Raises:
        InvalidParameterError: if it is too small.
    """
    from clipgnn.datasets.folds import stratified_folds

    if dataset.split(OPTION)[0].removeprefix(TU_PREFIX) in KNOWN:
        return  # large enough; drawing the folds takes a second
    try:
        stratified_folds(graphs.targets, num_folds, groups=_groups(graphs, groups))
    except InvalidParameterError as error:
        cause = str(error).split(" Use ")[0].replace("num_folds", "folds")
        raise InvalidParameterError(
            f"A data set must have graphs for each of the {num_folds} folds of an experiment. Got "
            f"{dataset.removeprefix(FILE_PREFIX)} with {counted(len(graphs), 'graph')}: {cause} "
            "Use more graphs, or an experiment file with fewer folds."
        ) from error


def _is_missing(dataset: str, root: str | None) -> bool:
    """Return whether a data set would have to be downloaded."""
    from clipgnn.datasets.tu import find_tu

    name = dataset.split(OPTION)[0]
    if name in GENERATED or is_pair_set(name) or is_own_dataset(name):
        return False
    if name.startswith(FILE_PREFIX):
        return False
    return find_tu(name.removeprefix(TU_PREFIX), root) is None


def _load(dataset: str, root: str | None) -> Any:
    """Load a data set; generated ones use seed 0 for all trials, and another for fresh graphs."""
    from clipgnn.datasets.own import load_own
    from clipgnn.datasets.pairs import load_pairs
    from clipgnn.datasets.registry import load_dataset
    from clipgnn.datasets.sources import load_file
    from clipgnn.datasets.tu import load_tu

    if is_own_dataset(dataset):
        return load_own(dataset)
    if is_pair_set(dataset):
        return load_pairs(dataset, root)
    if dataset.startswith(FILE_PREFIX):
        return load_file(dataset, root)
    name, *options = dataset.split(OPTION)
    if FRESH in options:
        return load_dataset(name, seed=FRESH_SEED)
    if name.startswith(TU_PREFIX) or options:
        return load_tu(
            name.removeprefix(TU_PREFIX),
            root,
            edge_labels="edge_labels" in options,
            node_attributes="node_attributes" in options,
        )
    return load_dataset(name, root=root, seed=0)


def _origin(dataset: str) -> str:
    own = is_own_dataset(dataset)
    return "source, which returns the same graphs in every process," if own else "files"


def _changed(dataset: str, expected: str, found: str) -> str:
    return (
        f"The data set {dataset!r} must have the fingerprint {expected} of this run. Got {found}."
    )
