"""`clipgnn evaluate`."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from clipgnn.commands.learning import Quiet
from clipgnn.commands.library_messages import library_messages
from clipgnn.commands.models import (
    Model,
    PredictionOptions,
    names_of_targets,
    read_for,
    task_of,
)
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.predictions import predictions_of
from clipgnn.commands.scores import confusion_table, score_table
from clipgnn.commands.sources import Data, SourceOptions, select
from clipgnn.commands.targets import TargetNames
from clipgnn.commands.terminal import terminal
from clipgnn.errors import DatasetFileError, InvalidParameterError, counted, one_line
from clipgnn.parameters.targets import Task
from clipgnn.writing import write_file

if TYPE_CHECKING:
    from clipgnn.datasets.graph_files.entries import GraphFile
    from clipgnn.datasets.targets import ReadTargets


@with_option_groups
def evaluate(
    model: Model,
    data: Data,
    source: SourceOptions,
    prediction: PredictionOptions,
    target: TargetNames = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="JSON file to write the scores to.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compare the predictions of a trained model with known targets.

    The targets are by default the columns with the names that they had in training.

    Example: clipgnn evaluate model.safetensors test.csv
    """
    from clipgnn.datasets.targets import read_targets  # imports torch

    if output is not None:
        check_output(output)
    fitted = prediction.load(model)
    found = source.read(data)
    names = target or (None if fitted.target_names_ is None else list(fitted.target_names_))
    targets = read_targets(found, names, task_of(fitted))
    number = len(names_of_targets(fitted))
    if len(targets.names) != number:
        raise InvalidParameterError(
            f"target must be given {counted(number, 'time')}, as in training. Got "
            f"{', '.join(map(repr, targets.names))}.",
            parameter="target",
        )
    with library_messages():
        chosen = select(found, partial(read_for, fitted), targets.problems, strict=source.strict)
        known = targets.of(chosen.numbers)
        if targets.task is Task.classification:
            known = _known_classes(found, targets, chosen.numbers, fitted.classes_)
        predicted = predictions_of(fitted, chosen.graphs, shown=not quiet)
    scores = predicted.scores(known)
    if not scores:
        raise DatasetFileError(f"{found.name} must have known values of the targets. It has none.")
    console = terminal()
    if not quiet:
        console.print(f"{counted(len(chosen.numbers), 'graph')} of {one_line(found.name)}")
    console.print(score_table(scores, "target"), soft_wrap=False)
    if predicted.classes is not None and not quiet:
        matrix = confusion_table(predicted.classes, known, predicted.predicted_classes)
        if matrix is not None:
            console.print()
            console.print(matrix, soft_wrap=False)
    if output is not None:
        record = {"data": found.name, "graphs": len(chosen.numbers), "scores": scores}
        write_file(output, (json.dumps(record, indent=2, allow_nan=False) + "\n").encode())
    raise typer.Exit(chosen.status)


def _known_classes(
    found: "GraphFile", targets: "ReadTargets", numbers: Any, classes: NDArray[Any]
) -> NDArray[Any]:
    """Classes of the graphs in the type of the model's classes."""
    by_text = {str(own): own for own in classes.tolist()}
    for number in numbers:
        if str(targets.values[number]) not in by_text:
            raise DatasetFileError(
                f"The column {targets.names[0]!r} of {found.name} must have classes of the model "
                f"({', '.join(by_text)}). Got {str(targets.values[number])!r}, "
                f"{found.entries[number].place}."
            )
    return np.array([by_text[str(targets.values[number])] for number in numbers])
