"""Canonical colorings: equal for isomorphic graphs, in any order of their nodes."""

import torch
from torch import Tensor

from clipgnn.coloring.groups import Partition
from clipgnn.errors import MissingDependencyError
from clipgnn.graphs.exact import ExactBatch
from clipgnn.ops.numbering import number_rows
from clipgnn.ops.pointers import inverse_order


def canonical_colors(batch: ExactBatch) -> Tensor:
    """Compute the canonical coloring of each graph of a batch, `[nodes]`.

    Nodes with identical attributes have distinct colors from 0. Two graphs are isomorphic if and
    only if a bijection of their nodes keeps attributes, colors and edges.

    Args:
        batch: undirected graphs without parallel edges.

    Raises:
        MissingDependencyError: if igraph is not installed.
    """
    attributes = number_rows(batch.x)
    counts = batch.nodes.counts
    source, target = batch.edge_index
    position = torch.empty_like(attributes)
    for start, count in zip(batch.nodes.starts.tolist(), counts.tolist(), strict=True):
        own = slice(start, start + count)
        inside = (source >= start) & (source < start + count)
        edges = torch.stack([source[inside], target[inside]]) - start
        position[own] = _canonical_positions(edges, attributes[own])
    partition = Partition.of(attributes, batch.graph_of_node, batch.num_graphs)
    order = torch.argsort(partition.groups * position.numel() + position)
    return inverse_order(order) - partition.starts


def _canonical_positions(edges: Tensor, attributes: Tensor) -> Tensor:
    """Compute the position of each node of a graph in its canonical form."""
    try:
        import igraph
    except ImportError as error:
        raise MissingDependencyError(
            "Canonical colorings need igraph, which is not installed. Install it with "
            "pip install 'clipgnn[igraph]'."
        ) from error
    loops = torch.zeros_like(attributes)
    loops[edges[0][edges[0] == edges[1]]] = 1
    pairs = edges[:, edges[0] < edges[1]].t().tolist()
    graph = igraph.Graph(attributes.numel(), pairs)
    graph.vs["node"] = range(attributes.numel())
    kinds = torch.unique(2 * attributes + loops, return_inverse=True)[1]
    # Releases of igraph differ in the direction of the permutation; the order of the permuted
    # vertices does not depend on it.
    order = graph.permute_vertices(graph.canonical_permutation(color=kinds.tolist())).vs["node"]
    return torch.argsort(torch.tensor(order))


def are_isomorphic(batch: ExactBatch, colors: Tensor) -> bool:
    """Compare the two graphs of a batch by their canonical colors.

    A node is given by its attributes and its color, and an edge by its two nodes.
    """
    attributes = number_rows(batch.x)
    node = attributes * (int(colors.max()) + 1) + colors
    source, target = batch.edge_index
    edges = node[source] * (int(node.max()) + 1) + node[target]
    first = batch.graph_of_node == 0
    of_first = first[source]
    return torch.equal(node[first].sort()[0], node[~first].sort()[0]) and torch.equal(
        edges[of_first].sort()[0], edges[~of_first].sort()[0]
    )
