"""Isomorphism of two graphs, by their canonical colorings."""

import torch
from torch import Tensor

from clipgnn.graphs.exact import ExactBatch
from clipgnn.ops.numbering import number_rows


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
