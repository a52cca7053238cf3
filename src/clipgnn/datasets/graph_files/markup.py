"""Folders of GraphML or GML files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx

from clipgnn.datasets.graph_files.entries import Entry, as_texts, parsed
from clipgnn.errors import InvalidGraphError, shown

ENDINGS = (".graphml", ".gml")
"""Endings of such files."""

READS_FOLDERS = True
"""Whether a folder of files is a set of graphs."""

_NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"


def entries(path: Path) -> Iterator[Entry]:
    """Read a file, or all files of a folder, sorted by name."""
    files = [path]
    if path.is_dir():
        chosen = (own for own in path.iterdir() if own.suffix.lower() in ENDINGS)
        files = sorted(own for own in chosen if own.is_file())
    for file in files:
        given = {"file": file.name}
        yield parsed(file.name, file, _read, given=given, requirement="GraphML or GML")


def _read(file: Path) -> tuple[Any, dict[str, str]]:
    with file.open("rb") as opened:
        is_xml = opened.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    graph: Any = _read_graphml(file) if is_xml else _read_gml(file)
    return graph, as_texts(graph.graph)


def _read_graphml(file: Path) -> Any:
    root = ElementTree.parse(file).getroot()
    graphs = [own for own in root.iter() if own.tag.removeprefix(_NAMESPACE) == "graph"]
    if len(graphs) != 1:
        raise InvalidGraphError(f"The file must have one graph. Got {len(graphs)}.")
    known = {own.get("id") for own in root.iter() if own.tag.removeprefix(_NAMESPACE) == "node"}
    for edge in root.iter():
        if edge.tag.removeprefix(_NAMESPACE) == "edge":
            for end in (edge.get("source"), edge.get("target")):
                if end not in known:
                    raise InvalidGraphError(
                        f"Edges must be between nodes of the graph. Got {shown(end)}, which is "
                        "none."
                    )
    return nx.read_graphml(file)


def _read_gml(file: Path) -> Any:
    """Read GML without the names of nodes, `label`, which would tell all nodes apart."""
    graph = nx.read_gml(file, label="id")
    for _, attributes in graph.nodes(data=True):
        attributes.pop("label", None)
    return graph
