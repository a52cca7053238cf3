"""A chunk: consecutive graphs of an input that were read and not yet encoded, as one file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from clipgnn.errors import DatasetFileError
from clipgnn.graphs.coded import CodedColumn
from clipgnn.graphs.columns import GraphColumns, Part
from clipgnn.writing import write_file

PARTS: tuple[Part, ...] = ("nodes", "edges", "graphs")
"""What has attributes."""

_STRUCTURE = ("num_nodes", "num_edges", "edge_index")
_ENTRIES, _ATTRIBUTES, _TEXTS = "entries", "attributes", "texts"


@dataclass(frozen=True)
class Chunk:
    """Consecutive graphs of an input.

    Attributes:
        places: where each graph is, such as "line 7".
        problems: why graphs could not be read, by their position in the chunk.
        texts: values of the graphs, also of those with a problem, by column; None where missing.
        columns: graphs without a problem. All columns are coded.
    """

    places: Sequence[str]
    problems: Mapping[int, str]
    texts: Mapping[str, CodedColumn]
    columns: GraphColumns

    @property
    def valid(self) -> NDArray[np.int64]:
        """Positions of the graphs without a problem."""
        return np.array([own for own in range(len(self.places)) if own not in self.problems], int)

    def save(self, path: Path) -> None:
        """Write the chunk to a file, atomically.

        Raises:
            OutputError: if the file cannot be written.
        """
        arrays = {name: _narrow(getattr(self.columns, name)) for name in _STRUCTURE}
        attributes: dict[str, dict[str, Any]] = {}
        for part in PARTS:
            attributes[part] = {}
            for number, (name, own) in enumerate(self.columns.of(part).items()):
                coded = CodedColumn.of(own)
                attributes[part][name] = list(coded.values)
                arrays[f"{part} {number}"] = _narrow(coded.codes)
        for number, own in enumerate(self.texts.values()):
            arrays[f"{_TEXTS} {number}"] = _narrow(own.codes)
        described = {
            _ENTRIES: [list(self.places), list(self.problems.items())],
            _ATTRIBUTES: attributes,
            _TEXTS: {name: list(own.values) for name, own in self.texts.items()},
        }
        metadata = {name: json.dumps(own) for name, own in described.items()}
        write_file(path, to_bytes(arrays, metadata))

    @classmethod
    def load(cls, path: Path) -> "Chunk":
        """Read a chunk from a file.

        Raises:
            DatasetFileError: if the file is missing or damaged.
        """
        try:
            with safe_open(path, framework="numpy") as file:
                described = {name: json.loads(own) for name, own in file.metadata().items()}
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            places, problems = described[_ENTRIES]
            columns = {part: _coded(part, described[_ATTRIBUTES][part], arrays) for part in PARTS}
            return cls(
                places=places,
                problems=dict(problems),
                texts=_coded(_TEXTS, described[_TEXTS], arrays),
                columns=GraphColumns(
                    **{name: arrays[name].astype(np.int64) for name in _STRUCTURE},
                    nodes=columns["nodes"],
                    edges=columns["edges"],
                    graphs=columns["graphs"],
                ),
            )
        except (SafetensorError, OSError, KeyError, ValueError, AttributeError) as error:
            raise DatasetFileError(
                f"{path} must be a part of an unfinished conversion. It is damaged: {error}. "
                "Remove it, and convert again."
            ) from error


def taken(columns: GraphColumns, kept: NDArray[np.bool_]) -> GraphColumns:
    """Some of the graphs of coded columns, given by a mask."""
    if kept.all():
        return columns
    rows: dict[Part, NDArray[np.bool_]] = {
        "nodes": kept.repeat(columns.num_nodes),
        "edges": kept.repeat(columns.num_edges),
        "graphs": kept,
    }
    fewer = replace(
        columns,
        num_nodes=columns.num_nodes[kept],
        num_edges=columns.num_edges[kept],
        edge_index=columns.edge_index[:, rows["edges"]],
    )
    return fewer.with_attributes(
        {
            part: {
                name: CodedColumn.of(own).take(rows[part]) for name, own in columns.of(part).items()
            }
            for part in PARTS
        }
    )


def _coded(
    kind: str, values: Mapping[str, Sequence[Any]], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, CodedColumn]:
    return {
        name: CodedColumn(own, arrays[f"{kind} {number}"])
        for number, (name, own) in enumerate(values.items())
    }


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers, which are not negative, in the smallest type that holds them."""
    return np.ascontiguousarray(values, dtype=np.min_scalar_type(int(values.max(initial=0))))
