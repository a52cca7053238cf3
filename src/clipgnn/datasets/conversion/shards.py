"""Shards of chunks: which chunks are in one shard, and how it is written."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clipgnn.datasets.conversion.chunk_targets import TargetPlan
from clipgnn.datasets.conversion.chunks import PARTS, Chunk, taken
from clipgnn.datasets.conversion.vocabulary import Summary, used_graphs
from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.coded import CodedColumn
from clipgnn.graphs.columns import GraphColumns
from clipgnn.graphs.encoding import AttributeEncoding
from clipgnn.graphs.joining import concatenated
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.schema import Schema
from clipgnn.graphs.storage.shard import ShardRecord, write_shard
from clipgnn.parameters.targets import Task

SHARD_GRAPHS, SHARD_SIZE = 2**14, 2**20
"""Largest number of graphs, and of nodes and edges, of a shard of several chunks. They are smaller
than those of `PackedGraphs.save`, because each worker has one in memory, not yet narrow."""


@dataclass(frozen=True)
class ShardTask:
    """A shard that is written.

    Attributes:
        path: file of the shard.
        name: name of the data set.
        chunks: files of its chunks, the numbers of their first graphs in the input, and graphs that
            are excluded, by their positions in the chunk.
        targets: the targets of all graphs; None for none.
        classes: the classes, in their order.
        encoding: the encoding of all graphs.
    """

    path: Path
    name: str
    chunks: Sequence[tuple[Path, int, Mapping[int, str]]]
    targets: TargetPlan | None
    classes: Sequence[Any]
    encoding: AttributeEncoding


@dataclass(frozen=True)
class WrittenShard:
    """What was written, or why it could not be.

    Attributes:
        record: what the folder records; None if there are failures.
        schema: the schema of its graphs.
        failures: why graphs cannot be encoded with the others, by their number in the input.
    """

    record: ShardRecord | None
    schema: Schema | None
    failures: Mapping[int, str]


def shard_chunks(summaries: Sequence[Summary]) -> Iterator[list[int]]:
    """Divide chunks with graphs into shards; the numbers of the chunks of each shard."""
    chunks: list[int] = []
    graphs = size = 0
    for number, own in enumerate(summaries):
        added = own.counts["nodes"] + own.counts["edges"]
        full = graphs + own.counts["graphs"] > SHARD_GRAPHS or size + added > SHARD_SIZE
        if chunks and full:
            yield chunks
            chunks, graphs, size = [], 0, 0
        if own.counts["graphs"]:
            chunks.append(number)
            graphs, size = graphs + own.counts["graphs"], size + added
    if chunks:
        yield chunks


def write_chunks(task: ShardTask) -> WrittenShard:
    """Encode the graphs of chunks and write them as one shard.

    Raises:
        OutputError: if the file cannot be written.
        DatasetFileError: if a chunk is damaged.
    """
    parts: list[PackedGraphs] = []
    rows: list[int] = []
    failures: dict[int, str] = {}
    for path, first, excluded in task.chunks:
        chunk = Chunk.load(path)
        columns, positions, values, _ = used_graphs(chunk, task.targets, excluded)
        columns = _with_all_attributes(columns, task.encoding)
        rows += [first + place for place in positions]
        y = None if values is None else _targets(values, task)
        try:
            parts.append(
                PackedGraphs.from_columns(columns, y=y, name=task.name, encoding=task.encoding)
            )
        except InvalidGraphError:
            found = _failures(columns, task.encoding)
            if not found:
                raise
            for number, message in found.items():
                place = positions[number]
                failures[first + place] = re.sub(r"graph 0\b", chunk.places[place], message)
    if failures:
        return WrittenShard(None, None, failures)
    graphs = concatenated(parts)
    record = write_shard(task.path, graphs, torch.tensor(rows))
    return WrittenShard(record, Schema.of(graphs), {})


def _targets(values: Sequence[Any], task: ShardTask) -> Any:
    assert task.targets is not None
    if task.targets.task is Task.classification:
        numbers = {own: number for number, own in enumerate(task.classes)}
        return np.array([numbers[own] for own in values], dtype=np.int64)
    rows = np.array(values, dtype=np.float64)
    return rows[:, 0] if len(task.targets.names) == 1 else rows


def _with_all_attributes(columns: GraphColumns, encoding: AttributeEncoding) -> GraphColumns:
    """Columns with None for attributes that only graphs of other chunks have."""
    known = {"nodes": encoding.nodes, "edges": encoding.edges, "graphs": encoding.graphs}
    added = {
        part: {
            own.name: CodedColumn([None], np.zeros(columns.count(part), dtype=np.int64))
            for own in known[part]
            if own.name not in columns.of(part) and columns.count(part)
        }
        for part in PARTS
    }
    return columns.with_attributes({own: {**columns.of(own), **added[own]} for own in PARTS})


def _failures(columns: GraphColumns, encoding: AttributeEncoding) -> dict[int, str]:
    """Why graphs cannot be encoded, by their numbers."""
    failures = {}
    for number in range(len(columns)):
        one = np.zeros(len(columns), dtype=bool)
        one[number] = True
        try:
            PackedGraphs.from_columns(taken(columns, one), encoding=encoding)
        except InvalidGraphError as error:
            failures[number] = str(error)
    return failures
