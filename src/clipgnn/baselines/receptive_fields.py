"""Receptive fields of PATCHY-SAN: ordered neighborhoods of selected nodes."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import MissingDependencyError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.numbering import number_rows
from clipgnn.ops.refinement import refine_colors

NeighborSets = Sequence[frozenset[int]]
"""The neighbors of each node of a graph."""


def receptive_fields(
    graphs: PackedGraphs, width: int, field_size: int
) -> Int[Tensor, "graphs width field_size"]:
    """Compute the nodes of each field of each graph, as indices into the data set.

    Results are cached by the content of the graphs. Direction of edges, self-loops and duplicate
    edges have no effect.

    Args:
        graphs: the data set.
        width: number of fields of a graph.
        field_size: number of nodes of a field.

    Returns:
        Node indices; the number of nodes of the data set stands for padding.

    Raises:
        MissingDependencyError: if igraph is not installed.
    """
    content = _Content(
        *(
            values.cpu().contiguous().numpy().tobytes()
            for values in (
                graphs.node_pointers,
                graphs.edge_pointers,
                graphs.edge_index,
                number_rows(graphs.x),
            )
        )
    )
    return _fields(content, width, field_size)


class _Content(NamedTuple):
    """Content of a data set that fields depend on, as bytes: the same on every device."""

    node_pointers: bytes
    edge_pointers: bytes
    edge_index: bytes
    labels: bytes


@lru_cache(maxsize=8)
def _fields(content: _Content, width: int, field_size: int) -> Tensor:
    nodes, edges, pairs, labels = (np.frombuffer(part, dtype=np.int64) for part in content)
    pairs = pairs.reshape(2, -1)
    simple = _simple_edges(nodes, edges, pairs)
    colors = refined_colors(torch.from_numpy(labels.copy()), simple).tolist()
    neighbors: list[list[int]] = [[] for _ in range(int(nodes[-1]))]
    for source, target in simple.t().tolist():
        neighbors[target].append(source)
    fields = np.full((nodes.size - 1, width, field_size), nodes[-1])
    for graph, (first, last) in enumerate(pairwise(nodes.tolist())):
        own = [frozenset(node - first for node in neighbors[i]) for i in range(first, last)]
        found = fields_of_graph(own, colors[first:last], width, field_size)
        for row, field in enumerate(found):
            fields[graph, row, : len(field)] = np.add(field, first)
    return torch.from_numpy(fields)


def _simple_edges(
    nodes: NDArray[np.int64], edges: NDArray[np.int64], pairs: NDArray[np.int64]
) -> Tensor:
    """Edges in both directions, without self-loops and duplicates: `[2, edges]`."""
    pairs = pairs + np.repeat(nodes[:-1], np.diff(edges))
    pairs = pairs[:, pairs[0] != pairs[1]]
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    return torch.from_numpy(np.unique(both, axis=1))


def refined_colors(labels: Tensor, edge_index: Tensor) -> Tensor:
    """Refine the colors of the unlabeled graph again, starting with the labels of the nodes.

    Args:
        labels: integer label of each node, equal for nodes with equal attributes.
        edge_index: edges in both directions, without self-loops and duplicates.
    """
    structure = refine_colors(torch.zeros_like(labels), edge_index)
    stride = int(labels.max()) + 1 if labels.numel() else 1
    return refine_colors(structure * stride + labels, edge_index)


def fields_of_graph(
    neighbors: NeighborSets, colors: Sequence[int], width: int, field_size: int
) -> list[list[int]]:
    """Compute the fields of one graph, fewer or shorter if the graph has too few nodes.

    Args:
        neighbors: the neighbors of each node.
        colors: the refined color of each node.
        width: largest number of fields.
        field_size: largest number of nodes of a field.
    """
    position = canonical_positions(neighbors, range(len(neighbors)), colors)
    chosen = sorted(range(len(neighbors)), key=lambda node: (-colors[node], position[node]))
    return [_field(root, neighbors, colors, position, field_size) for root in chosen[:width]]


def _field(
    root: int,
    neighbors: NeighborSets,
    colors: Sequence[int],
    position: dict[int, int],
    field_size: int,
) -> list[int]:
    """Nodes nearest to the root, ordered by distance, color and canonical labeling."""
    distance = {root: 0}
    front = {root}
    while front and len(distance) < field_size:
        front = {node for seen in front for node in neighbors[seen]} - distance.keys()
        distance.update(dict.fromkeys(front, max(distance.values()) + 1))
    nodes = sorted(distance, key=lambda node: (distance[node], -colors[node], position[node]))
    nodes = nodes[:field_size]
    ranks = _ranks([(distance[node], -colors[node]) for node in nodes])
    if len(set(ranks)) == len(nodes):
        return nodes
    local = canonical_positions(neighbors, nodes, ranks)
    # Sort by ranks first: canonical positions need not be in the order of the colors.
    order = sorted(zip(ranks, [local[node] for node in nodes], nodes, strict=True))
    return [node for _, _, node in order]


def _ranks(values: Sequence[Any]) -> list[int]:
    rank = {value: number for number, value in enumerate(sorted(set(values)))}
    return [rank[value] for value in values]


def canonical_positions(
    neighbors: NeighborSets, nodes: Sequence[int], colors: Sequence[int]
) -> dict[int, int]:
    """Positions of nodes in the canonical labeling of a colored graph, computed by BLISS.

    Args:
        neighbors: the neighbors of each node of the graph.
        nodes: the nodes of the subgraph.
        colors: the color of each node of the subgraph.
    """
    igraph = import_igraph()
    number = {node: index for index, node in enumerate(nodes)}
    graph = igraph.Graph(
        n=len(number),
        edges=[
            (index, number[other])
            for node, index in number.items()
            for other in neighbors[node]
            if number.get(other, -1) > index
        ],
    )
    # Versions of igraph return the permutation or its inverse; its effect is the same.
    graph.vs["node"] = list(nodes)
    permuted = graph.permute_vertices(graph.canonical_permutation(color=list(colors)))
    return {node: index for index, node in enumerate(permuted.vs["node"])}


def import_igraph() -> Any:
    """Import igraph.

    Raises:
        MissingDependencyError: if it is not installed.
    """
    try:
        import igraph
    except ImportError as error:
        raise MissingDependencyError(
            "PATCHY-SAN requires igraph for canonical labelings. It is not installed. Use "
            "pip install 'clipgnn[baselines]'."
        ) from error
    return igraph
