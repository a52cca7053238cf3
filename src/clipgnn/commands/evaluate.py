"""`clipgnn evaluate`."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from clipgnn.commands.learning import Quiet
from clipgnn.commands.models import (
    Model,
    PredictionOptions,
    names_of_targets,
    read_for,
    task_of,
)
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.scores import (
    classification_scores,
    confusion_table,
    regression_scores,
    score_table,
)
from clipgnn.commands.sources import Data, SourceOptions, select
from clipgnn.commands.targets import ReadTargets, TargetNames, Task, read_targets
from clipgnn.commands.terminal import terminal
from clipgnn.commands.warning_lines import warnings_as_lines
from clipgnn.errors import DatasetFileError, InvalidParameterError, counted, one_line
from clipgnn.writing import write_file

if TYPE_CHECKING:
    from clipgnn.datasets.graph_files.entries import GraphFile


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
    with warnings_as_lines():
        chosen = select(found, partial(read_for, fitted), targets.problems, strict=source.strict)
        if targets.task is Task.classification:
            known = _known_classes(found, targets, chosen.numbers, fitted.classes_)
            scores, details = _classified(fitted, chosen.graphs, known, targets.names[0])
        else:
            scores, details = _regressed(fitted, chosen.graphs, targets, chosen.numbers)
    console = terminal()
    if not quiet:
        console.print(f"{counted(len(chosen.numbers), 'graph')} of {one_line(found.name)}")
    console.print(score_table(scores, "target"), soft_wrap=False)
    if details is not None and not quiet:
        console.print()
        console.print(details, soft_wrap=False)
    if output is not None:
        record = {"data": found.name, "graphs": len(chosen.numbers), "scores": scores}
        write_file(output, (json.dumps(record, indent=2) + "\n").encode())
    raise typer.Exit(chosen.status)


def _classified(
    fitted: Any, graphs: Any, known: NDArray[Any], name: str
) -> tuple[dict[str, dict[str, float]], Any]:
    probabilities = fitted.predict_proba(graphs)
    classes = fitted.classes_.tolist()
    predicted = np.asarray(classes)[probabilities.argmax(axis=1)]
    scores = {name: classification_scores(classes, known, probabilities)}
    return scores, confusion_table(classes, known, predicted)


def _regressed(
    fitted: Any, graphs: Any, targets: ReadTargets, numbers: Any
) -> tuple[dict[str, dict[str, float]], None]:
    known = targets.of(numbers).reshape(len(numbers), -1)
    predicted = fitted.predict(graphs).reshape(len(numbers), -1)
    return {
        name: regression_scores(known[:, own], predicted[:, own])
        for own, name in enumerate(targets.names)
    }, None


def _known_classes(
    found: "GraphFile", targets: ReadTargets, numbers: Any, classes: NDArray[Any]
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
