"""Targets of all chunks: what decides about them, and those of one chunk."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from clipgnn.datasets.conversion.chunks import Chunk
from clipgnn.datasets.targets import (
    ColumnFacts,
    ReadTargets,
    is_integer,
    read_classes,
    read_numbers,
    task_of_columns,
    usual_name,
)
from clipgnn.errors import DatasetFileError, suggestion
from clipgnn.parameters.targets import MOST_CLASSES, Task

NOT_A_TARGET = "name"
"""A column that is never a target unless it is chosen: the names of .smi files."""


@dataclass(frozen=True)
class TextFacts:
    """Facts of a column in some chunks.

    Attributes:
        facts: what decides the task; its number of distinct values is that of `distinct`.
        whole: whether all values are integers.
        distinct: the values; `MOST_CLASSES` + 1 of them are enough where all are numbers.
        shortened: whether there are more.
    """

    facts: ColumnFacts
    whole: bool
    distinct: frozenset[str]
    shortened: bool

    @classmethod
    def of(cls, texts: Sequence[str], *, full: bool) -> "TextFacts":
        """The facts of values that are not missing; `full` keeps all distinct ones."""
        facts = ColumnFacts.of(texts)
        shortened = not full and facts.example is None and facts.distinct > MOST_CLASSES
        distinct = dict.fromkeys(texts)
        kept = list(distinct)[: MOST_CLASSES + 1] if shortened else distinct
        return cls(facts, all(map(is_integer, distinct)), frozenset(kept), shortened)

    def __or__(self, other: "TextFacts") -> "TextFacts":
        one, two = self.facts, other.facts
        distinct = self.distinct | other.distinct
        facts = ColumnFacts(
            texts=one.texts + two.texts,
            numbers=one.numbers + two.numbers,
            fractions=one.fractions or two.fractions,
            distinct=len(distinct),
            example=two.example if one.example is None else one.example,
        )
        shortened = self.shortened or other.shortened
        if shortened and facts.example is None:  # so that all chunks together have few, too
            distinct = frozenset(sorted(distinct)[: MOST_CLASSES + 1])
        return TextFacts(facts, self.whole and other.whole, distinct, shortened)


@dataclass(frozen=True)
class TargetPlan:
    """The targets of all graphs.

    Attributes:
        names: names of the columns.
        task: classification or regression.
        whole: whether classes are integers.
    """

    names: tuple[str, ...]
    task: Task
    whole: bool

    def of(self, chunk: Chunk) -> ReadTargets:
        """Read the targets of a chunk."""
        missing = [None] * len(chunk.places)
        columns = [list(chunk.texts.get(name, missing)) for name in self.names]
        if self.task is Task.regression:
            return read_numbers(self.names, columns)
        return read_classes(self.names[0], columns[0], whole=self.whole)


@dataclass(frozen=True)
class FactsTask:
    """A chunk whose facts are needed; `full` for all distinct values."""

    path: Path
    full: bool


def facts_of(task: FactsTask) -> dict[str, TextFacts]:
    """The facts of each column of a chunk."""
    chunk = Chunk.load(task.path)
    return {
        name: TextFacts.of([text for text in own if text is not None], full=task.full)
        for name, own in chunk.texts.items()
    }


def plan_targets(
    source: str,
    names: Sequence[str] | None,
    task: Task,
    gather: Callable[[bool], Iterable[dict[str, TextFacts]]],
) -> TargetPlan | None:
    """Decide which columns are predicted, as classes or as numbers, as `read_targets` does.

    Args:
        source: name of the source, for messages.
        names: the columns; None for the usual one.
        task: the task, or `Task.auto`.
        gather: function that returns the facts of all chunks; it gets `full`.

    Returns:
        None if there are no columns that could be targets.

    Raises:
        DatasetFileError: if there is no such column.
        InvalidParameterError: if the columns or the task must be given.
    """
    facts = _joined(gather(False))
    columns = [name for name in facts if name != NOT_A_TARGET]
    if names is None and not columns:
        return None
    chosen = list(dict.fromkeys(names or [usual_name(source, columns)]))
    for name in chosen:
        if name not in facts:
            found = ", ".join(map(repr, facts)) or "none"
            raise DatasetFileError(
                f"{source} must have the column {name!r}. Got {found}.{suggestion(name, facts)}"
            )
    task = task_of_columns(chosen, task)
    own = facts[chosen[0]]
    if task is Task.auto:
        if own.facts.example is not None and own.shortened:
            own = _joined(gather(True))[chosen[0]]
        task = own.facts.task(source, chosen[0])
    return TargetPlan(tuple(chosen), task, own.whole)


def _joined(chunks: Iterable[dict[str, TextFacts]]) -> dict[str, TextFacts]:
    found: dict[str, TextFacts] = {}
    for chunk in chunks:
        for name, own in chunk.items():
            found[name] = found[name] | own if name in found else own
    return found
