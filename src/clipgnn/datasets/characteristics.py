"""What a data set looks like: the paper's table of characteristics, and what colors meet."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clipgnn.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class Characteristics:
    """A row of the paper's table of data sets, and some more.

    Attributes:
        name: the data set.
        num_graphs: how many graphs.
        num_classes: how many classes; None for targets to regress.
        mean_nodes: nodes of a graph, on average.
        mean_degree: neighbors of a node, on average over all nodes.
        max_nodes: nodes of the largest graph.
        num_labels: labels of nodes, or channels of their attributes.
        largest_group: most nodes of one graph with identical attributes: the colors CLIP needs.
        num_distinguishable: graphs that message passing can tell apart at most, by node attributes
            and edges. The others are as good as duplicates to 0-CLIP, whether they are isomorphic
            or not.
    """

    name: str
    num_graphs: int
    num_classes: int | None
    mean_nodes: float
    mean_degree: float
    max_nodes: int
    num_labels: int
    largest_group: int
    num_distinguishable: int


def characteristics(graphs: PackedGraphs) -> Characteristics:
    """Measure a data set."""
    nodes = graphs.node_pointers.diff()
    num_nodes, num_edges = graphs.x.shape[0], graphs.edge_index.shape[1]
    kind = _numbered(graphs.x)
    groups = torch.unique(graphs.graph_of_node * num_nodes + kind, return_counts=True)[1]
    return Characteristics(
        name=graphs.name,
        num_graphs=len(graphs),
        num_classes=None if graphs.y.is_floating_point() else graphs.num_classes,
        mean_nodes=num_nodes / len(graphs),
        mean_degree=num_edges / num_nodes,
        max_nodes=int(nodes.max()),
        num_labels=graphs.in_channels,
        largest_group=int(groups.max()),
        num_distinguishable=_numbered(_refined(graphs, kind)).unique().numel(),
    )


def _refined(graphs: PackedGraphs, kind: Tensor) -> Tensor:
    """A fingerprint of each graph, equal where color refinement (1-WL) tells no difference.

    A multiset of kinds is known by the sum of random 64-bit numbers, one for each kind: two
    multisets meet with a chance of about 2^-64.
    """
    generator = torch.Generator().manual_seed(0)

    def fingerprints(kinds: Tensor) -> Tensor:
        table = torch.randint(-(2**63), 2**63 - 1, (kinds.numel(),), generator=generator)
        return table.to(kinds.device)[kinds]

    source, target = graphs.edges_through
    known, count = 0, int(kind.max()) + 1
    while known < count:
        known = count
        around = torch.zeros_like(kind).index_add_(0, target, fingerprints(kind)[source])
        kind = _numbered(around ^ fingerprints(kind))
        count = int(kind.max()) + 1
    total = torch.zeros(len(graphs), dtype=torch.int64, device=kind.device)
    return total.index_add_(0, graphs.graph_of_node, fingerprints(kind))


def _numbered(rows: Tensor) -> Tensor:
    """A number for each distinct row, from 0."""
    dim = None if rows.dim() == 1 else 0  # many times faster where there is one axis
    return torch.unique(rows, dim=dim, return_inverse=True)[1]
