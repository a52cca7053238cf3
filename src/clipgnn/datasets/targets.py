"""Targets of the graphs of a source: which columns are predicted, as classes or as numbers."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.datasets.graph_files.entries import GraphFile
from clipgnn.errors import DatasetFileError, InvalidParameterError
from clipgnn.parameters.targets import MOST_CLASSES, USUAL_NAMES, Task


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


def read_targets(source: GraphFile, names: Sequence[str] | None, task: Task) -> ReadTargets:
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
        task = Task.regression if several else _task_of(source, chosen[0], columns[0])
    if task is Task.regression:
        return _numbers(chosen, columns)
    if len(chosen) > 1:
        raise InvalidParameterError(
            f"target must be one column for classification. Got {', '.join(map(repr, chosen))}.",
            parameter="target",
        )
    return _classes(chosen, columns[0])


def _usual_name(source: GraphFile) -> str:
    columns = source.columns
    usual = [name for name in columns if name.lower() in USUAL_NAMES]
    for found in (columns, usual):
        if len(found) == 1:
            return found[0]
    if not columns:
        raise DatasetFileError(
            f"{source.name} must have a column or attribute to predict. It has none. Give "
            "labels, a CSV file."
        )
    raise InvalidParameterError(
        f"target must be given. The columns of {source.name} are {', '.join(map(repr, columns))}.",
        parameter="target",
    )


def as_number(text: str) -> float | None:
    """Return a finite number, or None for other texts."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _task_of(source: GraphFile, name: str, column: Sequence[str | None]) -> Task:
    """Decide whether the values of a column are numbers or classes.

    Raises:
        InvalidParameterError: if some are numbers and others are not, or most occur only once.
    """
    texts = [text for text in column if text is not None]
    numbers = [own for own in map(as_number, texts) if own is not None]
    counts = Counter(texts)
    if len(numbers) == len(texts):
        several = len(counts) > MOST_CLASSES
        fractions = any(own != round(own) for own in numbers)
        return Task.regression if several or fractions else Task.classification
    wrong = next(text for text in texts if as_number(text) is None)
    if 2 * len(numbers) > len(texts):
        raise InvalidParameterError(
            f"task must be given, because most values of {name!r} in {source.name} are numbers, "
            f"and others are not, such as {wrong!r}. Use classification, or regression, which "
            "leaves them out.",
            parameter="task",
        )
    if len(counts) > MOST_CLASSES and 2 * len(counts) > len(texts):
        raise InvalidParameterError(
            f"task must be given, because most values of {name!r} in {source.name} occur only "
            f"once, such as {wrong!r}. Numbers have the form 1.5; use classification for "
            "classes.",
            parameter="task",
        )
    return Task.classification


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
        elif all(text is None for text in texts):
            problems[graph] = f"There must be a value of {' or '.join(map(repr, names))}. Got none."
        known = [number for number in row if number is not None]
        values.append(None if graph in problems else known)
    return ReadTargets(names, Task.regression, values, problems)


def _classes(names: Sequence[str], column: Sequence[str | None]) -> ReadTargets:
    whole = all(_is_integer(text) for text in column if text is not None)
    values = [text if text is None or not whole else int(text) for text in column]
    problems = {
        graph: f"There must be a value of {names[0]!r}. Got none."
        for graph, text in enumerate(column)
        if text is None
    }
    return ReadTargets(names, Task.classification, values, problems)


def _is_integer(text: str) -> bool:
    """Whether a text is an integer in its usual form, of at most 18 digits."""
    return bool(re.fullmatch(r"0|-?[1-9]\d{0,17}", text))
