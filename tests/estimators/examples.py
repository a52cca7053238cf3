"""Small sets of graphs that estimators can learn."""

from typing import TYPE_CHECKING, Any

import networkx as nx

if TYPE_CHECKING:
    Graph = nx.Graph[Any]


def rings_and_chains(number: int = 24) -> tuple[list["Graph"], list[str]]:
    """Graphs of two classes that message passing distinguishes, with letters as attributes."""
    graphs, classes = [], []
    for index in range(number):
        size = 4 + index % 5
        graph: Graph = nx.cycle_graph(size) if index % 2 else nx.path_graph(size)
        nx.set_node_attributes(graph, {node: "ab"[node % 2] for node in graph}, "letter")
        graphs.append(graph)
        classes.append("ring" if index % 2 else "chain")
    return graphs, classes


FAST: dict[str, Any] = {
    "epochs": 28,
    "num_colorings": 2,
    "num_layers": 1,
    "hidden_channels": 8,
    "batch_size": 8,
    "learning_rate": 0.02,
    "random_state": 0,
}
"""Parameters with which they are learned in a second."""
