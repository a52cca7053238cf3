"""Graphs with named attributes, as flat columns: what every format is read into.

A column has one value for each node, edge or graph, of any type. `encoding` converts columns to the
tensors of a data set.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clipgnn.errors import InvalidGraphError, shown

Column = Sequence[Any] | NDArray[Any]
"""A value for each row; None where it is missing. An array can have several numbers in a row."""

Kind = Literal["category", "number"]
"""How an attribute is encoded."""

Part = Literal["nodes", "edges", "graphs"]
"""What a row of a column belongs to."""

WEIGHT = "weight"
"""Attribute of edges that is a factor in sums over neighbors, if its values are numbers."""


@dataclass(frozen=True)
class GraphColumns:
    """Graphs as concatenated columns.

    Attributes:
        num_nodes: `[graphs]`, number of nodes of each graph.
        num_edges: `[graphs]`, number of edges of each graph.
        edge_index: `[2, edges]`, sources and targets, numbered within their graph. Undirected edges
            are stored in both directions.
        nodes: attributes of nodes by name.
        edges: attributes of edges by name.
        graphs: attributes of graphs by name.
        kinds: "category" or "number" by attribute, where the format decides it.
        constants: attributes of edges that have one value, which are used only by an encoding that
            has them, such as the weights of a matrix of zeros and ones.
        identifiers: attributes of nodes that name them, which are used only if they are chosen:
            a network must not depend on the names of nodes.
        names: names of the graphs in messages; their numbers by default.
    """

    num_nodes: NDArray[np.int64]
    num_edges: NDArray[np.int64]
    edge_index: NDArray[np.int64]
    nodes: Mapping[str, Column]
    edges: Mapping[str, Column]
    graphs: Mapping[str, Column]
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    identifiers: frozenset[str] = frozenset()
    names: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.num_nodes)

    def of(self, part: Part) -> Mapping[str, Column]:
        """The attributes of nodes, edges or graphs."""
        return {"nodes": self.nodes, "edges": self.edges, "graphs": self.graphs}[part]

    def with_attributes(self, attributes: Mapping[Part, Mapping[str, Column]]) -> "GraphColumns":
        """The same graphs with other attributes of nodes, edges and graphs."""
        return replace(
            self,
            nodes=attributes["nodes"],
            edges=attributes["edges"],
            graphs=attributes["graphs"],
        )

    def count(self, part: Part) -> int:
        """Number of nodes, edges or graphs."""
        if part == "graphs":
            return len(self)
        return int((self.num_nodes if part == "nodes" else self.num_edges).sum())

    def place(self, part: Part, row: int) -> str:
        """Describe a row of a column, such as "graph 3, node 0"."""
        if part == "graphs":
            return self._name(row)
        counts = self.num_nodes if part == "nodes" else self.num_edges
        ends = counts.cumsum()
        graph = int(np.searchsorted(ends, row, side="right"))
        return f"{self._name(graph)}, {part[:-1]} {row - int(ends[graph] - counts[graph])}"

    def _name(self, graph: int) -> str:
        return self.names[graph] if self.names else f"graph {graph}"


@dataclass
class ColumnBuilder:
    """Columns that are filled graph by graph, from dictionaries of attributes.

    A row that does not have an attribute gets the value None.

    Attributes:
        num_nodes: number of nodes of each graph so far.
        num_edges: number of edges of each graph so far.
        sources: sources of all edges so far.
        targets: targets of all edges so far.
    """

    num_nodes: list[int] = field(default_factory=list)
    num_edges: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    _nodes: "_Rows" = field(default_factory=lambda: _Rows())
    _edges: "_Rows" = field(default_factory=lambda: _Rows())
    _graphs: "_Rows" = field(default_factory=lambda: _Rows())

    def add_graph(
        self,
        nodes: Iterable[Mapping[Any, Any]],
        edges: Iterable[tuple[int, int, Mapping[Any, Any]]],
        attributes: Mapping[Any, Any],
        *,
        directed: bool,
    ) -> None:
        """Add a graph.

        Args:
            nodes: attributes of each node.
            edges: numbers of the two nodes of each edge, and its attributes. An undirected edge is
                given once.
            attributes: attributes of the graph.
            directed: whether the edges have a direction.
        """
        before = len(self._nodes), len(self._edges)
        for own in nodes:
            self._nodes.add(own)
        for source, target, own in edges:
            self._add_edge(source, target, own)
            if not directed and source != target:
                self._add_edge(target, source, own)
        self._graphs.add(attributes)
        self.num_nodes.append(len(self._nodes) - before[0])
        self.num_edges.append(len(self._edges) - before[1])

    def _add_edge(self, source: int, target: int, attributes: Mapping[Any, Any]) -> None:
        self.sources.append(source)
        self.targets.append(target)
        self._edges.add(attributes)

    def columns(self) -> GraphColumns:
        """Return the columns of all graphs."""
        return GraphColumns(
            num_nodes=np.array(self.num_nodes, dtype=np.int64),
            num_edges=np.array(self.num_edges, dtype=np.int64),
            edge_index=np.array([self.sources, self.targets], dtype=np.int64),
            nodes=self._nodes.columns(),
            edges=self._edges.columns(),
            graphs=self._graphs.columns(),
        )


class _Rows:
    """Columns of rows that are dictionaries."""

    def __init__(self) -> None:
        self._number = 0
        self._columns: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        return self._number

    def add(self, row: Mapping[Any, Any]) -> None:
        """Add a row."""
        for name, value in row.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[_checked_name(name)] = []
            if len(column) < self._number:
                column.extend([None] * (self._number - len(column)))
            column.append(value)
        self._number += 1

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns, sorted by name."""
        return {
            name: column + [None] * (self._number - len(column))
            for name, column in sorted(self._columns.items())
        }


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidGraphError(
            f"Names of attributes must be strings. Got {shown(name)}. Rename the attribute."
        )
    return name
