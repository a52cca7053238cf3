"""One shard of a graph set on disk: a safetensors file of narrow flat tensors.

Integers are stored in the smallest type that holds them, and floats that are all integers from 0 to
255, such as one-hot rows, as bytes. A molecule of 20 atoms with one category each takes about 120
bytes instead of 1,000.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from clipgnn.errors import DatasetFileError, InvalidGraphError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.heap import release_freed_memory
from clipgnn.graphs.storage.schema import Schema
from clipgnn.ops.pointers import expand_segments, pointers_from_counts
from clipgnn.writing import write_file

_INTEGERS = (torch.uint8, torch.int16, torch.int32, torch.int64)
_BYTES = 255
_NODE_COUNTS, _EDGE_COUNTS, ROWS = "num_nodes", "num_edges", "rows"


@dataclass(frozen=True)
class ShardRecord:
    """What the folder records of a shard.

    Attributes:
        graphs: number of graphs.
        nodes: number of nodes.
        edges: number of edges.
        largest: number of nodes of the largest graph.
        directed: whether the two directions of an edge differ.
        bytes: size of the file.
        sha256: hash of the file.
    """

    graphs: int
    nodes: int
    edges: int
    largest: int
    directed: bool
    bytes: int
    sha256: str

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "ShardRecord":
        """Restore a record.

        Raises:
            KeyError, TypeError, ValueError: if the values are not those of `as_json`.
        """
        numbers = {name: int(values[name]) for name in ("graphs", "nodes", "edges", "largest")}
        if min(numbers.values()) < 0 or numbers["graphs"] < 1:
            raise ValueError(f"it has a shard of {numbers}")
        return cls(
            **numbers,
            directed=bool(values["directed"]),
            bytes=int(values["bytes"]),
            sha256=str(values["sha256"]),
        )

    def as_json(self) -> dict[str, Any]:
        """Return values of JSON, from which `from_json` restores the record."""
        return asdict(self)


def write_shard(path: Path, graphs: PackedGraphs, rows: Tensor | None = None) -> ShardRecord:
    """Write graphs to a file, atomically.

    Args:
        path: the file.
        graphs: the graphs.
        rows: position of each graph in the file that it was read from; None for none.

    Raises:
        OutputError: if the file cannot be written.
    """
    node_counts, edge_counts = graphs.node_pointers.diff(), graphs.edge_pointers.diff()
    tensors = {name: getattr(graphs, name) for name in Schema.of(graphs).tensors}
    tensors |= {_NODE_COUNTS: node_counts, _EDGE_COUNTS: edge_counts}
    if rows is not None:
        tensors[ROWS] = rows
    content = to_bytes({name: _narrow(own.cpu()).contiguous() for name, own in tensors.items()})
    write_file(path, content)
    return ShardRecord(
        graphs=len(graphs),
        nodes=graphs.x.shape[0],
        edges=graphs.edge_index.shape[1],
        largest=int(node_counts.max()),
        directed=graphs.directed,
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


class Shard:
    """A shard whose tensors are mapped into memory.

    Content is compared with its hash, and checked as graphs, before it is first used.

    Args:
        path: the file.
        name: name of the graph set.
        schema: schema of the graph set.
        record: what the folder records of the shard.
    """

    def __init__(self, path: Path, name: str, schema: Schema, record: ShardRecord) -> None:
        self._path, self._name, self._schema, self._record = path, name, schema, record
        self._mapped: dict[str, Tensor] | None = None

    def subset(self, chosen: Tensor) -> PackedGraphs:
        """Read graphs, in any order.

        Raises:
            DatasetFileError: if the file is missing or damaged.
        """
        mapped = self._tensors()
        counts = {name: mapped[name].long() for name in (_NODE_COUNTS, _EDGE_COUNTS)}
        pointers, entries = {}, {}
        for name, own in counts.items():
            begin = own.cumsum(0) - own
            pointers[name], _, entries[name] = expand_segments(begin[chosen], own[chosen])
        of_rows = {"x": entries[_NODE_COUNTS], "colorings": entries[_NODE_COUNTS]}
        of_rows |= dict.fromkeys(("edge_index", "edge_attr", "edge_weight"), entries[_EDGE_COUNTS])
        return self._packed(
            {
                name: mapped[name].index_select(len(kind.others) if name in _LAST else 0, own)
                for name, kind in self._schema.tensors.items()
                for own in [of_rows.get(name, chosen)]
            },
            pointers[_NODE_COUNTS],
            pointers[_EDGE_COUNTS],
        )

    def first_with_nodes(self) -> PackedGraphs:
        """Read the first graph that has nodes."""
        return self.subset(self._tensors()[_NODE_COUNTS].long().nonzero()[0])

    def rows(self, chosen: Tensor) -> Tensor | None:
        """Positions of graphs in the file that they were read from; None if they are not known."""
        rows = self._tensors().get(ROWS)
        return None if rows is None else rows[chosen].long()

    def targets(self) -> Tensor:
        """Targets of all graphs."""
        return self._tensors()["y"].to(self._schema.tensors["y"].dtype)

    def check(self) -> None:
        """Compare the file with its hash, and check its graphs.

        Raises:
            DatasetFileError: if the file is missing or damaged.
        """
        self._mapped = None
        self._tensors()

    def _tensors(self) -> dict[str, Tensor]:
        if self._mapped is None:
            self._check_size()
            self._check_hash()
            mapped = self._map()
            self._check_content(mapped)
            self._mapped = mapped
            release_freed_memory()
        return self._mapped

    def _check_size(self) -> None:
        try:
            size = self._path.stat().st_size
        except OSError as error:
            raise self._damaged("it is missing") from error
        if size != self._record.bytes:
            raise self._damaged(f"it has {size:,} bytes instead of {self._record.bytes:,}")

    def _check_hash(self) -> None:
        with open(self._path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self._record.sha256:
            raise self._damaged("its content does not match its checksum")

    def _map(self) -> dict[str, Tensor]:
        try:
            with safe_open(self._path, framework="pt") as file:
                return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise self._damaged(str(error)) from error

    def _check_content(self, mapped: dict[str, Tensor]) -> None:
        """Check what a file with a matching hash can still have wrong: another program wrote it."""
        record = self._record
        sizes = {"x": record.nodes, "colorings": record.nodes}
        sizes |= dict.fromkeys(("edge_index", "edge_attr", "edge_weight"), record.edges)
        expected = {
            name: kind.shape(name, sizes.get(name, record.graphs))
            for name, kind in self._schema.tensors.items()
        } | {name: [record.graphs] for name in (_NODE_COUNTS, _EDGE_COUNTS)}
        found = {name: list(own.shape) for name, own in mapped.items() if name != ROWS}
        if found != expected:
            raise self._damaged(f"its tensors are {found} instead of {expected}")
        values = {name: mapped[name] for name in self._schema.tensors}
        counts = [mapped[name].long() for name in (_NODE_COUNTS, _EDGE_COUNTS)]
        if record.nodes == 0 and not any(bool(own.any()) for own in counts):
            return  # graphs without nodes, which are valid among others only
        try:
            PackedGraphs(**vars(self._packed(values, *map(pointers_from_counts, counts))))
        except InvalidGraphError as error:
            raise self._damaged(str(error)) from error

    def _packed(
        self, values: Mapping[str, Tensor], node_pointers: Tensor, edge_pointers: Tensor
    ) -> PackedGraphs:
        kinds = self._schema.tensors
        return PackedGraphs.unchecked(
            name=self._name,
            in_channels=self._schema.in_channels,
            node_pointers=node_pointers,
            edge_pointers=edge_pointers,
            encoding=self._schema.encoding,
            **{
                name: values[name].to(kinds[name].dtype) if name in kinds else None
                for name in ("x", "edge_index", "y", *_OPTIONAL)
            },
        )

    def _damaged(self, reason: str) -> DatasetFileError:
        return DatasetFileError(
            f"{self._path} must be a shard of the graph set {self._path.parent.name!r}. It is "
            f"damaged: {reason}. Restore the file, or remove the folder and convert the graphs "
            "again."
        )


_LAST = ("edge_index", "colorings")
_OPTIONAL = ("edge_attr", "edge_weight", "graph_attr", "colorings")


def _narrow(tensor: Tensor) -> Tensor:
    """The same numbers in the smallest type that holds them."""
    if tensor.numel() == 0:
        return tensor
    if tensor.is_floating_point():
        narrow = tensor.to(torch.uint8)  # any value for numbers that are out of range
        low, high = tensor.aminmax()
        fits = bool(low >= 0) and bool(high <= _BYTES) and torch.equal(narrow.to(tensor), tensor)
        return narrow if fits else tensor
    least, most = (int(own) for own in tensor.aminmax())
    fitting = (d for d in _INTEGERS if torch.iinfo(d).min <= least and most <= torch.iinfo(d).max)
    return tensor.to(next(fitting))
