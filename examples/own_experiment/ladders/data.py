"""A data set: circular ladders and Möbius ladders, which message passing cannot distinguish."""

import networkx as nx


def load() -> tuple[list[nx.Graph], list[int]]:
    """Return the graphs and their classes; every call returns the same ones."""
    graphs, classes = [], []
    for rungs in (3, 4, 5):
        for _ in range(10):
            graphs.append(nx.circular_ladder_graph(rungs))
            # The ladder with a half turn: a ring of 2 * rungs nodes, opposite ones connected.
            graphs.append(nx.circulant_graph(2 * rungs, [1, rungs]))
            classes += [0, 1]
    return graphs, classes
