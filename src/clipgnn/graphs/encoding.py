"""Encoding of named attributes as tensors, and back.

A category has a channel of its own (one-hot). Numbers are channels as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

import torch
from torch import Tensor

from clipgnn.errors import InvalidGraphError, InvalidParameterError, shown, suggestion
from clipgnn.graphs.attributes import (
    Attribute,
    Categories,
    Numbers,
    are_numbers,
    attribute_of,
)
from clipgnn.graphs.columns import WEIGHT, Column, GraphColumns, Kind, Part
from clipgnn.ops.pointers import pointers_from_counts


class ChosenAttributes(TypedDict, total=False):
    """Options of `AttributeEncoding.of`."""

    node_attributes: Iterable[str] | None
    edge_attributes: Iterable[str] | None
    graph_attributes: Iterable[str]
    kinds: Mapping[str, Kind] | None


@dataclass(frozen=True)
class AttributeEncoding:
    """How the attributes of nodes, edges and graphs are encoded.

    Attributes:
        nodes: attributes of nodes, in the order of their channels.
        edges: attributes of edges.
        graphs: attributes of graphs.
        weighted: whether edges have weights.
    """

    nodes: tuple[Attribute, ...] = ()
    edges: tuple[Attribute, ...] = ()
    graphs: tuple[Attribute, ...] = ()
    weighted: bool = False

    @classmethod
    def of(
        cls,
        columns: GraphColumns,
        *,
        node_attributes: Iterable[str] | None = None,
        edge_attributes: Iterable[str] | None = None,
        graph_attributes: Iterable[str] = (),
        kinds: Mapping[str, Kind] | None = None,
    ) -> "AttributeEncoding":
        """Determine the encoding of graphs.

        Strings and booleans are categories. Integers are categories if there are at most 64
        distinct ones, otherwise numbers. Floats, and lists of numbers of one length, are numbers.

        Args:
            columns: the graphs.
            node_attributes: attributes of nodes to use; None for all that are not identifiers.
            edge_attributes: attributes of edges to use; None for all. Numbers with the name
                "weight" are factors in sums over neighbors, and not attributes.
            graph_attributes: attributes of graphs to use.
            kinds: "category" or "number" by attribute, instead of the rule.

        Raises:
            InvalidGraphError: if an attribute is neither.
            InvalidParameterError: if there is no such attribute.
        """
        given = _as_kinds(kinds)
        if node_attributes is None:
            node_attributes = [own for own in columns.nodes if own not in columns.identifiers]
        nodes = _chosen(columns.nodes, node_attributes, "node_attributes")
        edges = _chosen(columns.edges, edge_attributes, "edge_attributes")
        graphs = _chosen(columns.graphs, graph_attributes, "graph_attributes")
        _check_kinds(given, {*nodes, *edges, *graphs})
        kinds = {**columns.kinds, **given}
        weighted = WEIGHT in edges and kinds.get(WEIGHT) is None and are_numbers(edges[WEIGHT])
        if weighted:
            del edges[WEIGHT]
        return cls(
            nodes=_attributes(columns, "nodes", nodes, kinds),
            edges=_attributes(columns, "edges", edges, kinds),
            graphs=_attributes(columns, "graphs", graphs, kinds),
            weighted=weighted,
        )

    @property
    def keeps_numbers(self) -> bool:
        """Whether encoded attributes are the numbers that they were: no attributes, or numbers."""
        attributes = (*self.nodes, *self.edges, *self.graphs)
        return all(
            isinstance(own, Numbers) or own.values == tuple(range(own.width)) for own in attributes
        )

    @property
    def in_channels(self) -> int:
        """Channels of nodes; 1 for nodes without attributes, which all have the same label."""
        return max(1, sum(own.width for own in self.nodes))

    def tensors(self, columns: GraphColumns) -> dict[str, Any]:
        """Encode graphs; the keys are fields of `PackedGraphs`.

        Values of categories that the encoding does not know are encoded as zeros, with a warning.

        Raises:
            InvalidGraphError: if an attribute is missing or is not a number where one is needed.
        """
        weight = Numbers(WEIGHT, 1).encode(columns, "edges")[:, 0] if self.weighted else None
        return {
            "x": self._nodes(columns),
            "in_channels": self.in_channels,
            "edge_index": torch.from_numpy(columns.edge_index),
            "node_pointers": pointers_from_counts(torch.from_numpy(columns.num_nodes)),
            "edge_pointers": pointers_from_counts(torch.from_numpy(columns.num_edges)),
            "edge_attr": _matrix(self.edges, columns, "edges"),
            "edge_weight": weight,
            "graph_attr": _matrix(self.graphs, columns, "graphs"),
            "encoding": self,
        }

    def check_known(self, columns: GraphColumns) -> None:
        """Check that every category of graphs is known.

        Raises:
            InvalidGraphError: if one is not.
        """
        parts: dict[Part, tuple[Attribute, ...]] = {
            "nodes": self.nodes,
            "edges": self.edges,
            "graphs": self.graphs,
        }
        for part, attributes in parts.items():
            for own in attributes:
                if isinstance(own, Categories):
                    own.check_known(columns, part)

    def as_json(self) -> dict[str, Any]:
        """Return values of JSON, from which `from_json` restores the encoding."""
        parts = {"nodes": self.nodes, "edges": self.edges, "graphs": self.graphs}
        described: dict[str, Any] = {
            part: [asdict(own) for own in attributes] for part, attributes in parts.items()
        }
        return {**described, "weighted": self.weighted}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "AttributeEncoding":
        """Restore an encoding.

        Raises:
            ValueError: if the values are not those of `as_json`.
        """
        try:
            parts = {
                part: tuple(_attribute_from(own) for own in values[part])
                for part in ("nodes", "edges", "graphs")
            }
            return cls(**parts, weighted=bool(values["weighted"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"they are not an encoding of attributes ({error!r})") from error

    def _nodes(self, columns: GraphColumns) -> Tensor:
        """Labels if the nodes have one category each, otherwise attributes."""
        if not self.nodes:
            return torch.zeros(int(columns.num_nodes.sum()), dtype=torch.int64)
        if len(self.nodes) == 1 and isinstance(self.nodes[0], Categories):
            codes = self.nodes[0].codes(columns, "nodes")
            if (codes >= 0).all():
                return torch.from_numpy(codes)
        matrix = _matrix(self.nodes, columns, "nodes")
        assert matrix is not None
        return matrix


def check_same_encoding(
    found: AttributeEncoding | None, expected: AttributeEncoding | None
) -> None:
    """Check that graphs have the encoding of the training graphs.

    Tensors without an encoding are accepted where an encoding would not change them.

    Raises:
        InvalidGraphError: if they have another one.
    """
    if any(own is not None and not own.keeps_numbers for own in (found, expected)):
        different = found != expected
    else:
        different = None not in (found, expected) and found != expected
    if different:
        raise InvalidGraphError(
            "The graphs must have the encoding of the training graphs. Got another one. Use it "
            "to read them: PackedGraphs.from_networkx(graphs, encoding=...)."
        )


def _attribute_from(values: Mapping[str, Any]) -> Attribute:
    if "width" in values:
        return Numbers(str(values["name"]), int(values["width"]))
    return Categories(str(values["name"]), tuple(values["values"]))


def _matrix(attributes: Sequence[Attribute], columns: GraphColumns, part: Part) -> Tensor | None:
    if not attributes:
        return None
    return torch.cat([own.encode(columns, part) for own in attributes], dim=1)


def _chosen(
    columns: Mapping[str, Column], names: Iterable[str] | None, parameter: str
) -> dict[str, Column]:
    if names is None:
        return dict(columns)
    if isinstance(names, str):
        raise InvalidParameterError(
            f"{parameter} must be a list of names. Got {shown(names)}. Use [{names!r}].",
            parameter=parameter,
        )
    if not isinstance(names, Iterable):
        raise InvalidParameterError(
            f"{parameter} must be a list of names. Got {shown(names)}.", parameter=parameter
        )
    chosen = {}
    for name in names:
        if name not in columns:
            raise InvalidParameterError(
                f"{parameter} must be names of attributes of the graphs. Got {shown(name)}."
                f"{suggestion(name, columns)}",
                parameter=parameter,
            )
        chosen[name] = columns[name]
    return chosen


def _as_kinds(kinds: Mapping[str, Kind] | None) -> dict[str, Kind]:
    if not isinstance(kinds, Mapping | None):
        raise InvalidParameterError(
            "kinds must be a dictionary of 'category' or 'number' by attribute. Got "
            f"{shown(kinds)}.",
            parameter="kinds",
        )
    return dict(kinds or {})


def _check_kinds(kinds: Mapping[str, Kind], names: Iterable[str]) -> None:
    for name, kind in kinds.items():
        if name not in names:
            raise InvalidParameterError(
                f"kinds must have names of attributes that are used. Got {shown(name)}."
                f"{suggestion(name, names)}",
                parameter="kinds",
            )
        if kind not in ("category", "number"):
            raise InvalidParameterError(
                f"kinds must be 'category' or 'number'. Got {shown(kind)} for {name!r}.",
                parameter="kinds",
            )


def _attributes(
    columns: GraphColumns, part: Part, names: Iterable[str], kinds: Mapping[str, Kind]
) -> tuple[Attribute, ...]:
    return tuple(attribute_of(columns, part, name, kinds.get(name)) for name in names)
