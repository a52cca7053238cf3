"""Random bits of each graph, as a function of its content and a seed."""

import torch
from torch import Tensor

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.hashing import mix


def graph_keys(graphs: PackedGraphs, seed: int) -> Tensor:
    """Hash attributes and edges of each graph with a seed, `[graphs]`.

    Equal graphs, with their nodes in the same order, have equal keys, in every data set. Labels
    have the keys of their one-hot rows.
    """
    nodes = torch.arange(graphs.x.shape[0], device=graphs.device)
    position = nodes - graphs.node_pointers[graphs.graph_of_node]
    of_nodes = mix(mix(position + 1) ^ _row_bits(graphs.x))
    source, target = graphs.edge_index
    of_edges = mix(mix(source + 1) + mix(-1 - target))
    total = torch.zeros(len(graphs), dtype=torch.int64, device=graphs.device)
    total.index_add_(0, graphs.graph_of_node, of_nodes)  # sums of integers have no rounding
    total.index_add_(0, graphs.graph_of_edge, of_edges)
    return mix(total + mix(torch.full_like(total, seed)))


def _row_bits(x: Tensor) -> Tensor:
    """Bits of the attributes of each node: a sum over the channels that are not 0."""
    if x.dim() == 1:
        return mix(_bits(torch.ones_like(x)) ^ mix(x + 1))
    channel = torch.arange(x.shape[1], device=x.device)
    return mix(_bits(x) ^ mix(channel + 1)).masked_fill(x == 0, 0).sum(1)


def _bits(values: Tensor) -> Tensor:
    return values.double().view(torch.int64)
