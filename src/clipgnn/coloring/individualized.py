"""Colorings by individualization and refinement from random root nodes."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import pad
from typing_extensions import override

from clipgnn.coloring.groups import Partition
from clipgnn.coloring.random_bits import RandomBits
from clipgnn.coloring.refined import ranks_in_attribute_groups, refined_colors
from clipgnn.coloring.schemes import Sampler, Scheme
from clipgnn.coloring.stream import InMemoryColorings
from clipgnn.graphs.capacity import FixedBatch
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.keys import graph_keys
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.hashing import hashed_integers, shift_right
from clipgnn.ops.numbering import order_rows, ranks_in_groups
from clipgnn.ops.pointers import inverse_order
from clipgnn.shapes import Colorings

POOL = 32
"""Number of colorings of each graph that are computed before a training."""

_POOL_SEED = -1
"""Seed of these colorings, unlike the usual ones of predictions."""


class Individualized(Scheme):
    """k colorings, each from a random root node.

    The root gets a color of its own, color refinement (1-WL) distinguishes other nodes by it, and
    the nodes that remain equal are ordered at random. The roots of a graph are distinct, as long as
    it has nodes. All colorings are some of those of Eq. (4), and their distribution does not depend
    on the order of the nodes. Where refinement from every root distinguishes all nodes, as in most
    regular graphs, a graph has one coloring for each node, and the maximum over k ≥ nodes is
    invariant.

    A training computes `POOL` colorings of each graph, hashed from the graph, and chooses from them
    in each step.
    """

    name = "individualized"
    reads_edge_values = False
    any_number = True

    @override
    def stream(
        self,
        graphs: ExactBatch,
        partition: Partition,
        k: int,
        generator: torch.Generator | None,
    ) -> InMemoryColorings:
        drawn = individualized_colorings(graphs, partition, k, generator)
        return InMemoryColorings(drawn, partition.graph_of_node, partition.num_graphs)

    @override
    def sampler(self, graphs: PackedGraphs, partition: Partition) -> "PoolSampler":
        # Hashed from each graph, so that its colorings do not depend on the other graphs.
        keyed = replace(partition, keys=graph_keys(graphs, _POOL_SEED))
        return PoolSampler(individualized_colorings(graphs.to_batch(), keyed, POOL, None))


def individualized_colorings(
    graphs: ExactBatch, partition: Partition, k: int, generator: torch.Generator | None
) -> Int[Tensor, "colorings nodes"]:
    """Colorings from k random roots of each graph.

    Args:
        graphs: the batch.
        partition: its groups of nodes with identical attributes.
        k: number of colorings.
        generator: source of randomness, if the partition has no keys.
    """
    bits = RandomBits(generator)
    batch = graphs.graph_of_node
    # Roots are the first k nodes of a random order of the nodes of each graph, cyclically.
    position = ranks_in_groups(bits.of_nodes(partition, 1, 0), batch, graphs.nodes.starts[batch])
    draw = torch.arange(k, device=batch.device)[:, None]
    roots = position == draw % graphs.nodes.counts[batch]
    random = bits.of_nodes(partition, k, 1)
    return torch.cat(
        [
            _colors_from_roots(graphs, roots[own], random[own])
            for own in torch.arange(k).split(_copies_at_once(graphs))
        ]
    )


def first_node_ranks(graphs: ExactBatch) -> Int[Tensor, "nodes"]:
    """Stable colors after the first node of each graph has a color of its own."""
    position = torch.arange(graphs.num_nodes, device=graphs.x.device)
    return _refined(graphs, position == graphs.nodes.starts[graphs.graph_of_node])


def _colors_from_roots(
    graphs: ExactBatch, roots: Bool[Tensor, "copies nodes"], random: Int[Tensor, "copies nodes"]
) -> Int[Tensor, "copies nodes"]:
    copies = graphs.repeat(roots.shape[0])
    stable = _refined(copies, roots.flatten())
    order = torch.argsort(random.flatten())
    order = order[torch.argsort(stable[order], stable=True)]
    return ranks_in_attribute_groups(copies, inverse_order(order)).view(roots.shape)


def _refined(graphs: ExactBatch, roots: Bool[Tensor, "nodes"]) -> Tensor:
    return refined_colors(graphs, order_rows(graphs.x) * 2 + roots)


def _copies_at_once(graphs: ExactBatch) -> int:
    """Number of copies of a batch that are refined together, in bounded memory."""
    return max(1, 20_000_000 // (graphs.num_nodes + graphs.edges.num_edges))


class PoolSampler(Sampler):
    """Sampler that chooses k consecutive colorings of a table, from a random one on.

    Args:
        pool: `[colorings, nodes]`, in random order.
    """

    def __init__(self, pool: Colorings) -> None:
        self.size = pool.shape[0]
        self.pool = pad(pool, (0, 1))  # an additional column is the padding node

    @override
    def num_colorings(self, k: int) -> int:
        return k

    @override
    def sample(
        self,
        batch: FixedBatch,
        k: int,
        seeds: Int[Tensor, "members"],
        counter: Int[Tensor, ""],
    ) -> Colorings:
        slots = batch.nodes.begin.numel() // seeds.numel()
        bits = hashed_integers(seeds, counter, 1, slots).flatten()  # [members * slots]
        start = shift_right(bits, 1) % self.size
        draw = torch.arange(k, device=start.device)[:, None]
        # [colorings, nodes]
        chosen = (start[batch.nodes.segment] + draw) % self.size
        return self.pool[chosen, batch.node_ids]
