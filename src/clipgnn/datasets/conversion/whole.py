"""Conversion of data sets whose graphs are tensors already, such as those of the TU collection."""

from dataclasses import replace

import numpy as np
import torch

from clipgnn.datasets.conversion.all_chunks import finish
from clipgnn.datasets.conversion.folder import ConversionFolder
from clipgnn.datasets.conversion.options import (
    Converted,
    ConvertOptions,
    Rejected,
    RejectedGraphError,
)
from clipgnn.datasets.graph_files.entries import GraphFile
from clipgnn.datasets.targets import ReadTargets, read_targets
from clipgnn.errors import DatasetFileError, InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.packed_checks import targets_of
from clipgnn.graphs.storage.stored import TargetNames, write_shards
from clipgnn.parameters.targets import Task


def store_packed(source: GraphFile, target: ConversionFolder, options: ConvertOptions) -> Converted:
    """Write a data set to a folder.

    Raises:
        DatasetFileError: if no graph has a target, or `strict` is true and one has none.
        InvalidParameterError: if attributes are chosen, which are encoded already.
        OutputError: if the folder cannot be written.
    """
    for part, own in options.chosen.items():
        if own:
            name = f"{part[:-1]}_attributes"
            raise InvalidParameterError(
                f"{name} must not be given for {source.name}, whose attributes are encoded "
                f"already. Got {', '.join(map(repr, own))}.",
                parameter=name,
            )
    graphs = source.packed
    assert graphs is not None
    targets = None
    if options.targets or (options.targets is None and source.columns):
        targets = read_targets(source, options.targets, options.task)
    problems = {} if targets is None else targets.problems
    rejected = [
        Rejected(row, source.entries[row].place, own) for row, own in sorted(problems.items())
    ]
    rows = torch.tensor([row for row in range(len(graphs)) if row not in problems])
    if rows.numel() == 0 or (rejected and options.strict):
        kind = DatasetFileError if rows.numel() == 0 else RejectedGraphError
        raise kind(f"{source.name}, {rejected[0].place}: {rejected[0].problem}")
    graphs, names = _with_targets(graphs.subset(rows), targets, rows.tolist())
    stored = write_shards(graphs, target.path, names, rows)
    task = None if targets is None else targets.task
    finish(target, stored, source.name, len(source.entries), rejected, task)
    return Converted(stored, source.name, len(source.entries), rejected, task)


def _with_targets(
    graphs: PackedGraphs, targets: ReadTargets | None, rows: list[int]
) -> tuple[PackedGraphs, TargetNames | None]:
    if targets is None:
        return replace(graphs, y=None), None
    values = targets.of(rows)
    if targets.task is Task.regression:
        return replace(graphs, y=targets_of(values)), TargetNames(tuple(targets.names))
    classes, numbers = np.unique(values, return_inverse=True)
    names = TargetNames(tuple(targets.names), tuple(classes.tolist()))
    return replace(graphs, y=targets_of(numbers)), names
