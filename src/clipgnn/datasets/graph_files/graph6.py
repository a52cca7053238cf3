"""Files of graph6 and sparse6, with a graph in each line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx

from clipgnn.datasets.graph_files.entries import Entry, parsed

ENDINGS = (".g6", ".s6", ".graph6", ".sparse6")
"""Endings of such files."""

READS_FOLDERS = False
"""Whether a folder of files is a set of graphs."""

_HEADERS = (b">>graph6<<", b">>sparse6<<")


def entries(path: Path) -> Iterator[Entry]:
    """Read a graph from each line; those of sparse6 begin with a colon."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            for header in _HEADERS:
                line = line.removeprefix(header)
            if text := line.strip():
                yield parsed(f"line {number}", text, _read, requirement="graph6 or sparse6")


def _read(text: bytes) -> tuple[Any, dict[str, str]]:
    read: Any = nx.from_sparse6_bytes if text.startswith(b":") else nx.from_graph6_bytes
    return read(text), {}
