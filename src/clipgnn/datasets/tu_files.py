"""Reader of the text files of a data set in the TU layout.

PyG's reader is not used: it drops a last line without a newline, and the last graphs if they have
no edges, and it does not check the numbers.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import DatasetFileError


@dataclass(frozen=True)
class TUFiles:
    """Content of the files, with nodes and graphs numbered from 0 and unchanged labels.

    Attributes:
        edges: `[2, edges]`, with nodes numbered across the data set.
        graph_of_node: `[nodes]`, ascending.
        targets: int64 labels of the graphs `[graphs]`, or, if there are no labels, attributes of
            the graphs `[graphs, channels]`.
        node_labels: `[nodes, columns]`, or None.
        node_attributes: `[nodes, channels]`, or None if there are none or they were not requested.
        edge_labels: `[edges, columns]`, or None if there are none or they were not requested.
    """

    edges: Tensor
    graph_of_node: Tensor
    targets: Tensor
    node_labels: Tensor | None
    node_attributes: Tensor | None
    edge_labels: Tensor | None

    @classmethod
    def read(
        cls, folder: Path, name: str, *, node_attributes: bool = False, edge_labels: bool = False
    ) -> "TUFiles":
        """Read `NAME_A.txt` and the other files of a data set.

        Args:
            folder: folder of the files, which is not changed.
            name: name of the data set, which is the beginning of the names of the files.
            node_attributes: whether to read node attributes.
            edge_labels: whether to read edge labels.

        Raises:
            DatasetFileError: if a file is missing or damaged, or two of them disagree.
        """
        paths = {
            part: folder / f"{name}_{part}.txt"
            for part in (
                *("A", "graph_indicator", "graph_labels", "graph_attributes"),
                *("node_labels", "node_attributes", "edge_labels"),
            )
        }
        found = {part: path for part, path in paths.items() if path.is_file()}
        for part in ("A", "graph_indicator"):
            if part not in found:
                raise DatasetFileError(_missing(name, folder, paths[part].name))
        if "graph_labels" in found:
            path = found["graph_labels"]
            targets = _integers(path, 1)[:, 0]
        elif "graph_attributes" in found:
            path = found["graph_attributes"]
            targets = _floats(path)
        else:
            raise DatasetFileError(_missing(name, folder, paths["graph_labels"].name))
        graph_of_node = _integers(paths["graph_indicator"], 1)[:, 0] - 1
        _check_graphs(graph_of_node, len(targets), paths["graph_indicator"], path)
        edges = _integers(paths["A"], 2).t() - 1
        _check_edges(edges, graph_of_node, paths["A"])

        def read(part: str, reader: Callable[[Path], Tensor], rows: int) -> Tensor | None:
            path = found.get(part)
            return None if path is None else _with_rows(reader(path), rows, part[:4], path)

        if not node_attributes:
            found.pop("node_attributes", None)
        if not edge_labels:
            found.pop("edge_labels", None)
        num_nodes, num_edges = len(graph_of_node), edges.shape[1]
        return cls(
            edges=edges,
            graph_of_node=graph_of_node,
            targets=targets,
            node_labels=read("node_labels", _integers, num_nodes),
            node_attributes=read("node_attributes", _floats, num_nodes),
            edge_labels=read("edge_labels", _integers, num_edges),
        )


def _numbers(path: Path, columns: int | None = None) -> NDArray[np.float64]:
    """Read the numbers of a file, a row for each line that is not blank."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "loadtxt: input contained no data")
            rows = np.loadtxt(path, delimiter=",", comments=None, ndmin=2, encoding="utf-8")
    except OSError as error:
        raise DatasetFileError(f"{path} must be readable. Got: {error}.") from error
    except ValueError as error:
        raise DatasetFileError(_first_bad_line(path)) from error
    if rows.size == 0:
        return np.empty((0, columns or 1))
    if columns is not None and rows.shape[1] != columns:
        raise DatasetFileError(
            f"{path} must have {columns} number{'s' * (columns > 1)} in each line. "
            f"Got {rows.shape[1]}."
        )
    if not np.isfinite(rows).all():
        line = int((~np.isfinite(rows)).any(1).argmax()) + 1
        raise DatasetFileError(
            f"{path} must have finite numbers only. Got NaN or infinity in row {line}."
        )
    return rows


def _integers(path: Path, columns: int | None = None) -> Tensor:
    rows = _numbers(path, columns)
    not_whole = (rows != np.rint(rows)) | (np.abs(rows) > 2**53)
    if not_whole.any():
        line = int(not_whole.any(1).argmax())
        raise DatasetFileError(
            f"{path} must have integers only. Got {rows[line].tolist()} in row {line + 1}."
        )
    return torch.from_numpy(rows.astype(np.int64))


def _floats(path: Path) -> Tensor:
    return torch.from_numpy(_numbers(path)).to(torch.get_default_dtype())


def _first_bad_line(path: Path) -> str:
    """Return the error message for the first line that is not part of a table of numbers."""
    width = None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = len([float(word) for word in line.split(",")])
        except ValueError:
            return (
                f"{path} must have numbers separated by commas. Got {line[:60]!r} in line {number}."
            )
        if width not in (None, found):
            return (
                f"{path} must have the same number of columns in each line. "
                f"Got {found} in line {number} after {width}."
            )
        width = found
    return f"{path} must be a text file of numbers separated by commas."


def _missing(name: str, folder: Path, file: str) -> str:
    return (
        f"The data set {name!r} must have a file {file}. Got none in {folder}. Copy all files of "
        f"the data set there: {name}_A.txt, {name}_graph_indicator.txt, {name}_graph_labels.txt, "
        "and node and edge labels if it has any."
    )


def _with_rows(values: Tensor, rows: int, per: str, path: Path) -> Tensor:
    if len(values) != rows:
        raise DatasetFileError(
            f"{path} must have a line for each {per}, {rows} in total. Got {len(values)}."
        )
    return values


def _check_graphs(graph_of_node: Tensor, num_graphs: int, path: Path, targets: Path) -> None:
    if len(graph_of_node) == 0:
        raise DatasetFileError(
            f"{path} must have the graph of at least one node. Got an empty file."
        )
    falling = (graph_of_node.diff() < 0).nonzero().flatten()
    if falling.numel():
        raise DatasetFileError(
            f"{path} must be sorted by graph. Got graph "
            f"{int(graph_of_node[falling[0] + 1]) + 1} after {int(graph_of_node[falling[0]]) + 1}."
        )
    if int(graph_of_node[0]) < 0:
        raise DatasetFileError(
            f"{path} must number graphs from 1. Got {int(graph_of_node[0]) + 1}."
        )
    last = int(graph_of_node[-1]) + 1
    if last != num_graphs:
        raise DatasetFileError(
            f"{targets} must have a line for each of the {last} graphs of {path.name}. "
            f"Got {num_graphs}."
        )


def _check_edges(edges: Tensor, graph_of_node: Tensor, path: Path) -> None:
    outside = ((edges < 0) | (edges >= len(graph_of_node))).any(0)
    if bool(outside.any()):
        line = int(outside.nonzero()[0])
        raise DatasetFileError(
            f"{path} must have nodes from 1 to {len(graph_of_node)}. "
            f"Got {(edges[:, line] + 1).tolist()} in row {line + 1}."
        )
    source, target = graph_of_node[edges]
    across = source != target
    if bool(across.any()):
        line = int(across.nonzero()[0])
        raise DatasetFileError(
            f"{path} must have edges inside graphs only. Got {(edges[:, line] + 1).tolist()} in "
            f"row {line + 1}, between graphs {int(source[line]) + 1} and {int(target[line]) + 1}."
        )
