"""What all shards of a graph set on disk have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.encoding import AttributeEncoding
from clipgnn.graphs.packed import PackedGraphs

TENSORS = ("x", "edge_index", "y", "edge_attr", "edge_weight", "graph_attr", "colorings")
"""Fields of `PackedGraphs` that are stored; pointers are stored as counts."""

_AXIS = {"edge_index": 1, "colorings": 1}
"""Axis of nodes, edges or graphs, where it is not the first."""

_DTYPES = {str(own).removeprefix("torch."): own for own in (torch.int64, torch.float32)} | {
    "float64": torch.float64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


@dataclass(frozen=True)
class TensorKind:
    """Kind of a tensor that has a row for each node, edge or graph.

    Attributes:
        dtype: dtype in memory; on disk it can be a smaller one.
        others: sizes of the other axes.
    """

    dtype: torch.dtype
    others: tuple[int, ...]

    @classmethod
    def of(cls, name: str, tensor: Tensor) -> "TensorKind":
        """The kind of a field."""
        axis = _AXIS.get(name, 0)
        others = [size for own, size in enumerate(tensor.shape) if own != axis]
        return cls(tensor.dtype, tuple(others))

    def shape(self, name: str, rows: int) -> list[int]:
        """The shape of a field with a number of nodes, edges or graphs."""
        return [*self.others, rows] if name in _AXIS else [rows, *self.others]

    def __str__(self) -> str:
        sizes = f" with other axes {', '.join(map(str, self.others))}" if self.others else ""
        return f"{str(self.dtype).removeprefix('torch.')}{sizes}"


@dataclass(frozen=True)
class Schema:
    """The kinds of tensors of a graph set, and the encoding of its attributes.

    Attributes:
        in_channels: channels of the attributes of nodes, or number of labels.
        tensors: kind of each field that is not None.
        encoding: how named attributes were encoded, or None.
    """

    in_channels: int
    tensors: Mapping[str, TensorKind]
    encoding: AttributeEncoding | None

    @classmethod
    def of(cls, graphs: PackedGraphs) -> "Schema":
        """The schema of a graph set in memory."""
        found = {name: getattr(graphs, name) for name in TENSORS}
        tensors = {
            name: TensorKind.of(name, value) for name, value in found.items() if value is not None
        }
        return cls(graphs.in_channels, tensors, graphs.encoding)

    def check_same(self, other: "Schema") -> None:
        """Check that another graph set can be added to one with this schema.

        Raises:
            InvalidGraphError: if it cannot. The message names what differs.
        """
        for name in TENSORS:
            own, added = self.tensors.get(name), other.tensors.get(name)
            if own != added:
                raise _different(name, own or "none", added or "none")
        for name in (own.name for own in fields(self) if own.name != "tensors"):
            if getattr(self, name) != getattr(other, name):
                raise _different(name, getattr(self, name), getattr(other, name))

    def as_json(self) -> dict[str, Any]:
        """Return values of JSON, from which `from_json` restores the schema."""
        return {
            "in_channels": self.in_channels,
            "tensors": {
                name: [str(own.dtype).removeprefix("torch."), list(own.others)]
                for name, own in self.tensors.items()
            },
            "encoding": None if self.encoding is None else self.encoding.as_json(),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Schema":
        """Restore a schema.

        Raises:
            KeyError, TypeError, ValueError: if the values are not those of `as_json`.
        """
        tensors = {}
        for name, (dtype, others) in values["tensors"].items():
            if name not in TENSORS or dtype not in _DTYPES:
                raise ValueError(f"it has a tensor {name!r} of {dtype!r}")
            tensors[name] = TensorKind(_DTYPES[dtype], tuple(int(size) for size in others))
        if not {"x", "edge_index"} <= tensors.keys():
            raise ValueError("it must have x and edge_index")
        encoding = values["encoding"]
        return cls(
            int(values["in_channels"]),
            tensors,
            None if encoding is None else AttributeEncoding.from_json(encoding),
        )


def _different(name: str, before: object, added: object) -> InvalidGraphError:
    return InvalidGraphError(
        f"All shards of a graph set must have the same kind of {name}. Got {added}, but the shards "
        f"before have {before}. Encode all graphs in one way, or use a new folder."
    )
