"""Parsing of chunks: from the lines of a file, or from graphs in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from clipgnn.datasets.conversion.chunks import PARTS, Chunk
from clipgnn.datasets.graph_files.entries import Entry, RawEntry, known_text
from clipgnn.errors import InvalidGraphError
from clipgnn.graphs import formats
from clipgnn.graphs.coded import CodedColumn
from clipgnn.graphs.columns import GraphColumns, Part
from clipgnn.graphs.formats import molecules
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters.datasets import FILE_FORMATS

SMILES = "smiles"
"""The format whose graphs are parsed all together."""

_NO_GRAPHS = GraphColumns(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((2, 0), np.int64), {}, {}, {}
)


@dataclass(frozen=True)
class ParseTask:
    """Graphs of a file that are parsed into a chunk.

    Attributes:
        path: file of the chunk.
        format: format of the input.
        raw: the graphs.
        targets: columns to keep; None for all.
        attributes: names of attributes to use by part, None for all.
    """

    path: Path
    format: str
    raw: Sequence[RawEntry]
    targets: Sequence[str] | None
    attributes: Mapping[Part, Sequence[str] | None]


def parse_chunk(task: ParseTask) -> int:
    """Parse graphs and write them to the file of their chunk; return their number.

    Raises:
        OutputError: if the file cannot be written.
        MissingDependencyError: if the format needs a package that is not installed.
    """
    if task.format == SMILES:
        chunk = _chunk_of_smiles(task)
    else:
        read_entry = import_module(FILE_FORMATS[task.format]).read_entry
        parsed = [
            replace(own, values={**own.values, **raw.values})
            for raw in task.raw
            for own in [read_entry(raw)]
        ]
        chunk = chunk_of_entries(parsed, task.targets, task.attributes)
    chunk.save(task.path)
    return len(task.raw)


def _chunk_of_smiles(task: ParseTask) -> Chunk:
    problems = {place: own.problem for place, own in enumerate(task.raw) if own.problem is not None}
    tried = [place for place in range(len(task.raw)) if place not in problems]
    columns, errors = molecules.read_valid([task.raw[place].content[1] for place in tried])
    problems |= {tried[number]: str(error) for number, error in errors.items()}
    return Chunk(
        places=[own.place for own in task.raw],
        problems=dict(sorted(problems.items())),
        texts=_texts([own.values for own in task.raw], task.targets),
        columns=_chosen(columns, task.attributes),
    )


def chunk_of_entries(
    entries: Sequence[Entry],
    targets: Sequence[str] | None,
    attributes: Mapping[Part, Sequence[str] | None],
) -> Chunk:
    """Return the chunk of graphs in memory.

    Graphs that cannot be encoded have a problem.
    """
    problems = {place: own.problem for place, own in enumerate(entries) if own.problem is not None}
    graphs = {place: own.graph for place, own in enumerate(entries) if place not in problems}
    columns = _NO_GRAPHS
    if graphs:
        try:
            columns = _encodable(list(graphs.values()), attributes)
        except InvalidGraphError:
            for place, graph in list(graphs.items()):
                try:
                    _encodable([graph], attributes)
                except InvalidGraphError as error:
                    problems[place] = str(error)
                    del graphs[place]
            if graphs:  # they may have different attributes, which is decided for all chunks
                columns = _chosen(formats.read(list(graphs.values())), attributes)
    return Chunk(
        places=[own.place for own in entries],
        problems=dict(sorted(problems.items())),
        texts=_texts([own.values for own in entries], targets),
        columns=columns,
    )


def _encodable(
    graphs: Sequence[Any], attributes: Mapping[Part, Sequence[str] | None]
) -> GraphColumns:
    """The columns of graphs that can be encoded together.

    Raises:
        InvalidGraphError: if they cannot.
    """
    columns = _chosen(formats.read(graphs), attributes)
    PackedGraphs.from_columns(columns, graph_attributes=list(columns.graphs))
    return columns


def _chosen(columns: GraphColumns, attributes: Mapping[Part, Sequence[str] | None]) -> GraphColumns:
    """The columns with chosen attributes only; not all graphs need to have them."""
    coded: dict[Part, dict[str, CodedColumn]] = {}
    for part in PARTS:
        names = attributes[part]
        coded[part] = {
            name: CodedColumn.of(own)
            for name, own in columns.of(part).items()
            if names is None or name in names
        }
    return columns.with_attributes(coded)


def _texts(
    values: Sequence[Mapping[str, str]], names: Sequence[str] | None
) -> dict[str, CodedColumn]:
    found = (
        names if names is not None else list(dict.fromkeys(name for own in values for name in own))
    )
    return {
        name: CodedColumn.of([known_text(own.get(name, "")) for own in values])
        for name in found
        if names is None or any(name in own for own in values)
    }
