"""Graphs as simple undirected graphs with colored vertices, which canonization programs read.

Direction, weights and attributes of edges and parallel edges are expressed by additional vertices.
Isomorphisms of these graphs are those of the original ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.graphs.exact import ExactBatch
from clipgnn.ops.numbering import order_rows
from clipgnn.ops.pointers import pointers_from_index
from clipgnn.ops.refinement import lexicographic_ranks

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Structure:
    """A simple undirected graph with colored vertices.

    Attributes:
        num_nodes: number of nodes of the original graph, the first vertices.
        colors: color of each vertex, from 0 without gaps. Only their order has a meaning.
        edges: `[edges, 2]`.
    """

    num_nodes: int
    colors: Integers
    edges: Integers


def structures(graphs: ExactBatch, colors: Tensor) -> Iterator[Structure]:
    """Yield each graph of a batch as a graph with colored vertices.

    Args:
        graphs: the batch.
        colors: color of each node, equal only for nodes with identical attributes, in an order
            that does not depend on the order of the nodes.
    """
    pairs = _Pairs.of(graphs)
    loops = pairs.source == pairs.target
    loop_class = torch.zeros_like(colors)
    loop_class[pairs.source[loops]] = pairs.forward[loops]
    num_classes = pairs.num_classes
    node_colors = colors * num_classes + loop_class
    proper = pairs.chosen(~loops)
    graph = graphs.graph_of_node[proper.source]
    symmetric = proper.forward == proper.backward
    plain = _is_plain(proper, graph, graphs.num_graphs)
    # A pair of classes, as the color of an additional vertex, is greater than all colors of nodes.
    start = int(node_colors.max()) + 1 if node_colors.numel() else 0
    codes = torch.stack(
        [
            proper.forward * num_classes + proper.backward,
            proper.backward * num_classes + proper.forward,
        ],
        1,
    )
    nodes = pointers_from_index(graphs.graph_of_node, graphs.num_graphs)
    ends = torch.stack([proper.source, proper.target], 1) - nodes[graph][:, None]
    edges = pointers_from_index(graph, graphs.num_graphs).tolist()
    own_nodes, simple = nodes.tolist(), plain.tolist()
    as_arrays = [value.cpu().numpy() for value in (node_colors, ends, symmetric, codes + start)]
    for number in range(graphs.num_graphs):
        inside = slice(own_nodes[number], own_nodes[number + 1])
        own = slice(edges[number], edges[number + 1])
        node_color, end, same, code = (
            as_arrays[0][inside],
            *(value[own] for value in as_arrays[1:]),
        )
        if simple[number]:
            yield Structure(node_color.size, _dense(node_color), end)
        else:
            yield _with_edge_vertices(node_color, end, same, code)


def _with_edge_vertices(
    colors: Integers, ends: Integers, symmetric: NDArray[np.bool_], codes: Integers
) -> Structure:
    """One vertex for each symmetric edge, and two for each other one, from end to end."""
    n = colors.size
    same, other = ends[symmetric], ends[~symmetric]
    middle = n + np.arange(len(same))
    first = n + len(same) + np.arange(len(other))
    second = first + len(other)
    edges = np.concatenate(
        [
            np.stack([same[:, 0], middle], 1),
            np.stack([same[:, 1], middle], 1),
            np.stack([other[:, 0], first], 1),
            np.stack([first, second], 1),
            np.stack([second, other[:, 1]], 1),
        ]
    )
    vertex_colors = np.concatenate(
        [colors, codes[symmetric, 0], codes[~symmetric, 0], codes[~symmetric, 1]]
    )
    return Structure(n, _dense(vertex_colors), edges)


def _dense(colors: Integers) -> Integers:
    """Number colors from 0 without gaps: bliss reads 32 bits, and batches have other numbers."""
    return np.unique(colors, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True)
class _Pairs:
    """Pairs of adjacent nodes, once each, with source <= target, ordered by graph.

    Attributes:
        source: the smaller node.
        target: the larger node.
        forward: class of the edges from source to target; 0 for none.
        backward: class of the edges from target to source; 0 for none.
    """

    source: Tensor
    target: Tensor
    forward: Tensor
    backward: Tensor

    @property
    def num_classes(self) -> int:
        """Number of classes, that of no edge included."""
        classes = torch.maximum(self.forward, self.backward)
        return int(classes.max()) + 1 if classes.numel() else 1

    @classmethod
    def of(cls, graphs: ExactBatch) -> "_Pairs":
        source, target = graphs.edge_index
        count = graphs.num_nodes
        key, inverse = torch.unique(source * count + target, return_inverse=True)
        classes = 1 + _classes_of_parallel_edges(inverse, key.numel(), _rows(graphs))
        smaller = torch.minimum(key // count, key % count)
        larger = torch.maximum(key // count, key % count)
        pair, number = torch.unique(smaller * count + larger, return_inverse=True)
        forward, backward = torch.zeros_like(pair), torch.zeros_like(pair)
        ascending = key // count <= key % count
        forward[number[ascending]] = classes[ascending]
        descending = key // count >= key % count
        backward[number[descending]] = classes[descending]
        return cls(pair // count, pair % count, forward, backward)

    def chosen(self, keep: Tensor) -> "_Pairs":
        return _Pairs(self.source[keep], self.target[keep], self.forward[keep], self.backward[keep])


def _rows(graphs: ExactBatch) -> Tensor:
    """Number of the weight and attributes of each edge, in their order."""
    edges = graphs.edges
    given = [edges.weight[:, None]] if edges.weight is not None else []
    if edges.attr is not None:
        given.append(edges.attr)
    if not given:
        return torch.zeros(edges.num_edges, dtype=torch.int64, device=graphs.x.device)
    return order_rows(torch.cat([value.double() for value in given], 1))


def _classes_of_parallel_edges(pair: Tensor, count: int, rows: Tensor) -> Tensor:
    """Rank of the sorted rows of the edges of each pair."""
    if rows.numel() == 0:
        return torch.zeros(0, dtype=torch.int64, device=rows.device)
    order = torch.argsort(pair * (int(rows.max()) + 1) + rows)
    ranks = lexicographic_ranks(rows[order], pointers_from_index(pair[order], count))
    return torch.unique(ranks, return_inverse=True)[1]


def _is_plain(pairs: _Pairs, graph: Tensor, num_graphs: int) -> Tensor:
    """Which graphs are undirected with edges of one class."""
    smallest = torch.full((num_graphs,), 2**62, device=graph.device)
    smallest.scatter_reduce_(0, graph, torch.minimum(pairs.forward, pairs.backward), "amin")
    largest = torch.zeros_like(smallest)
    largest.scatter_reduce_(0, graph, torch.maximum(pairs.forward, pairs.backward), "amax")
    return smallest >= largest
