"""Graphs with relabeled copies, for schemes whose colorings do not depend on the order of nodes."""

from typing import TYPE_CHECKING, Any

import networkx as nx
import torch
from torch import Tensor

from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs

if TYPE_CHECKING:
    Graph = nx.Graph[Any]  # generic in its type stubs only
else:
    Graph = nx.Graph


def atlas(largest: int) -> PackedGraphs:
    """All graphs of one to `largest` nodes, without isomorphic copies."""
    graphs = [graph for graph in nx.graph_atlas_g() if 0 < len(graph) <= largest]
    return PackedGraphs.from_networkx(graphs)


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
