"""Colorings of nodes that color refinement (1-WL) does not distinguish."""

from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor
from typing_extensions import override

from clipgnn.coloring.groups import Partition, color_groups
from clipgnn.coloring.random import Random
from clipgnn.graphs.exact import ExactBatch
from clipgnn.ops.numbering import order_rows
from clipgnn.ops.pointers import inverse_order
from clipgnn.ops.refinement import refine_within_graphs

MAX_ROUNDS = 1000
"""Number of rounds of refinement. A path of n nodes needs n / 2 until its colors are stable, each
of which computes new colors of nearly all nodes."""


class Refined(Random):
    """k random colorings in which only nodes that 1-WL does not distinguish exchange colors.

    Each group of nodes with identical attributes is divided into classes of stable colors. The
    classes have consecutive colors, in the order of the stable colors, which does not depend on the
    order of the nodes. The colorings are therefore some of those of Eq. (4), the same ones for
    isomorphic graphs, and a maximum over all of them is universal by the same proof. A graph whose
    nodes 1-WL distinguishes has one coloring. Refinement ends after `MAX_ROUNDS` rounds.
    """

    name = "refined"

    @override
    def partition(self, graphs: ExactBatch, keys: Tensor | None = None) -> Partition:
        return partition_by_rank(graphs, stable_colors(graphs), keys)


def stable_colors(graphs: ExactBatch) -> Int[Tensor, "nodes"]:
    """Stable colors of 1-WL, in an order that does not depend on the order of the nodes.

    Nodes with other attributes have other colors. Attributes and weights of edges are ignored. The
    colors of a graph that needs more than `MAX_ROUNDS` rounds are those of the last round.
    """
    return refined_colors(graphs, order_rows(graphs.x))


def refined_colors(graphs: ExactBatch, colors: Tensor) -> Int[Tensor, "nodes"]:
    """Refine given colors of the nodes within each graph, in at most `MAX_ROUNDS` rounds."""
    return refine_within_graphs(colors, graphs.edge_index, graphs.graph_of_node, MAX_ROUNDS)


def partition_by_rank(graphs: ExactBatch, ranks: Tensor, keys: Tensor | None = None) -> Partition:
    """Groups of nodes of one graph with equal ranks, in the order of the ranks.

    The groups of nodes with identical attributes have consecutive colors: the first color of a
    group is the number of nodes with identical attributes and a smaller rank.

    Args:
        graphs: the batch.
        ranks: rank of each node; nodes with different attributes have different ranks.
        keys: random bits of each graph; see `Partition`.
    """
    batch = graphs.graph_of_node
    classes = torch.unique(ranks, return_inverse=True)[1]
    partition = Partition.of(classes, batch, graphs.num_graphs, keys)
    positions = ranks_in_attribute_groups(graphs, partition.groups)
    first = torch.full_like(partition.sizes, positions.numel())
    first.scatter_reduce_(0, partition.groups, positions, "amin")
    return replace(partition, first_colors=first)


def ranks_in_attribute_groups(graphs: ExactBatch, ranks: Tensor) -> Int[Tensor, "nodes"]:
    """Position of each node among those with identical attributes, ordered by rank.

    Nodes of equal rank are in the order of their indices.
    """
    attributes = Partition.of(
        color_groups(graphs.x, graphs.graph_of_node), graphs.graph_of_node, graphs.num_graphs
    )
    by_rank = torch.argsort(ranks, stable=True)
    order = by_rank[torch.argsort(attributes.groups[by_rank], stable=True)]
    return inverse_order(order) - attributes.starts
