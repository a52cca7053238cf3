"""Files in GIN text, with graphs in pairs as those of EXP."""

import random
from collections.abc import Sequence
from pathlib import Path

import networkx as nx

CORES = (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))


def planar_pair(rng: random.Random) -> list[nx.Graph]:
    """Make two planar graphs that 1-WL does not distinguish.

    A node of a random tree is joined to all nodes of a hexagon, or to those of two triangles, which
    have the tag 1.
    """
    tree = nx.random_labeled_tree(rng.randint(6, 10), seed=rng.randrange(2**31))
    pair = []
    for core in CORES:
        graph = nx.disjoint_union(core, tree)
        graph.add_edges_from((node, 6) for node in range(6))
        nx.set_node_attributes(graph, {node: int(node < 6) for node in graph}, "tag")
        order = rng.sample(range(len(graph)), len(graph))
        pair.append(nx.relabel_nodes(graph, dict(zip(graph, order, strict=True))))
    return pair


def gin_text(graphs: Sequence[nx.Graph], labels: Sequence[int]) -> str:
    """Write graphs with the nodes 0, 1, …, their tags and their classes."""
    lines = [f"{len(graphs)}"]
    for graph, label in zip(graphs, labels, strict=True):
        lines.append(f"{len(graph)} {label}")
        for node in range(len(graph)):
            words = [graph.nodes[node].get("tag", 0), graph.degree[node], *graph[node]]
            lines.append(" ".join(map(str, words)))
    return "\n".join(lines) + "\n"


def write_pairs(path: Path, number: int) -> None:
    """Write pairs of `planar_pair`; the graphs with a hexagon have the class 1.

    No two graphs are isomorphic, so that no test graph is known from training: 1-WL, which the hash
    computes, distinguishes all trees.
    """
    rng = random.Random(0)
    pairs: dict[str, list[nx.Graph]] = {}
    while len(pairs) < number:
        pair = planar_pair(rng)
        form = nx.weisfeiler_lehman_graph_hash(pair[0], node_attr="tag", iterations=len(pair[0]))
        pairs.setdefault(form, pair)
    graphs = [graph for pair in pairs.values() for graph in pair]
    path.write_text(gin_text(graphs, [1, 0] * number), encoding="utf-8")
