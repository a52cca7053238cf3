"""Graphs of networkx."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx

from clipgnn.graphs.columns import WEIGHT, ColumnBuilder, GraphColumns
from clipgnn.graphs.formats.listing import listed
from clipgnn.graphs.formats.records import GraphRecord

if TYPE_CHECKING:
    Graph: TypeAlias = nx.Graph[Any]


def read(graphs: Iterable["Graph"]) -> GraphColumns:
    """Read nodes in the order of each graph, edges, and attributes of nodes, edges and graphs.

    Raises:
        InvalidGraphError: if they are not graphs of networkx.
    """
    builder = ColumnBuilder()
    for graph in listed(graphs, nx.Graph, "graphs of networkx"):
        number = {node: place for place, node in enumerate(graph)}
        builder.add_graph(
            (attributes for _, attributes in graph.nodes(data=True)),
            (
                (number[source], number[target], attributes)
                for source, target, attributes in graph.edges(data=True)
            ),
            graph.graph,
            directed=graph.is_directed(),
        )
    return builder.columns()


def write(records: Iterable[GraphRecord]) -> Iterator["Graph"]:
    """Write graphs: undirected ones as `Graph`, with parallel edges as `MultiGraph`."""
    for record in records:
        graph = _kind(record)(**record.attributes)
        graph.add_nodes_from(enumerate(record.nodes))
        graph.add_edges_from(_edge(*edge) for edge in record.edges)
        yield graph


def _kind(record: GraphRecord) -> type["Graph"]:
    pairs = [(source, target) for source, target, _, _ in record.edges]
    if not record.directed:
        pairs = [(min(pair), max(pair)) for pair in pairs]
    parallel = len(set(pairs)) < len(pairs)
    if record.directed:
        return nx.MultiDiGraph if parallel else nx.DiGraph
    return nx.MultiGraph if parallel else nx.Graph


def _edge(
    source: int, target: int, weight: float | None, attributes: Mapping[str, Any]
) -> tuple[int, int, dict[str, Any]]:
    return source, target, dict(attributes) | ({} if weight is None else {WEIGHT: weight})
