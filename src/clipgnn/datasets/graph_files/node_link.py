"""JSON lines of node-link graphs, the form of `networkx.node_link_data`."""

import json
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

from clipgnn.datasets.graph_files.entries import Entry, as_texts

ENDINGS = (".jsonl", ".ndjson")
"""Endings of such files."""


def entries(path: Path) -> Iterator[Entry]:
    """Read a graph from each line; its attributes, and other keys of the line, are values."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _entry(f"line {number}", line)


def _entry(place: str, line: str) -> Entry:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Entry(place, None, problem=f"The line must be valid JSON. {error}.")
    if not isinstance(content, dict) or "nodes" not in content:
        return Entry(place, None, problem='The line must be an object with the key "nodes".')
    edges = next((key for key in ("edges", "links") if key in content), None)
    if edges is None:
        return Entry(place, None, problem='The line must have the key "edges" or "links".')
    used = {"directed", "multigraph", "graph", "nodes", "edges", "links"}
    attributes = content.get("graph") or {}
    values = {**attributes, **{key: own for key, own in content.items() if key not in used}}
    try:
        graph = nx.node_link_graph(content, edges=edges)
    except (AttributeError, KeyError, TypeError, ValueError, nx.NetworkXError) as error:
        problem = f"The graph is not valid: {error!r}."
        return Entry(place, None, as_texts(values), problem=problem)
    return Entry(place, graph, as_texts(values))
