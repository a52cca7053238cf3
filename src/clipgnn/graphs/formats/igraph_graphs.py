"""Graphs of igraph."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from clipgnn.errors import MissingDependencyError
from clipgnn.graphs.columns import WEIGHT, ColumnBuilder, GraphColumns
from clipgnn.graphs.formats.listing import listed
from clipgnn.graphs.formats.records import GraphRecord

IDENTIFIERS = frozenset(["name", "id", "_nx_name"])
"""Attributes in which igraph stores names of vertices: its own, of files, and of networkx."""


def read(graphs: Iterable[Any]) -> GraphColumns:
    """Read vertices, edges, and attributes of vertices, edges and graphs.

    Names of vertices are used only if they are chosen as attributes, like nodes of networkx.

    Raises:
        InvalidGraphError: if they are not graphs of igraph.
        MissingDependencyError: if igraph is not installed.
    """
    igraph = _igraph()
    builder = ColumnBuilder()
    for graph in listed(graphs, igraph.Graph, "graphs of igraph"):
        builder.add_graph(
            (vertex.attributes() for vertex in graph.vs),
            ((*edge.tuple, edge.attributes()) for edge in graph.es),
            {name: graph[name] for name in graph.attributes()},
            directed=graph.is_directed(),
        )
    return replace(builder.columns(), identifiers=IDENTIFIERS)


def write(graphs: Iterable[GraphRecord]) -> Iterator[Any]:
    """Write graphs. A vertex or an edge without an attribute has the value None."""
    igraph = _igraph()
    for graph in graphs:
        rows = [
            dict(attributes) | ({} if weight is None else {WEIGHT: weight})
            for _, _, weight, attributes in graph.edges
        ]
        yield igraph.Graph(
            n=len(graph.nodes),
            edges=[edge[:2] for edge in graph.edges],
            directed=graph.directed,
            graph_attrs=dict(graph.attributes),
            vertex_attrs=_columns(graph.nodes),
            edge_attrs=_columns(rows),
        )


def _columns(rows: Any) -> dict[str, list[Any]]:
    names = sorted({name for row in rows for name in row})
    return {name: [row.get(name) for row in rows] for name in names}


def _igraph() -> Any:
    try:
        import igraph
    except ImportError as error:
        raise MissingDependencyError(
            "Graphs of igraph need the package igraph. Install it: pip install 'clipgnn[igraph]'."
        ) from error
    return igraph
