"""Two graphs as one data set, with attributes that can be compared."""

from collections.abc import Sequence

import networkx as nx

from clipgnn.comparison.inputs import GivenGraph, Graph
from clipgnn.errors import InvalidGraphError, InvalidParameterError, shown
from clipgnn.graphs.columns import WEIGHT
from clipgnn.graphs.packed import PackedGraphs


def as_pair(
    first: GivenGraph, second: GivenGraph, node_attributes: Sequence[str] | None = None
) -> tuple[PackedGraphs, list[str]]:
    """Encode two graphs together, so that equal attributes have equal channels.

    Args:
        first: one graph.
        second: the other one.
        node_attributes: names of the attributes to use; all by default.

    Returns:
        Both graphs, and sentences about what was not used.

    Raises:
        InvalidGraphError: if a graph is directed, or has weights or parallel edges.
        InvalidParameterError: if there are no such attributes.
    """
    plain = [_plain(own) for own in (first, second)]
    if node_attributes is None:
        _check_same_attributes((first, second), plain)
    graphs = PackedGraphs.from_networkx(
        plain, node_attributes=node_attributes, edge_attributes=[], graph_attributes=[]
    )
    ignored = sorted(
        {
            str(name)
            for given in (first, second)
            for _, _, data in given.graph.edges(data=True)
            for name in data
            if name != WEIGHT
        }
    )
    notes = [f"Attributes of edges are not compared: {', '.join(ignored)}."] if ignored else []
    return graphs, notes


def _plain(given: GivenGraph) -> Graph:
    """Copy a graph without the attributes of its edges.

    Raises:
        InvalidGraphError: if edges have more than their two ends.
    """
    graph = given.graph
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
    """Check that both graphs have the same attributes of nodes, or neither has any."""
    one, other = (
        {str(name) for _, data in graph.nodes(data=True) for name in data} for graph in graphs
    )
    if one != other:
        missing = sorted(one ^ other)[0]
        owner = given[0] if missing in one else given[1]
        raise InvalidParameterError(
            "node_attributes must be names that both graphs have, or empty for none. Only "
            f"{owner.name} has {missing!r}.",
            parameter="node_attributes",
        )
