"""A graph set on disk: a folder with shards and a file that describes them."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clipgnn import __version__
from clipgnn.errors import (
    DatasetFileError,
    DatasetNotFoundError,
    InvalidParameterError,
    OutputError,
    counted,
    shown,
)
from clipgnn.graphs.encoding import AttributeEncoding
from clipgnn.graphs.indices import as_graph_indices, check_range
from clipgnn.graphs.joining import concatenated
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.schema import Schema
from clipgnn.graphs.storage.shard import Shard, ShardRecord, write_shard
from clipgnn.ops.pointers import inverse_order
from clipgnn.writing import write_file

FILE = "graphs.json"
"""File of a folder that describes its shards."""

RECORD = "conversion.json"
"""File that describes the conversion by which a folder was written, if it was."""

UNFINISHED = "unfinished"
"""Folder in that of a conversion that is not finished."""

SHARD_GRAPHS, SHARD_SIZE = 2**16, 2**22
"""Largest number of graphs of a shard, and of nodes and edges of a shard of several graphs."""

_FORMAT = "clipgnn-graphs/1"


@dataclass(frozen=True)
class TargetNames:
    """What the targets of a graph set are called.

    Attributes:
        names: name of each target.
        classes: the classes, integers or names, in the order of their numbers; None for numbers to
            regress.
    """

    names: tuple[str, ...]
    classes: tuple[int | str, ...] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class StoredGraphs:
    """A graph set on disk, whose graphs are read when they are used.

    Only a small description is in memory, whatever the number of graphs. A shard is compared with
    its checksum when it is first used.

    Attributes:
        folder: the folder.
        name: name of the data set.
        schema: kinds of tensors and the encoding of attributes.
        records: what is known of each shard.
        target_names: names of targets and classes; None if the targets have no names.
        scaling: mean and scale, `[targets]`, with which targets are standardized when they are
            read; None for targets as they are.
    """

    folder: Path
    name: str
    schema: Schema
    records: tuple[ShardRecord, ...]
    target_names: TargetNames | None = None
    scaling: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return self._firsts[-1]

    @property
    def shape(self) -> tuple[int]:
        """`(graphs,)`, which scikit-learn reads to select graphs."""
        return (len(self),)

    def __repr__(self) -> str:
        return (
            f"StoredGraphs({self.name!r}, graphs={len(self)}, nodes={self.num_nodes}, "
            f"edges={self.num_edges}, in_channels={self.in_channels}, shards={len(self.records)})"
        )

    def __getitem__(self, chosen: Any) -> PackedGraphs:
        """Read graphs into memory: a graph, a slice, indices or a mask, as for `PackedGraphs`."""
        if isinstance(chosen, slice):
            chosen = range(*chosen.indices(len(self)))
        elif isinstance(chosen, int) and not isinstance(chosen, bool):
            if not -len(self) <= chosen < len(self):
                raise IndexError(f"There is no graph {chosen} of {len(self)}.")
            chosen = [chosen % len(self)]
        indices, mask_length = as_graph_indices("The index", chosen)
        if mask_length not in (None, len(self)):
            raise InvalidParameterError(
                f"A mask must have an entry for each of the {len(self)} graphs. Got {mask_length}."
            )
        return self.subset(indices)

    @property
    def in_channels(self) -> int:
        """Channels of the attributes of nodes, or number of labels."""
        return self.schema.in_channels

    @property
    def encoding(self) -> AttributeEncoding | None:
        """How named attributes were encoded as channels, or None."""
        return self.schema.encoding

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all graphs."""
        return sum(own.nodes for own in self.records)

    @property
    def num_edges(self) -> int:
        """Number of edges of all graphs."""
        return sum(own.edges for own in self.records)

    @property
    def loaded_bytes(self) -> int:
        """Size of all graphs in memory."""
        rows = {"x": self.num_nodes, "colorings": self.num_nodes}
        rows |= dict.fromkeys(("edge_index", "edge_attr", "edge_weight"), self.num_edges)
        return sum(
            rows.get(name, len(self)) * prod(own.others) * own.dtype.itemsize
            for name, own in self.schema.tensors.items()
        )

    @property
    def has_targets(self) -> bool:
        """Whether the graphs have targets."""
        return "y" in self.schema.tensors

    @property
    def has_classes(self) -> bool:
        """Whether the targets are classes.

        Raises:
            InvalidParameterError: if the graphs have no targets.
        """
        self._check_targets()
        return not self.schema.tensors["y"].dtype.is_floating_point

    @property
    def num_targets(self) -> int:
        """Number of targets of each graph."""
        self._check_targets()
        return next(iter(self.schema.tensors["y"].others), 1)

    @cached_property
    def num_classes(self) -> int:
        """Number of classes.

        Raises:
            InvalidParameterError: if the targets are floats to regress, or there are none.
        """
        if not self.has_classes:
            raise InvalidParameterError(
                f"Targets must be classes. The targets of {self.name!r} are floats to regress."
            )
        return max(int(own.max()) for own in self.targets_by_shard()) + 1

    @property
    def directed(self) -> bool:
        """Whether the two directions of an edge differ in a graph."""
        return any(own.directed for own in self.records)

    def subset(self, chosen: Tensor) -> PackedGraphs:
        """Read graphs into memory.

        Args:
            chosen: int64 indices of graphs, in any order, with or without duplicates.

        Raises:
            InvalidParameterError: if it is empty, or an index is out of range.
            DatasetFileError: if a shard is missing or damaged.
        """
        if chosen.numel() == 0:
            raise InvalidParameterError("chosen must have at least one graph. Got none.")
        check_range("chosen", chosen, len(self))
        ordered, order = chosen.sort(stable=True)
        cuts = torch.searchsorted(ordered, torch.tensor(self._firsts)).tolist()
        parts = [
            self._shards[number].subset(ordered[start:stop] - self._firsts[number])
            for number, (start, stop) in enumerate(pairwise(cuts))
            if start < stop
        ]
        joined = self._scaled(concatenated(parts))
        if not torch.equal(ordered, chosen):
            joined = joined.subset(inverse_order(order))
        if not self.directed:
            vars(joined)["directed"] = False  # otherwise two sorts of all edges would find it
        return joined

    def _scaled(self, graphs: PackedGraphs) -> PackedGraphs:
        if self.scaling is None or graphs.y is None:
            return graphs
        mean, scale = self.scaling
        y = ((graphs.y.double() - mean) / scale).to(graphs.y.dtype)
        return graphs.with_targets(y)

    def rows(self, chosen: Tensor) -> Tensor | None:
        """Positions of ascending graphs in the file that they were converted from, from 0.

        None if they are not known.
        """
        cuts = torch.searchsorted(chosen, torch.tensor(self._firsts)).tolist()
        found = [
            self._shards[number].rows(chosen[start:stop] - self._firsts[number])
            for number, (start, stop) in enumerate(pairwise(cuts))
            if start < stop
        ]
        known = [own for own in found if own is not None]
        return torch.cat(known) if len(known) == len(found) else None

    def load(self) -> PackedGraphs:
        """Read all graphs into memory."""
        return self.subset(torch.arange(len(self)))

    def parts(self, num_graphs: int = SHARD_GRAPHS) -> Iterator[PackedGraphs]:
        """Read all graphs, in parts of at most a number of graphs, one after the other.

        Of large graphs, a part has fewer: about `SHARD_SIZE` nodes and edges.
        """
        at_once = self.graphs_at_once(num_graphs)
        for start in range(0, len(self), at_once):
            yield self.subset(torch.arange(start, min(start + at_once, len(self))))

    def graphs_at_once(self, most: int) -> int:
        """Number of graphs, at most `most`, that have about `SHARD_SIZE` nodes and edges."""
        size = (self.num_nodes + self.num_edges) / len(self)
        return min(most, max(1, int(SHARD_SIZE / max(1.0, size))))

    def example(self) -> PackedGraphs:
        """Read a graph that has nodes, if there is one."""
        found = next((own for own, record in enumerate(self.records) if record.largest), None)
        if found is None:
            return self[:1]
        return self._shards[found].first_with_nodes()

    def targets_by_shard(self) -> Iterator[Tensor]:
        """Read the targets of one shard after the other.

        Raises:
            InvalidParameterError: if the graphs have no targets.
        """
        self._check_targets()
        return (own.targets() for own in self._shards)

    def _check_targets(self) -> None:
        if not self.has_targets:
            raise InvalidParameterError(
                f"The graphs must have targets. Got {self.name!r} without y. Convert them with "
                "their targets."
            )

    def check(self) -> None:
        """Compare all shards with their checksums, and check their graphs.

        Raises:
            DatasetFileError: if a shard is missing or damaged. The message names it.
        """
        for shard in self._shards:
            shard.check()

    @cached_property
    def fingerprint(self) -> str:
        """Hash of schema and shards; two folders can have the same graphs in other shards."""
        content = [self.schema.as_json(), [own.sha256 for own in self.records]]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @cached_property
    def _firsts(self) -> list[int]:
        """Number of graphs before each shard, and of all graphs."""
        return [0, *accumulate(own.graphs for own in self.records)]

    @cached_property
    def _shards(self) -> list[Shard]:
        return [
            Shard(shard_path(self.folder, number), self.name, self.schema, record)
            for number, record in enumerate(self.records)
        ]


def shard_path(folder: Path, number: int) -> Path:
    """File of a shard."""
    return folder / f"shard-{number:06d}.safetensors"


def is_stored(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a graph set."""
    return (Path(path) / FILE).is_file()


def is_unfinished(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a conversion that is not finished."""
    return (Path(path) / UNFINISHED / RECORD).is_file() and not is_stored(path)


def open_graphs(folder: str | os.PathLike[str]) -> StoredGraphs:
    """Open the folder of a graph set. No graph is read.

    Raises:
        DatasetNotFoundError: if there is no such folder.
        DatasetFileError: if it has another version, or its description is damaged.
    """
    path = Path(folder)
    try:
        content = json.loads((path / FILE).read_bytes())
    except OSError as error:
        raise DatasetNotFoundError(
            f"{path} must be a folder of graphs, with the file {FILE}. It is missing. Use "
            "PackedGraphs.save or clipgnn convert to create one."
        ) from error
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        found = content.get("format") if isinstance(content, dict) else content
        raise DatasetFileError(
            f"{path / FILE} must have the format {_FORMAT!r}. Got {shown(found)}, of another "
            f"version than clipgnn {__version__}. Convert the graphs again."
        )
    try:
        stored = StoredGraphs(
            path,
            str(content["name"]),
            Schema.from_json(content["schema"]),
            tuple(ShardRecord.from_json(own) for own in content["shards"]),
            _target_names(content["targets"]),
        )
        if not stored.records:
            raise ValueError("it has no shards")
        return stored
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


def save_graphs(
    graphs: PackedGraphs,
    folder: str | os.PathLike[str],
    target_names: TargetNames | None = None,
    rows: Tensor | None = None,
) -> StoredGraphs:
    """Write a graph set to a new folder, which is a graph set when all shards are written.

    Args:
        graphs: the graphs.
        folder: the folder.
        target_names: names of the targets.
        rows: position of each graph in the file that it was read from; None for none.

    Raises:
        OutputError: if the folder has graphs already, or cannot be written.
    """
    path = Path(folder)
    if is_stored(path):
        raise OutputError(
            f"{path} must be a new folder. It has {counted(len(open_graphs(path)), 'graph')}. Use "
            "another folder, or append_graphs."
        )
    stored = write_shards(graphs, path, target_names, rows)
    record_shards(stored)
    return stored


def write_shards(
    graphs: PackedGraphs, path: Path, target_names: TargetNames | None, rows: Tensor | None
) -> StoredGraphs:
    """Write the shards of a graph set, and not yet their description.

    Arguments and errors are those of `save_graphs`.
    """
    _create(path)
    records = []
    for number, (start, stop) in enumerate(_cuts(graphs)):
        part = graphs.subset(torch.arange(start, stop, device=graphs.device))
        of_part = None if rows is None else rows[start:stop]
        records.append(write_shard(shard_path(path, number), part, of_part))
    return StoredGraphs(path, graphs.name, Schema.of(graphs), tuple(records), target_names)


def append_graphs(
    folder: str | os.PathLike[str],
    graphs: PackedGraphs,
    *,
    rows: Tensor | None = None,
    target_names: TargetNames | None = None,
) -> StoredGraphs:
    """Add graphs to a folder as one shard; the first call creates the folder.

    The shard is written first and then recorded, both atomically: after an interruption the folder
    has the shards before. One process at a time may add shards.

    Args:
        folder: the folder.
        graphs: the graphs.
        rows: position of each graph in the file that it was read from; None for none.
        target_names: names of the targets, for the first shard.

    Raises:
        InvalidGraphError: if the graphs differ in kind from those before.
        OutputError: if the folder cannot be written.
        DatasetFileError: if the folder is damaged.
    """
    path = Path(folder)
    schema = Schema.of(graphs)
    if is_stored(path):
        stored = open_graphs(path)
        stored.schema.check_same(schema)
    else:
        _create(path)
        stored = StoredGraphs(path, graphs.name, schema, (), target_names)
    record = write_shard(shard_path(path, len(stored.records)), graphs, rows)
    extended = replace(stored, records=(*stored.records, record))
    record_shards(extended)
    return extended


def _create(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{path} must be a folder that can be written. {error.strerror}. Use another one."
        ) from error


def record_shards(stored: StoredGraphs) -> None:
    """Write the description of a graph set whose shards are written already, atomically.

    Raises:
        OutputError: if it cannot be written.
    """
    names = stored.target_names
    content = {
        "format": _FORMAT,
        "version": __version__,
        "name": stored.name,
        "schema": stored.schema.as_json(),
        "targets": None if names is None else {"names": names.names, "classes": names.classes},
        "shards": [own.as_json() for own in stored.records],
    }
    write_file(stored.folder / FILE, json.dumps(content, indent=1).encode())


def _target_names(values: Any) -> TargetNames | None:
    if values is None:
        return None
    classes = values["classes"]
    if classes is not None:
        classes = tuple(own if isinstance(own, int) else str(own) for own in classes)
    return TargetNames(tuple(map(str, values["names"])), classes)


def _cuts(graphs: PackedGraphs) -> Iterator[tuple[int, int]]:
    """First and last graph of each shard."""
    ends = graphs.node_pointers + graphs.edge_pointers
    start = 0
    while start < len(graphs):
        full = int(torch.searchsorted(ends, ends[start] + SHARD_SIZE, right=True)) - 1
        stop = min(max(full, start + 1), start + SHARD_GRAPHS, len(graphs))
        yield start, stop
        start = stop


def _damaged(path: Path, reason: str) -> DatasetFileError:
    return DatasetFileError(
        f"{path / FILE} must describe a graph set. It is damaged: {reason}. Restore the file, or "
        "remove the folder and convert the graphs again."
    )
