"""Graphs of a data set with decoded attributes, one by one, from which formats are written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from clipgnn.graphs.attributes import Attribute, Categories, decode
from clipgnn.graphs.encoding import AttributeEncoding

if TYPE_CHECKING:
    from clipgnn.graphs.packed import PackedGraphs

Edge = tuple[int, int, float | None, Mapping[str, Any]]
"""Source, target, weight (None without weights) and attributes of an edge."""


@dataclass(frozen=True)
class GraphRecord:
    """A graph with named attributes.

    Attributes:
        nodes: attributes of each node.
        edges: the edges; those of undirected graphs once.
        attributes: attributes of the graph.
        directed: whether the edges have a direction.
    """

    nodes: Sequence[Mapping[str, Any]]
    edges: Sequence[Edge]
    attributes: Mapping[str, Any]
    directed: bool


def records(graphs: "PackedGraphs") -> Iterator[GraphRecord]:
    """Decode the graphs of a data set.

    Without an encoding, labels of nodes have the name "label" (unless there is only one), and other
    attributes the names "x", "edge_attr" and "graph_attr".
    """
    encoding = graphs.encoding or AttributeEncoding()
    nodes = _rows(_node_columns(graphs, encoding.nodes), graphs.x.shape[0])
    of_edges = _columns(graphs.edge_attr, "edge_attr", encoding.edges)
    edges = _rows(of_edges, graphs.edge_index.shape[1])
    of_graphs = _columns(graphs.graph_attr, "graph_attr", encoding.graphs)
    attributes = _rows(of_graphs, len(graphs))
    sources, targets = graphs.edge_index.tolist()
    weights = [None] * len(sources) if graphs.edge_weight is None else graphs.edge_weight.tolist()
    node_pointers, edge_pointers = graphs.node_pointers.tolist(), graphs.edge_pointers.tolist()
    for number in range(len(graphs)):
        own = range(edge_pointers[number], edge_pointers[number + 1])
        yield GraphRecord(
            nodes=nodes[node_pointers[number] : node_pointers[number + 1]],
            edges=[
                (sources[edge], targets[edge], weights[edge], edges[edge])
                for edge in own
                if graphs.directed or sources[edge] <= targets[edge]
            ],
            attributes=attributes[number],
            directed=graphs.directed,
        )


def _node_columns(graphs: "PackedGraphs", attributes: Sequence[Attribute]) -> dict[str, list[Any]]:
    if graphs.x.dim() == 2:
        return _columns(graphs.x, "x", attributes)
    labels = graphs.x.tolist()
    if attributes:
        [own] = attributes
        assert isinstance(own, Categories)
        return {own.name: [own.values[label] for label in labels]}
    return {} if graphs.in_channels == 1 else {"label": labels}


def _columns(
    rows: Tensor | None, name: str, attributes: Sequence[Attribute]
) -> dict[str, list[Any]]:
    if rows is None:
        return {}
    return decode(attributes, rows) if attributes else {name: rows.tolist()}


def _rows(columns: Mapping[str, Sequence[Any]], number: int) -> list[dict[str, Any]]:
    """Convert columns to a dictionary for each row, without values that are missing."""
    rows: list[dict[str, Any]] = [{} for _ in range(number)]
    for name, column in columns.items():
        for row, value in zip(rows, column, strict=True):
            if value is not None:
                row[name] = value
    return rows
