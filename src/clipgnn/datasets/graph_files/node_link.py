"""JSON lines of node-link graphs, the form of `networkx.node_link_data`."""

import codecs
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx as nx

from clipgnn.datasets.graph_files.entries import Entry, RawEntry, as_texts, parsed
from clipgnn.errors import InvalidGraphError, shown

ENDINGS = (".jsonl", ".ndjson")
"""Endings of such files."""

READS_FOLDERS = False
"""Whether a folder of files is a set of graphs."""

USED = {"directed", "multigraph", "graph", "nodes", "edges", "links"}
"""Keys of a line that describe the graph; all others are values."""


def entries(path: Path) -> Iterator[Entry]:
    """Read a graph from each line; its attributes, and other keys of the line, are values."""
    _, raw = raw_entries(path)
    yield from map(read_entry, raw)


def raw_entries(path: Path) -> tuple[None, Iterator[RawEntry]]:
    """Return lines that are read when they are used; names of values are in the lines."""
    return None, _lines(path)


def _lines(path: Path) -> Iterator[RawEntry]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            content = line.removeprefix(codecs.BOM_UTF8).strip()
            if content:
                yield RawEntry(f"line {number}", content, {})


def read_entry(raw: RawEntry) -> Entry:
    """Parse a line; a graph that is not valid is an entry with a problem."""
    return parsed(raw.place, raw.content, _read)


def _read(line: bytes) -> tuple[Any, dict[str, str]]:
    try:
        content = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidGraphError(f"The line must be valid JSON in UTF-8. {error}.") from error
    if not isinstance(content, dict) or "nodes" not in content:
        raise InvalidGraphError('The line must be an object with the key "nodes".')
    key = next((own for own in ("edges", "links") if own in content), None)
    if key is None:
        raise InvalidGraphError('The line must have the key "edges" or "links".')
    attributes = content.get("graph") or {}
    if not isinstance(attributes, Mapping):
        raise InvalidGraphError('The value of "graph" must be an object.')
    _check_ends(content["nodes"], content[key])
    graph: Any = nx.node_link_graph(content, edges=key)
    others = {name: own for name, own in content.items() if name not in USED}
    return graph, as_texts({**attributes, **others})


def _check_ends(nodes: Any, edges: Any) -> None:
    """Check that nodes have different ids, and that edges are between them."""
    ids = [_hashable(node["id"]) for node in nodes]
    known = set(ids)
    if len(known) < len(ids):
        twice = next(own for own in ids if ids.count(own) > 1)
        raise InvalidGraphError(f"Nodes must have different ids. Got {shown(twice)} twice.")
    for edge in edges:
        for end in (edge["source"], edge["target"]):
            if _hashable(end) not in known:
                raise InvalidGraphError(
                    f"Edges must be between nodes of the graph. Got {shown(end)}, which is none."
                )


def _hashable(name: Any) -> Any:
    """Lists are tuples as names of nodes, as in networkx."""
    return tuple(map(_hashable, name)) if isinstance(name, list) else name
