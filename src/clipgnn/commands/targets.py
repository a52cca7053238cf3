"""The options `--target` and `--task`: which columns are predicted, as classes or as numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from clipgnn.errors import DatasetFileError, InvalidParameterError

if TYPE_CHECKING:
    from clipgnn.datasets.graph_files.entries import GraphFile

USUAL_NAMES = ("target", "label", "class", "y")
"""Names of columns that are targets if none is chosen."""

MOST_CLASSES = 20
"""Largest number of different whole numbers that are classes if no task is chosen."""


class Task(StrEnum):
    """What is predicted."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


TargetNames = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        help="Column or attribute to predict; repeat it for several numbers. By default the only "
        f"one, or one named {', '.join(USUAL_NAMES)}.",
    ),
]
TaskOption = Annotated[
    Task,
    typer.Option(
        help="Predict classes or numbers; auto: numbers if targets have fractions, or more than "
        f"{MOST_CLASSES} different values."
    ),
]


@dataclass(frozen=True)
class ReadTargets:
    """Targets of the graphs of a source.

    Attributes:
        names: names of the columns.
        task: classification or regression.
        values: a class, or a row of numbers, for each graph; None where they are missing.
        problems: why targets are missing, by the number of the graph.
    """

    names: Sequence[str]
    task: Task
    values: Sequence[Any]
    problems: Mapping[int, str] = field(default_factory=dict)

    def of(self, numbers: Sequence[int]) -> NDArray[Any]:
        """Return the targets of some graphs, as estimators accept them."""
        chosen = [self.values[number] for number in numbers]
        if self.task is Task.regression:
            rows = np.array(chosen, dtype=np.float64)
            return rows[:, 0] if len(self.names) == 1 else rows
        return np.array(chosen)


def read_targets(source: "GraphFile", names: Sequence[str] | None, task: Task) -> ReadTargets:
    """Read the columns that are to be predicted.

    Args:
        source: the source.
        names: the columns; None for the usual one.
        task: the task, or `Task.auto`.

    Raises:
        DatasetFileError: if there is no such column.
        InvalidParameterError: if the columns must be given, or are too many for classes.
    """
    chosen = list(dict.fromkeys(names or [_usual_name(source)]))
    columns = [source.column(name) for name in chosen]
    if task is Task.auto:
        several = len(chosen) > 1
        task = Task.regression if several or _are_numbers(columns[0]) else Task.classification
    if task is Task.regression:
        return _numbers(chosen, columns)
    if len(chosen) > 1:
        raise InvalidParameterError(
            f"target must be one column for classification. Got {', '.join(map(repr, chosen))}.",
            parameter="target",
        )
    return _classes(chosen, columns[0])


def _usual_name(source: "GraphFile") -> str:
    columns = source.columns
    usual = [name for name in columns if name.lower() in USUAL_NAMES]
    for found in (columns, usual):
        if len(found) == 1:
            return found[0]
    if not columns:
        raise DatasetFileError(
            f"{source.name} must have a column or attribute to predict. It has none. Use --labels "
            "with a CSV file."
        )
    raise InvalidParameterError(
        f"target must be given. The columns of {source.name} are {', '.join(map(repr, columns))}.",
        parameter="target",
    )


def as_number(text: str) -> float | None:
    """Return a finite number, NaN for texts such as "nan", or None for other texts."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isinf(number) else number


def _are_numbers(column: Sequence[str | None]) -> bool:
    numbers = [as_number(text) for text in column if text is not None]
    known = [own for own in numbers if own is not None and not math.isnan(own)]
    if len(known) < len([own for own in numbers if own is None or not math.isnan(own)]):
        return False
    return len(set(known)) > MOST_CLASSES or any(own != round(own) for own in known)


def _numbers(names: Sequence[str], columns: Sequence[Sequence[str | None]]) -> ReadTargets:
    values: list[list[float] | None] = []
    problems: dict[int, str] = {}
    for graph, texts in enumerate(zip(*columns, strict=True)):
        row = [math.nan if text is None else as_number(text) for text in texts]
        wrong = [own for own, number in enumerate(row) if number is None]
        if wrong:
            problems[graph] = (
                f"The value of {names[wrong[0]]!r} must be a finite number. Got "
                f"{texts[wrong[0]]!r}."
            )
        elif all(number is not None and math.isnan(number) for number in row):
            problems[graph] = f"There must be a value of {' or '.join(map(repr, names))}. Got none."
        known = [number for number in row if number is not None]
        values.append(None if graph in problems else known)
    return ReadTargets(names, Task.regression, values, problems)


def _classes(names: Sequence[str], column: Sequence[str | None]) -> ReadTargets:
    known = [text for text in column if text is not None]
    numbers = [as_number(text) for text in known]
    whole = all(own is not None and own == round(own) for own in numbers if own == own)
    whole = whole and not any(own != own for own in numbers)
    values = [text if text is None or not whole else round(float(text)) for text in column]
    problems = {
        graph: f"There must be a value of {names[0]!r}. Got none."
        for graph, text in enumerate(column)
        if text is None
    }
    return ReadTargets(names, Task.classification, values, problems)
