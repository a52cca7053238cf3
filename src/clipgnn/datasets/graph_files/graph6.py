"""Files of graph6 and sparse6, with a graph in each line."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx

from clipgnn.datasets.graph_files.entries import Entry, RawEntry, parsed
from clipgnn.errors import InvalidGraphError, shown

ENDINGS = (".g6", ".s6", ".graph6", ".sparse6")
"""Endings of such files."""

READS_FOLDERS = False
"""Whether a folder of files is a set of graphs."""

MOST_NODES = 100_000
"""Largest number of nodes of a graph. A few characters of sparse6 describe billions of nodes."""

HEADERS = (b">>graph6<<", b">>sparse6<<")
"""Beginnings of files, and of single graphs."""


def entries(path: Path) -> Iterator[Entry]:
    """Read a graph from each line; those of sparse6 begin with a colon."""
    _, raw = raw_entries(path)
    yield from map(read_entry, raw)


def raw_entries(path: Path) -> tuple[list[str], Iterator[RawEntry]]:
    """Return lines that are read when they are used; graphs have no values."""
    return [], _lines(path)


def _lines(path: Path) -> Iterator[RawEntry]:
    with path.open("rb") as file:
        # `splitlines` also ends lines at a carriage return alone, as old editors do.
        lines = (line for part in file for line in part.splitlines())
        for number, line in enumerate(lines, start=1):
            if number == 1:
                line = line.removeprefix(BOM_UTF8)
            for header in HEADERS:
                line = line.removeprefix(header)
            if text := line.strip():
                yield RawEntry(f"line {number}", text, {})


def read_entry(raw: RawEntry) -> Entry:
    """Parse a line; a graph that is not valid is an entry with a problem."""
    return parsed(raw.place, raw.content, _read)


def num_nodes(text: bytes) -> int:
    """Read the number of nodes of graph6 or sparse6, without a header, before nodes are created.

    It is one character, or three or six after one or two `~`.
    """
    values = [byte - 63 for byte in text.removeprefix(b":")[:8]]
    begin, end = (0, 1) if values[:1] != [63] else (1, 4) if values[1:2] != [63] else (2, 8)
    number = 0
    for value in values[begin:end]:
        number = number * 64 + value
    return number


def graph_of_text(text: bytes) -> Any:
    """Return the graph of networkx that graph6 or sparse6 without a header describes.

    Raises:
        InvalidGraphError: if the text is not valid, or the graph has too many nodes.
    """
    if text.startswith((b"&", b">>digraph6<<")):
        raise InvalidGraphError(
            "A graph must be in graph6 or sparse6, which are of undirected graphs. Got digraph6. "
            "Convert directed graphs to another format, such as JSON lines."
        )
    body = text.removeprefix(b":")
    wrong = [byte for byte in body if not 63 <= byte <= 126]
    if wrong or not body:
        raise InvalidGraphError(
            "A graph in graph6 or sparse6 must have characters from ? to ~ only, and at least one. "
            f"Got {shown(chr(wrong[0]) if wrong else '')}."
        )
    if (size := num_nodes(text)) > MOST_NODES:
        raise InvalidGraphError(
            f"A graph in graph6 or sparse6 must have at most {MOST_NODES:,} nodes. Got {size:,}. "
            "Use another format, such as JSON lines."
        )
    read: Any = nx.from_sparse6_bytes if text.startswith(b":") else nx.from_graph6_bytes
    try:
        return read(text)
    except Exception as error:  # networkx raises errors of many kinds
        reason = "It ends too early" if isinstance(error, IndexError) else str(error).rstrip(".")
        raise InvalidGraphError(
            "A graph in graph6 or sparse6 must have as many characters as its number of nodes "
            f"requires. {reason or type(error).__name__}."
        ) from error


def _read(text: bytes) -> tuple[Any, dict[str, str]]:
    return graph_of_text(text), {}
