"""One coloring of each graph, from a canonical labeling."""

from dataclasses import replace

import torch
from torch import Tensor
from typing_extensions import override

from clipgnn.coloring.bliss import has_igraph
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.labeling import canonical_colors, canonical_colors_of
from clipgnn.coloring.precomputed import TableSampler
from clipgnn.coloring.schemes import Scheme
from clipgnn.coloring.stream import InMemoryColorings
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.shapes import Colorings


class Canonical(Scheme):
    """One coloring, which is the same for isomorphic graphs, whatever the order of their nodes.

    Outputs of a network are invariant without a maximum over colorings. Different graphs are
    different colored graphs, so that a network can distinguish all graphs in one pass. Colorings
    are not continuous in the attributes: equal attributes and nearly equal ones give different
    colors.
    """

    name = "canonical"
    package = "igraph"

    @override
    def partition(self, graphs: ExactBatch, keys: Tensor | None = None) -> Partition:
        # Each node is a group, whose only color is that of the labeling.
        nodes = torch.arange(graphs.num_nodes, device=graphs.x.device)
        partition = Partition.of(nodes, graphs.graph_of_node, graphs.num_graphs, keys)
        return replace(partition, first_colors=canonical_colors(graphs))

    @override
    def stream(
        self,
        graphs: ExactBatch,
        partition: Partition,
        k: int,
        generator: torch.Generator | None,
    ) -> InMemoryColorings:
        colors = _colors(partition)
        return InMemoryColorings(colors, partition.graph_of_node, partition.num_graphs)

    @override
    def prepare(self, graphs: PackedGraphs, k: int) -> Colorings:
        return canonical_colors_of(graphs)[None]

    @override
    def check_training(self, graphs: PackedGraphs) -> None:
        if not has_igraph():  # which is not needed if 1-WL distinguishes all nodes of all graphs
            canonical_colors_of(graphs)

    @override
    def sampler(self, graphs: PackedGraphs, partition: Partition) -> TableSampler:
        return TableSampler(_colors(partition), fixed=True)


def _colors(partition: Partition) -> Tensor:
    return partition.colors_of_ranks(torch.zeros_like(partition.groups))[None]
