"""The encoding of the attributes of all chunks, as reading all graphs at once would give it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clipgnn.datasets.conversion.chunk_targets import TargetPlan
from clipgnn.datasets.conversion.chunks import PARTS, Chunk, taken
from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.attributes import MAX_CATEGORIES
from clipgnn.graphs.coded import CodedColumn, key
from clipgnn.graphs.columns import GraphColumns, Part
from clipgnn.graphs.encoding import AttributeEncoding

_NUMBERS = {int, float, list, tuple}

Values = Mapping[Part, Mapping[str, Sequence[Any]]]
"""Distinct values of attributes, by part and name."""


@dataclass(frozen=True)
class SummaryTask:
    """A chunk that is summarized.

    Attributes:
        path: file of the chunk.
        targets: the targets of all graphs; None for none.
        excluded: why graphs are not used although they are valid, by their positions.
        full: whether all values of numbers are needed.
    """

    path: Path
    targets: TargetPlan | None
    excluded: Mapping[int, str]
    full: bool


@dataclass(frozen=True)
class Summary:
    """What a chunk contributes.

    Attributes:
        given: number of its graphs.
        rejected: positions of graphs that are not used, with their places and the reasons.
        counts: numbers of nodes, edges and graphs that are used.
        values: values of their attributes.
        shortened: whether there are more values.
        classes: their classes.
    """

    given: int
    rejected: Sequence[tuple[int, str, str]]
    counts: Mapping[Part, int]
    values: Values
    shortened: bool
    classes: frozenset[Any] = field(default_factory=frozenset)


def used_graphs(
    chunk: Chunk, targets: TargetPlan | None, excluded: Mapping[int, str]
) -> tuple[GraphColumns, list[int], list[Any] | None, dict[int, str]]:
    """The graphs of a chunk that are used, and why others are not.

    Returns:
        Their columns, positions and targets (None without), and the reasons by position.
    """
    problems = dict(chunk.problems)
    read = None if targets is None else targets.of(chunk)
    for others in (excluded, {} if read is None else read.problems):
        problems |= {place: own for place, own in others.items() if place not in problems}
    valid = chunk.valid.tolist()
    kept = np.array([place not in problems for place in valid], dtype=bool)
    positions = [place for place in valid if place not in problems]
    values = None if read is None else [read.values[place] for place in positions]
    return taken(chunk.columns, kept), positions, values, dict(sorted(problems.items()))


def summary_of(task: SummaryTask) -> Summary:
    """Summarize a chunk."""
    chunk = Chunk.load(task.path)
    columns, _, values, problems = used_graphs(chunk, task.targets, task.excluded)
    classes = task.targets is not None and task.targets.task == "classification"
    found: dict[Part, dict[str, Sequence[Any]]] = {}
    shortened = False
    for part in PARTS:
        found[part] = {}
        for name, own in columns.of(part).items():
            kept = CodedColumn.of(own).values
            if not task.full and _are_many_numbers(kept):
                kept, shortened = _sample(kept), True
            found[part][name] = list(kept)
    return Summary(
        given=len(chunk.places),
        rejected=[(place, chunk.places[place], reason) for place, reason in problems.items()],
        counts={part: columns.count(part) for part in PARTS},
        values=found,
        shortened=shortened,
        classes=frozenset(values or ()) if classes else frozenset(),
    )


def needs_all_values(summaries: Iterable[Summary]) -> bool:
    """Whether a column has numbers that were left out, and other values, which are categories."""
    summaries = list(summaries)
    if not any(own.shortened for own in summaries):
        return False
    return any(
        not _types(values) <= _NUMBERS
        for part, columns in _joined(summaries).items()
        for values in columns.values()
        if _are_many_numbers([own for own in values if type(own) in _NUMBERS])
    )


def encoding_of(
    source: str, summaries: Iterable[Summary], chosen: Mapping[Part, Sequence[str] | None]
) -> AttributeEncoding:
    """Determine the encoding of all graphs.

    Args:
        source: name of the source, for messages.
        summaries: summaries of all chunks.
        chosen: names of attributes to use, None for all.

    Raises:
        InvalidGraphError: if an attribute is neither a category nor a number.
        InvalidParameterError: if there is no such attribute.
    """
    joined = _joined(summaries)
    coded = {
        part: {
            name: CodedColumn(values, np.arange(len(values)))
            for name, values in sorted(joined[part].items())
        }
        for part in PARTS
    }
    most = max((len(own) for part in coded.values() for own in part.values()), default=1)
    sizes = np.array([max(1, most)])
    empty = GraphColumns(sizes, sizes, np.zeros((2, 0), np.int64), {}, {}, {})
    columns = empty.with_attributes(coded)
    try:
        return AttributeEncoding.of(
            columns,
            node_attributes=chosen["nodes"],
            edge_attributes=chosen["edges"],
            graph_attributes=chosen["graphs"] or (),
        )
    except InvalidGraphError as error:
        raise InvalidGraphError(f"{source}: {str(error).partition(' in graph ')[0]}.") from error


def _joined(summaries: Iterable[Summary]) -> dict[Part, dict[str, list[Any]]]:
    """Values of all chunks in the order in which they occur; None for graphs without them."""
    summaries = list(summaries)
    found: dict[Part, dict[str, dict[Any, Any]]] = {part: {} for part in PARTS}
    for part in PARTS:
        names = dict.fromkeys(name for own in summaries for name in own.values[part])
        for name in names:
            distinct = found[part][name] = {}
            for own in summaries:
                if own.counts[part]:
                    values = own.values[part].get(name, [None])
                    distinct.update((key(value), value) for value in values)
    return {
        part: {name: list(own.values()) for name, own in columns.items()}
        for part, columns in found.items()
    }


def _types(values: Iterable[Any]) -> set[type]:
    return {type(value) for value in values if value is not None}


def _are_many_numbers(values: Sequence[Any]) -> bool:
    """Whether values are numbers, whatever other numbers there are in other chunks."""
    types = _types(values)
    return bool(types) and types <= _NUMBERS and len(values) > MAX_CATEGORIES + 1


def _sample(values: Sequence[Any]) -> list[Any]:
    """Values from which the same encoding is determined, if all other values are numbers too."""
    first_of_type = {type(value): value for value in reversed(values)}
    return [*values[: MAX_CATEGORIES + 2], *first_of_type.values()]
