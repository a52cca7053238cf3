"""Folders of GraphML or GML files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from clipgnn.datasets.graph_files.entries import Entry, as_texts

ENDINGS = (".graphml", ".gml")
"""Endings of such files."""


def entries(path: Path) -> Iterator[Entry]:
    """Read a file, or all files of a folder, sorted by name."""
    files = [path]
    if path.is_dir():
        files = sorted(own for own in path.iterdir() if own.suffix.lower() in ENDINGS)
    for file in files:
        yield _entry(file)


def _entry(file: Path) -> Entry:
    given = {"file": file.name}
    try:
        graph = nx.read_graphml(file) if file.suffix.lower() == ".graphml" else _read_gml(file)
    except (ParseError, KeyError, ValueError, nx.NetworkXError) as error:
        return Entry(file.name, None, {}, given, f"The file is not valid: {error!r}.")
    return Entry(file.name, graph, as_texts(graph.graph), given)


def _read_gml(file: Path) -> Any:
    return nx.read_gml(file, label="id")
