"""Receptive fields of PATCHY-SAN: chosen nodes of a graph, each with its neighborhood in order."""

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

Neighbors = Sequence[frozenset[int]]
"""The neighbors of each node of a graph."""


def receptive_fields(
    graphs: PackedGraphs, width: int, field_size: int
) -> Int[Tensor, "graphs width field_size"]:
    """Numbers of the nodes in each field of each graph, counted through the data set.

    Computed once for the same graphs, however often they are asked for. Directions, loops and
    repetitions of edges do not count.

    Args:
        graphs: the data set.
        width: fields of a graph.
        field_size: nodes of a field.

    Returns:
        The number of nodes of the data set where a graph has fewer nodes, or a field.

    Raises:
        MissingDependencyError: without igraph.
    """
    kinds = graphs.x
    if kinds.dim() > 1:
        kinds = torch.unique(kinds, dim=0, return_inverse=True)[1]
    content = _Content(
        *(
            values.cpu().contiguous().numpy().tobytes()
            for values in (graphs.node_pointers, graphs.edge_pointers, graphs.edge_index, kinds)
        )
    )
    return _fields(content, width, field_size)


class _Content(NamedTuple):
    """All of a data set that fields depend on: copies of it on other devices are the same."""

    node_pointers: bytes
    edge_pointers: bytes
    edge_index: bytes
    kinds: bytes


@lru_cache(maxsize=8)
def _fields(content: _Content, width: int, field_size: int) -> Tensor:
    nodes, edges, pairs, kinds = (np.frombuffer(part, dtype=np.int64) for part in content)
    pairs = pairs.reshape(2, -1)
    fields = np.full((nodes.size - 1, width, field_size), nodes[-1])
    bounds = zip(pairwise(nodes.tolist()), pairwise(edges.tolist()), strict=True)
    for graph, ((first, last), own_edges) in enumerate(bounds):
        neighbors = _neighbors(last - first, pairs[:, slice(*own_edges)])
        for row, field in enumerate(
            fields_of_graph(neighbors, kinds[first:last].tolist(), width, field_size)
        ):
            fields[graph, row, : len(field)] = np.add(field, first)
    return torch.from_numpy(fields)


def fields_of_graph(
    neighbors: Neighbors, kinds: Sequence[int], width: int, field_size: int
) -> list[list[int]]:
    """The fields of one graph; fewer, and shorter ones, where nodes are missing.

    Args:
        neighbors: the neighbors of each node.
        kinds: a number for each node that tells different attributes apart.
        width: most fields.
        field_size: most nodes of a field.
    """
    colors = _refined(neighbors, [0] * len(neighbors))
    colors = _refined(neighbors, _ranks([*zip(colors, kinds, strict=True)]))
    place = canonical_places(neighbors, range(len(neighbors)), colors)
    chosen = sorted(range(len(neighbors)), key=lambda node: (-colors[node], place[node]))
    return [_field(root, neighbors, colors, place, field_size) for root in chosen[:width]]


def _field(
    root: int,
    neighbors: Neighbors,
    colors: Sequence[int],
    place: dict[int, int],
    field_size: int,
) -> list[int]:
    """The nodes nearest to the root, in order: by distance, by color, and canonically."""
    distance = {root: 0}
    front = {root}
    while front and len(distance) < field_size:
        front = {node for seen in front for node in neighbors[seen]} - distance.keys()
        distance.update(dict.fromkeys(front, max(distance.values()) + 1))
    nodes = sorted(distance, key=lambda node: (distance[node], -colors[node], place[node]))
    nodes = nodes[:field_size]
    ranks = _ranks([(distance[node], -colors[node]) for node in nodes])
    if len(set(ranks)) == len(nodes):
        return nodes
    local = canonical_places(neighbors, nodes, ranks)
    # The ranks once more: canonical places need not follow the colors they respect.
    order = sorted(zip(ranks, [local[node] for node in nodes], nodes, strict=True))
    return [node for _, _, node in order]


def _refined(neighbors: Neighbors, colors: list[int]) -> list[int]:
    """1-dimensional Weisfeiler-Lehman: colors split by those of neighbors, until none splits.

    More neighbors, and larger colors among them, make a larger color; what was larger before
    stays larger. The order of two colors therefore is the same in all graphs.
    """
    while True:
        refined = _ranks(
            [
                (color, tuple(sorted((colors[other] for other in own), reverse=True)))
                for color, own in zip(colors, neighbors, strict=True)
            ]
        )
        if len(set(refined)) == len(set(colors)):
            return refined
        colors = refined


def _ranks(values: Sequence[Any]) -> list[int]:
    rank = {value: number for number, value in enumerate(sorted(set(values)))}
    return [rank[value] for value in values]


def canonical_places(
    neighbors: Neighbors, nodes: Sequence[int], colors: Sequence[int]
) -> dict[int, int]:
    """Places of nodes in an order that isomorphic colored graphs share: that of BLISS.

    Args:
        neighbors: the neighbors of each node of the graph.
        nodes: the nodes of the subgraph to put in order.
        colors: the color of each of them.
    """
    try:
        import igraph
    except ImportError as error:
        raise MissingDependencyError(
            "PATCHY-SAN must have igraph to put nodes into a canonical order. It is not installed: "
            "pip install 'clipgnn[baselines]'."
        ) from error
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
    # igraph's releases disagree on which way the permutation goes; what it moves is sure.
    graph.vs["node"] = list(nodes)
    moved = graph.permute_vertices(graph.canonical_permutation(color=list(colors)))
    return {node: index for index, node in enumerate(moved.vs["node"])}


def _neighbors(num_nodes: int, edges: NDArray[np.int64]) -> Neighbors:
    sets: list[set[int]] = [set() for _ in range(num_nodes)]
    for source, target in edges.T.tolist():
        if source != target:
            sets[source].add(target)
            sets[target].add(source)
    return [frozenset(own) for own in sets]
