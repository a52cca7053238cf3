"""Representations of two graphs by CLIP with random weights, coloring by coloring."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clipgnn.coloring.groups import Partition
from clipgnn.coloring.sample import sample_from_partition
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import as_signed
from clipgnn.nn.clip import CLIP

CHANNELS = 16
"""Channels of the representations."""

LAYERS = 2
"""Local iterations of the networks."""

_NODES_AT_ONCE = 100_000
"""Number of nodes, times colorings, that are computed together."""


@dataclass(frozen=True)
class Networks:
    """CLIP with random weights in double precision, with and without colors."""

    with_colors: CLIP
    without_colors: CLIP

    @classmethod
    def random(cls, in_channels: int, num_colors: int, seed: int) -> "Networks":
        """Create both networks with weights that depend on the seed only."""
        built = []
        for num_colorings in (1, 0):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(as_signed(seed))
                model = CLIP(
                    in_channels,
                    1,
                    hidden_channels=CHANNELS,
                    num_layers=LAYERS,
                    num_colorings=num_colorings,
                    num_colors=num_colors,
                    norm=None,  # batch statistics of untrained networks are arbitrary
                )
            built.append(model.double().eval())
        return cls(*built)


@torch.no_grad()
def without_colors(model: CLIP, graphs: PackedGraphs) -> Tensor:
    """Compute the representations by 0-CLIP, `[graphs, channels]`."""
    batch = graphs.to_batch()
    return model.embed(batch.x, batch.edge_index, batch.graph_of_node)


@torch.no_grad()
def of_colorings(model: CLIP, graph: PackedGraphs, colorings: Tensor) -> Tensor:
    """Compute the representation of one graph for each of its colorings, `[colorings, channels]`.

    Args:
        model: the network.
        graph: a data set of one graph.
        colorings: `[colorings, nodes]`.
    """
    at_once = max(1, _NODES_AT_ONCE // graph.x.shape[0])
    found, copies = [], None
    for part in colorings.split(at_once):
        if copies is None or copies.num_graphs != len(part):
            copies = _copies(graph, len(part))
        # Each coloring is the only one of its own copy of the graph.
        found.append(
            model.embed(
                copies.x, copies.edge_index, copies.graph_of_node, colorings=part.reshape(1, -1)
            )
        )
    return torch.cat(found)


def _copies(graph: PackedGraphs, number: int) -> ExactBatch:
    return graph.batch(torch.zeros(number, dtype=torch.int64))


@torch.no_grad()
def over_all_colorings(model: CLIP, graph: PackedGraphs) -> Tensor:
    """Compute the maximum over all colorings of one graph (∞-CLIP), `[channels]`.

    Raises:
        TooManyColoringsError: if there are too many to enumerate.
    """
    batch = graph.to_batch()
    return model.embed(batch.x, batch.edge_index, coloring="all")[0]


def random_colorings(partition: Partition, number: int, seed: int) -> Tensor:
    """Draw distinct colorings of each graph, `[colorings, nodes]`.

    A graph with fewer colorings repeats them, which does not change the maximum over all of them.
    """
    generator = torch.Generator().manual_seed(as_signed(seed))
    return sample_from_partition(partition, number, generator)


def largest_difference(first: Tensor, second: Tensor) -> Tensor:
    """Compute the largest difference over the channels."""
    return (first - second).abs().amax(-1)
