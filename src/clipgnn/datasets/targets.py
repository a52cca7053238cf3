"""Targets of the graphs of a source: which columns are predicted, as classes or as numbers."""

import math
import re
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
    chosen = list(dict.fromkeys(names or [usual_name(source.name, source.columns)]))
    columns = [source.column(name) for name in chosen]
    if task is Task.auto and len(chosen) == 1:
        texts = [text for text in columns[0] if text is not None]
        task = ColumnFacts.of(texts).task(source.name, chosen[0])
    task = task_of_columns(chosen, task)
    if task is Task.regression:
        return read_numbers(chosen, columns)
    whole = all(is_integer(text) for text in columns[0] if text is not None)
    return read_classes(chosen[0], columns[0], whole=whole)


def task_of_columns(names: Sequence[str], task: Task) -> Task:
    """The task of columns; `Task.auto` for several columns is regression.

    Raises:
        InvalidParameterError: if several columns are chosen for classification.
    """
    if len(names) > 1 and task is Task.classification:
        raise InvalidParameterError(
            f"target must be one column for classification. Got {', '.join(map(repr, names))}.",
            parameter="target",
        )
    return Task.regression if len(names) > 1 else task


def usual_name(source: str, columns: Sequence[str]) -> str:
    """The column that is predicted if none is chosen.

    Args:
        source: name of the source, for messages.
        columns: names of its columns.

    Raises:
        DatasetFileError: if there are no columns.
        InvalidParameterError: if the column must be given.
    """
    usual = [name for name in columns if name.lower() in USUAL_NAMES]
    for found in (columns, usual):
        if len(found) == 1:
            return found[0]
    if not columns:
        raise DatasetFileError(
            f"{source} must have a column or attribute to predict. It has none. Give "
            "labels, a CSV file."
        )
    raise InvalidParameterError(
        f"target must be given. The columns of {source} are {', '.join(map(repr, columns))}.",
        parameter="target",
    )


def as_number(text: str) -> float | None:
    """Return a finite number, or None for other texts."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


@dataclass(frozen=True)
class ColumnFacts:
    """What decides whether the values of a column are numbers or classes.

    Attributes:
        texts: number of values that are not missing.
        numbers: number of values that are finite numbers.
        fractions: whether a number is not whole.
        distinct: number of different values.
        example: a value that is not a number; None if all are.
    """

    texts: int
    numbers: int
    fractions: bool
    distinct: int
    example: str | None

    @classmethod
    def of(cls, texts: Sequence[str]) -> "ColumnFacts":
        """The facts of values that are not missing."""
        found = [as_number(text) for text in texts]
        numbers = [own for own in found if own is not None]
        return cls(
            texts=len(texts),
            numbers=len(numbers),
            fractions=any(own != round(own) for own in numbers),
            distinct=len(set(texts)),
            example=next((t for t, own in zip(texts, found, strict=True) if own is None), None),
        )

    def task(self, source: str, name: str) -> Task:
        """Decide whether the values are numbers or classes.

        Args:
            source: name of the source, for messages.
            name: name of the column.

        Raises:
            InvalidParameterError: if some are numbers and others are not, or most occur only once.
        """
        if self.example is None:
            several = self.distinct > MOST_CLASSES
            return Task.regression if several or self.fractions else Task.classification
        if 2 * self.numbers > self.texts:
            raise InvalidParameterError(
                f"task must be given, because most values of {name!r} in {source} are numbers, "
                f"and others are not, such as {self.example!r}. Use classification, or regression, "
                "which leaves them out.",
                parameter="task",
            )
        if self.distinct > MOST_CLASSES and 2 * self.distinct > self.texts:
            raise InvalidParameterError(
                f"task must be given, because most values of {name!r} in {source} occur only "
                f"once, such as {self.example!r}. Numbers have the form 1.5; use classification "
                "for classes.",
                parameter="task",
            )
        return Task.classification


def read_numbers(names: Sequence[str], columns: Sequence[Sequence[str | None]]) -> ReadTargets:
    """Read columns of numbers to regress; a graph without a number in any of them has a problem."""
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


def read_classes(name: str, column: Sequence[str | None], *, whole: bool) -> ReadTargets:
    """Read a column of classes, which are integers if all values of the column are.

    Args:
        name: name of the column.
        column: its values; None where they are missing.
        whole: whether the classes are integers.
    """
    values = [text if text is None or not whole else int(text) for text in column]
    problems = {
        graph: f"There must be a value of {name!r}. Got none."
        for graph, text in enumerate(column)
        if text is None
    }
    return ReadTargets([name], Task.classification, values, problems)


def is_integer(text: str) -> bool:
    """Whether a text is an integer in its usual form, of at most 18 digits."""
    return bool(re.fullmatch(r"0|-?[1-9]\d{0,17}", text))
