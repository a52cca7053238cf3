"""GIN text: graphs with classes, as in the files of GIN, PPGN, EXP and CEXP.

The first line is the number of graphs. Each graph has a line "nodes class", and a line for each of
its nodes: "tag degree neighbor neighbor …", followed by numbers if nodes have attributes. Neighbors
are numbered from 0, and an edge is in the lines of both of its nodes.
"""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from clipgnn.datasets.graph_files.entries import Entry
from clipgnn.datasets.graph_files.tables import read_text
from clipgnn.errors import DatasetFileError, InvalidGraphError, counted, shown

ENDINGS = (".txt",)
"""Endings of such files."""

READS_FOLDERS = False
"""Whether a folder of files is a set of graphs."""

TAG = "tag"
"""Attribute of nodes with their tags; they are strings, because they are always categories."""

ATTRIBUTES = "attributes"
"""Attribute of nodes with their numbers."""

LABEL = "label"
"""Name of the classes of graphs."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")

Line = tuple[int, list[str]]
"""Number of a line, and its words."""


def entries(path: Path) -> Iterator[Entry]:
    """Read all graphs. A graph with an invalid line of a node is an entry with a problem.

    Raises:
        DatasetFileError: if a line with the numbers of graphs or nodes is not valid, or the file
            has fewer or more lines than they say: it is then not known where graphs begin.
    """
    text = read_text(path)
    # Not splitlines, which also splits at characters other than line breaks.
    numbered = enumerate(text.replace("\r\n", "\n").split("\n"), start=1)
    lines = [(number, words) for number, line in numbered if (words := line.split())]
    if not lines:
        return
    requirement = "the number of graphs in GIN text. Give format for a file of another format"
    [num_graphs] = _counts(path, lines[0], 1, requirement)
    place = 1
    for graph in range(1, num_graphs + 1):
        if place == len(lines):
            raise _truncated(path, num_graphs, f"graph {graph - 1}" if graph > 1 else "line 1")
        number, words = header = lines[place]
        num_nodes, _ = _counts(path, header, 2, "a number of nodes and a class")
        nodes = lines[place + 1 : place + 1 + num_nodes]
        if len(nodes) < num_nodes:
            raise _truncated(
                path, num_graphs, f"{len(nodes)} of the {num_nodes} nodes of graph {graph}"
            )
        place += 1 + num_nodes
        yield _entry(f"line {number}", nodes, str(int(words[1])))
    if place < len(lines):
        raise DatasetFileError(
            f"{path.name} must have {counted(num_graphs, 'graph')}, as its first line says. There "
            f"is another one at line {lines[place][0]}."
        )


def _counts(path: Path, line: Line, length: int, requirement: str) -> list[int]:
    """The integers of a line, of which the first is a count."""
    number, words = line
    whole = len(words) == length and all(map(_INTEGER.fullmatch, words))
    if not whole or int(words[0]) < 0:
        raise DatasetFileError(
            f"Line {number} of {path.name} must be {requirement}. Got {shown(' '.join(words))}."
        )
    return [int(word) for word in words]


def _truncated(path: Path, num_graphs: int, last: str) -> DatasetFileError:
    return DatasetFileError(
        f"{path.name} must have {counted(num_graphs, 'graph')}, as its first line says. It ends "
        f"after {last}."
    )


def _entry(place: str, lines: Sequence[Line], label: str) -> Entry:
    try:
        return Entry(place, _graph(lines), {LABEL: label})
    except InvalidGraphError as error:
        return Entry(place, None, {LABEL: label}, problem=str(error))


def _graph(lines: Sequence[Line]) -> Any:
    graph: Any = nx.Graph()
    neighbors: list[list[int]] = []
    width = None
    for node, line in enumerate(lines):
        tag, own, attributes = _node(line, len(lines))
        graph.add_node(node, **{TAG: tag}, **({ATTRIBUTES: attributes} if attributes else {}))
        neighbors.append(own)
        width = len(attributes) if width is None else width
        if len(attributes) != width:
            raise InvalidGraphError(
                f"Each node of a graph must have the same number of attributes. Got {width} and, "
                f"in line {line[0]}, {len(attributes)}."
            )
    edges = [(node, other) for node, own in enumerate(neighbors) for other in own]
    known = set(edges)
    for node, other in edges:
        if (other, node) not in known:
            raise InvalidGraphError(
                "Edges must be in the lines of both nodes. "
                f"Node {node} (line {lines[node][0]}) has the neighbor {other} "
                f"(line {lines[other][0]}), which does not have it."
            )
    graph.add_edges_from(edges)
    return graph


def _node(line: Line, num_nodes: int) -> tuple[str, list[int], list[float]]:
    """Tag, neighbors and attributes of a node."""
    number, words = line
    if len(words) < 2 or not all(map(_INTEGER.fullmatch, words[:2])) or int(words[1]) < 0:
        raise InvalidGraphError(
            f"Line {number} must begin with a tag and a number of neighbors, both integers. Got "
            f"{shown(' '.join(words[:2]))}."
        )
    degree = int(words[1])
    given = words[2 : 2 + degree]
    if len(given) < degree:
        raise InvalidGraphError(
            f"Line {number} must have {counted(degree, 'neighbor')}. Got {len(given)}."
        )
    neighbors: list[int] = []
    for word in given:
        if not _INTEGER.fullmatch(word) or not 0 <= int(word) < num_nodes:
            raise InvalidGraphError(
                f"Neighbors in line {number} must be nodes from 0 to {num_nodes - 1}. Got "
                f"{shown(word)}."
            )
        neighbors.append(int(word))
    if len(set(neighbors)) < degree:
        raise InvalidGraphError(f"Line {number} must have each neighbor once. Got one twice.")
    attributes = [_number(word, number) for word in words[2 + degree :]]
    return str(int(words[0])), neighbors, attributes


def _number(word: str, line: int) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in word:
        raise InvalidGraphError(
            f"Attributes in line {line} must be finite numbers after the neighbors. Got "
            f"{shown(word)}."
        )
    return number
