"""Graphs with relabeled copies, for schemes whose colorings do not depend on the order of nodes."""

import itertools
import random
from typing import TYPE_CHECKING, Any

import networkx as nx
import torch
from torch import Tensor

from clipgnn.coloring.labeling import canonical_colors
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs

if TYPE_CHECKING:
    Graph = nx.Graph[Any]  # generic in its type stubs only
else:
    Graph = nx.Graph


Given = tuple[list[int], list[tuple[int, int]], list[float], list[float]]


def atlas(largest: int) -> PackedGraphs:
    """All graphs of one to `largest` nodes, without isomorphic copies."""
    graphs = [graph for graph in nx.graph_atlas_g() if 0 < len(graph) <= largest]
    return PackedGraphs.from_networkx(graphs)


def random_graph(generator: random.Random, most_nodes: int = 6) -> Given:
    """Labels, edges, weights and attributes of a directed multigraph with loops."""
    nodes = generator.randint(1, most_nodes)
    pairs = [
        (generator.randrange(nodes), generator.randrange(nodes))
        for _ in range(generator.randint(0, 10))
    ]
    if generator.random() < 0.5:
        pairs += [(target, source) for source, target in pairs]
    values = [[generator.choice([0.5, 1.0, 2.0]) for _ in pairs] for _ in range(2)]
    labels = [generator.randint(0, 1) for _ in range(nodes)]
    return labels, pairs, values[0], values[1]


def batch_of(graphs: list[Given], *, weighted: bool, attributes: bool) -> ExactBatch:
    first = [0, *itertools.accumulate(len(labels) for labels, *_ in graphs)]
    edges = [
        (first[number] + source, first[number] + target)
        for number, (_, pairs, _, _) in enumerate(graphs)
        for source, target in pairs
    ]
    weight = torch.tensor([value for *_, own, _ in graphs for value in own])
    attr = torch.tensor([value for *_, own in graphs for value in own])
    return ExactBatch.from_tensors(
        torch.tensor([label for labels, *_ in graphs for label in labels]),
        torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t(),
        torch.tensor([number for number, own in enumerate(graphs) for _ in own[0]]),
        weight.reshape(-1) if weighted else None,
        attr.reshape(-1, 1) if attributes else None,
        batch_size=len(graphs),
    )


def relabeled(batch: ExactBatch, seed: int) -> tuple[ExactBatch, Tensor]:
    """Renumber the nodes of each graph, and shuffle the edges.

    Returns:
        The new batch, and the new number of each node.
    """
    generator = torch.Generator().manual_seed(seed)
    nodes = batch.num_nodes
    shuffled = torch.randperm(nodes, generator=generator)
    order = shuffled[torch.argsort(batch.graph_of_node[shuffled], stable=True)]
    number = torch.empty_like(order)
    number[order] = torch.arange(nodes)
    edges = torch.randperm(batch.edges.num_edges, generator=generator)
    weight, attr = batch.edges.weight, batch.edges.attr
    renumbered = ExactBatch.from_tensors(
        batch.x[order],
        number[batch.edge_index][:, edges],
        batch.graph_of_node,
        None if weight is None else weight[edges],
        None if attr is None else attr[edges],
        batch_size=batch.num_graphs,
    )
    return renumbered, number


def colored_graphs(batch: ExactBatch, colors: Tensor) -> list[tuple[Any, ...]]:
    """Each graph with its nodes named by attributes and colors: equal for equal colored graphs."""
    names = [
        (*row, color)
        for row, color in zip(
            batch.x.reshape(batch.num_nodes, -1).tolist(), colors.tolist(), strict=True
        )
    ]
    nodes: list[list[Any]] = [[] for _ in range(batch.num_graphs)]
    edges: list[list[Any]] = [[] for _ in range(batch.num_graphs)]
    for name, graph in zip(names, batch.graph_of_node.tolist(), strict=True):
        nodes[graph].append(name)
    values = []
    if batch.edges.weight is not None:
        values.append(batch.edges.weight[:, None])
    if batch.edges.attr is not None:
        values.append(batch.edges.attr)
    rows = torch.cat(values, 1).tolist() if values else [[]] * batch.edges.num_edges
    for (source, target), row in zip(batch.edge_index.t().tolist(), rows, strict=True):
        graph = int(batch.graph_of_node[source])
        edges[graph].append((names[source], names[target], tuple(row)))
    return [
        (tuple(sorted(own)), tuple(sorted(between)))
        for own, between in zip(nodes, edges, strict=True)
    ]


def canonical_graphs(batch: ExactBatch) -> list[tuple[Any, ...]]:
    """Colored graphs by canonical colorings, which those of relabeled copies must equal."""
    expected = colored_graphs(batch, canonical_colors(batch))
    for seed in range(3):
        other, _ = relabeled(batch, seed)
        assert colored_graphs(other, canonical_colors(other)) == expected
    return expected
