"""Graphs by a name or a path: data sets of the TU collection, property tasks, files of graphs."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from clipgnn.datasets.graph_files import file_in, read_graph_file, recognized_format
from clipgnn.datasets.graph_files.entries import Entry, GraphFile
from clipgnn.datasets.registry import load_dataset
from clipgnn.datasets.targets import read_targets
from clipgnn.datasets.tu import load_tu
from clipgnn.errors import (
    DatasetFileError,
    DatasetNotFoundError,
    InvalidGraphError,
    InvalidParameterError,
    suggestion,
)
from clipgnn.graphs import formats
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import is_stored, is_unfinished, open_graphs
from clipgnn.parameters.datasets import DATA_FORMATS, FILE_PREFIX, STORED_FORMAT, TU_FORMAT
from clipgnn.parameters.targets import Task

MOST_BYTES = 4 * 2**30
"""Largest size in memory of a folder of graphs that is read at once."""


def open_source(
    data: str,
    *,
    format: str | None = None,
    labels: Path | None = None,
    smiles_column: str | None = None,
    root: str | os.PathLike[str] | None = None,
) -> GraphFile:
    """Read graphs that are given by a name or a path.

    Args:
        data: an existing file or folder, or the name of a data set. A folder of `PackedGraphs.save`
            or `clipgnn convert` is read into memory.
        format: one of `DATA_FORMATS`; by default it is recognized.
        labels: CSV file with values of the graphs, as for `read_graph_file`.
        smiles_column: column of SMILES, by default "smiles".
        root: folder of the TU data sets, for names.

    Raises:
        DatasetNotFoundError: if there is no such file or data set.
        DatasetFileError: if the file is not valid.
        InvalidParameterError: if the format is unknown or is not recognized.
        MissingDependencyError: if the format needs a package that is not installed.
    """
    if format is not None and format not in DATA_FORMATS:
        raise InvalidParameterError(
            f"format must be one of {', '.join(DATA_FORMATS)}. Got {format!r}."
            f"{suggestion(format, DATA_FORMATS)}",
            parameter="format",
        )
    path = Path(data)
    if format is None and is_stored(path):
        found = open_stored_source(path)
        return found if labels is None else found.with_labels(labels)
    if is_unfinished(path):
        raise DatasetFileError(
            f"{path} must be a finished conversion. It is not finished. Continue it with the same "
            "command of clipgnn convert."
        )
    if path.exists():
        folder = _tu_folder(path)
        if format != TU_FORMAT and (format is not None or folder is None):
            return read_graph_file(path, format=format, labels=labels, smiles_column=smiles_column)
        if folder is None:
            raise DatasetNotFoundError(
                f"{path.name} must be a folder in the TU layout, with the file {path.name}_A.txt. "
                "It is not."
            )
        packed = load_tu(folder.name, folder.parent, download=False)
    elif format in (None, TU_FORMAT) and re.fullmatch(r"\w[\w+-]*", data):
        packed = _load(data, root)
    else:
        return read_graph_file(path, format=format, labels=labels, smiles_column=smiles_column)
    found = GraphFile(packed.name, TU_FORMAT, _entries(packed), packed)
    return found if labels is None else found.with_labels(labels)


def open_stored_source(path: Path) -> GraphFile:
    """Read a folder of graphs into memory.

    Raises:
        DatasetFileError: if the folder is damaged, or the graphs need more than `MOST_BYTES`.
    """
    stored = open_graphs(path)
    size = stored.loaded_bytes
    if size > MOST_BYTES:
        raise DatasetFileError(
            f"{path.name} must fit into memory for this command: at most {MOST_BYTES / 2**30:.0f} "
            f"GiB. Its {len(stored)} graphs need {size / 2**30:.1f} GiB. Use clipgnn train and "
            "predict, which read graphs in parts, or convert a part of the graphs."
        )
    packed = stored.load()
    entries = [Entry(f"graph {number}", None) for number in range(1, len(stored) + 1)]
    names = stored.target_names
    if stored.has_targets and (names is None or names.classes is None):
        entries = _entries(packed, None if names is None else names.names)
    elif stored.has_targets and names is not None and names.classes is not None:
        [column], classes = names.names, names.classes
        entries = [
            replace(own, values={column: str(classes[number])})
            for own, number in zip(entries, packed.targets.tolist(), strict=True)
        ]
    return GraphFile(packed.name, STORED_FORMAT, entries, packed)


def is_graph_folder(path: Path) -> bool:
    """Return whether a folder is one that `open_source` reads."""
    if is_stored(path) or is_unfinished(path) or _tu_folder(path) is not None:
        return True
    try:
        recognized_format(path)
    except InvalidParameterError:
        return False
    return True


def load_file(name: str, root: str | os.PathLike[str] | None = None) -> PackedGraphs:
    """Load a file of graphs with targets, all of which must be valid.

    The targets are the only column, or one with a usual name (`USUAL_NAMES`), as for
    `clipgnn train`. Classes are numbered in their order.

    Args:
        name: "file:PATH" for a file or folder whose format is recognized.
        root: folder of a file that is not found from the current folder.

    Raises:
        DatasetNotFoundError: if there is no such file.
        DatasetFileError: if the file, a graph or a target is not valid.
        MissingDependencyError: if the format needs a package that is not installed.
    """
    path = file_in(Path(name.removeprefix(FILE_PREFIX)), None if root is None else Path(root))
    if not path.exists():
        start = " Set root to the folder that its path starts from." * (not path.is_absolute())
        raise DatasetNotFoundError(
            f"There must be a file or folder {str(path)!r}. It is missing.{start}"
        )
    try:
        source = open_source(str(path))
        if source.packed is not None:
            return source.packed
        targets = read_targets(source, None, Task.auto)
    except InvalidParameterError as error:
        raise DatasetFileError(
            f"The format and the targets of a file must be recognized. {error} Or write a function "
            "that returns the graphs, 'module:function'."
        ) from error
    for number, entry in enumerate(source.entries):
        problem = entry.problem or targets.problems.get(number)
        if problem is not None:
            raise DatasetFileError(f"{path}, {entry.place}: {problem}")
    y = targets.of(range(len(source.entries)))
    if targets.task is Task.classification:
        classes, y = np.unique(y, return_inverse=True)
        if len(classes) == 1:
            raise DatasetFileError(
                f"{path} must have graphs of at least two classes. Got one class, "
                f"{targets.values[0]!r}."
            )
    try:
        columns = formats.read([entry.graph for entry in source.entries])
        return PackedGraphs.from_columns(columns, y=y, name=source.name)
    except InvalidGraphError as error:
        raise DatasetFileError(f"{path}: {error}") from error


def _load(name: str, root: str | os.PathLike[str] | None) -> PackedGraphs:
    try:
        return load_dataset(name, root=root)
    except DatasetNotFoundError as error:
        raise DatasetNotFoundError(f"There is no file or folder {name!r}. {error}") from error


def _tu_folder(path: Path) -> Path | None:
    """Return the folder of a TU data set, if the path is one."""
    folder = path.resolve()
    for files in (folder / "raw", folder):
        if (files / f"{folder.name}_A.txt").is_file():
            return folder
    return None


def _entries(packed: PackedGraphs, given: Sequence[str] | None = None) -> list[Entry]:
    """Entries with the classes, or the targets, as values."""
    rows = [[own] for own in packed.targets.tolist()]
    names: Sequence[str] = ["class"]
    if packed.targets.is_floating_point():
        rows = [own if isinstance(own, list) else [own] for own in packed.targets.tolist()]
        names = ["target"]
        if len(rows[0]) > 1:
            names = [f"target_{number + 1}" for number in range(len(rows[0]))]
    return [
        Entry(f"graph {number}", None, dict(zip(given or names, map(str, row), strict=True)))
        for number, row in enumerate(rows, start=1)
    ]
