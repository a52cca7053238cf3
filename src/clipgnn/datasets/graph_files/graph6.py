"""Files of graph6 and sparse6, with a graph in each line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx

from clipgnn.datasets.graph_files.entries import Entry

ENDINGS = (".g6", ".s6", ".graph6", ".sparse6")
"""Endings of such files."""

_HEADERS = (b">>graph6<<", b">>sparse6<<")


def entries(path: Path) -> Iterator[Entry]:
    """Read a graph from each line; those of sparse6 begin with a colon."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            for header in _HEADERS:
                line = line.removeprefix(header)
            if text := line.strip():
                yield _entry(f"line {number}", text)


def _entry(place: str, text: bytes) -> Entry:
    parse: Any = nx.from_sparse6_bytes if text.startswith(b":") else nx.from_graph6_bytes
    try:
        return Entry(place, parse(text))
    except (IndexError, TypeError, ValueError, nx.NetworkXError) as error:
        return Entry(place, None, problem=f"The line must be graph6 or sparse6. {error!r}.")
