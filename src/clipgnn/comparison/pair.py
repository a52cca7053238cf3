"""Two graphs as one data set, with attributes that can be compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
import torch

from clipgnn.comparison.inputs import GivenGraph, Graph
from clipgnn.errors import InvalidGraphError, InvalidParameterError, shown
from clipgnn.graphs.attributes import Numbers
from clipgnn.graphs.columns import WEIGHT
from clipgnn.graphs.encoding import AttributeEncoding
from clipgnn.graphs.formats import networkx_graphs
from clipgnn.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class Pair:
    """Two graphs that can be compared.

    Attributes:
        graphs: the graphs.
        unused: names of the attributes of "edges" and "nodes" that are not compared.
        notes: sentences about what is not compared, or only in part.
    """

    graphs: PackedGraphs
    unused: Mapping[str, Sequence[str]]
    notes: Sequence[str]


def as_pair(
    first: GivenGraph, second: GivenGraph, node_attributes: Sequence[str] | None = None
) -> Pair:
    """Encode two graphs together, so that equal attributes have equal channels.

    Args:
        first: one graph.
        second: the other one.
        node_attributes: names of the attributes to use; all by default.

    Raises:
        InvalidGraphError: if a graph has no nodes, is directed, or has weights or parallel edges.
        InvalidParameterError: if there are no such attributes.
    """
    given = first, second
    plain = [_plain(own) for own in given]
    if node_attributes is None:
        _check_same_attributes(given, plain)
    columns = replace(networkx_graphs.read(plain), names=[own.name for own in given])
    graphs = PackedGraphs.from_columns(
        columns, node_attributes=node_attributes, edge_attributes=[], graph_attributes=[]
    )
    encoding = graphs.encoding or AttributeEncoding()
    used = {own.name for own in encoding.nodes}
    edges = {name for own in given for _, _, data in own.graph.edges(data=True) for name in data}
    unused = {
        "edges": _sorted(edges - {WEIGHT}),
        "nodes": _sorted(name for own in plain for name in _attributes(own) if name not in used),
    }
    notes = [
        f"Attributes of {part} are not compared: {', '.join(names)}."
        for part, names in unused.items()
        if names
    ]
    numbers = [own.name for own in encoding.nodes if isinstance(own, Numbers)]
    equal = next(filter(None, (_rounded_alike(plain, name) for name in numbers)), None)
    if equal is not None:
        notes.append(
            "Numbers are compared in single precision, as networks read them: "
            f"{equal[0]!r} and {equal[1]!r} are equal."
        )
    return Pair(graphs, {part: names for part, names in unused.items() if names}, notes)


def _sorted(names: Iterable[object]) -> list[str]:
    return sorted({str(name) for name in names})


def _attributes(graph: Graph) -> set[Any]:
    return {name for _, data in graph.nodes(data=True) for name in data}


def _rounded_alike(graphs: Sequence[Graph], name: str) -> tuple[float, float] | None:
    """Return two different numbers of an attribute that are equal in a data set."""
    known: dict[tuple[int, float], float] = {}
    for graph in graphs:
        for _, data in graph.nodes(data=True):
            numbers = np.array(data[name], dtype=np.float64).reshape(-1)
            rounded = torch.from_numpy(numbers).to(torch.get_default_dtype()).tolist()
            for place, (number, own) in enumerate(zip(numbers.tolist(), rounded, strict=True)):
                other = known.setdefault((place, own), number)
                if other != number:
                    return other, number
    return None


def _plain(given: GivenGraph) -> Graph:
    """Copy a graph without the attributes of its edges.

    Raises:
        InvalidGraphError: if there are no nodes, or edges have more than their two ends.
    """
    graph = given.graph
    if len(graph) == 0:
        raise InvalidGraphError(f"A graph must have at least one node. {given.name} has none.")
    if graph.is_directed():
        raise _unsupported(given, "be undirected", "directed edges", "Remove the directions")
    weights = [data.get(WEIGHT, 1) for _, _, data in graph.edges(data=True)]
    other = next((weight for weight in weights if weight != 1), 1)
    if other != 1:
        got = f"the weight {shown(other)}"
        raise _unsupported(given, "have no weights of edges", got, "Remove the weights")
    plain: Graph = nx.Graph()
    plain.add_nodes_from(graph.nodes(data=True))
    plain.add_edges_from(graph.edges())
    if plain.number_of_edges() < graph.number_of_edges():
        got = "two edges between the same nodes"
        raise _unsupported(given, "have no parallel edges", got, "Keep one of them")
    return plain


def _unsupported(given: GivenGraph, requirement: str, got: str, fix: str) -> InvalidGraphError:
    return InvalidGraphError(
        f"A graph must {requirement} to be compared. {given.name} has {got}. {fix} first."
    )


def _check_same_attributes(given: Sequence[GivenGraph], graphs: Sequence[Graph]) -> None:
    """Check that both graphs have the same attributes of nodes, or neither has any.

    An attribute that a graph has at some of its nodes only, such as the configuration of atoms, can
    be missing at all nodes of the other one: that it is missing is one of its values.
    """
    names = [_attributes(graph) for graph in graphs]
    for owner, graph, own, other in zip(given, graphs, names, reversed(names), strict=True):
        always = {name for name in own if all(name in data for _, data in graph.nodes(data=True))}
        if missing := _sorted(always - other):
            both = _sorted(own & other)
            fix = (
                f"Choose among {', '.join(both)}."
                if both
                else "Compare the graphs without attributes."
            )
            raise InvalidParameterError(
                "node_attributes must be names that both graphs have, or empty for none. Only "
                f"{owner.name} has {missing[0]!r}. {fix}",
                parameter="node_attributes",
            )
