"""Graphs that test a property, made from a seed: the synthetic tasks of the paper's appendix."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data

from clipgnn.errors import InvalidParameterError

SKIP_LENGTHS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
"""The ten skip lengths of the literature; on 41 nodes no two give isomorphic graphs."""


def circular_skip_links(
    seed: int = 0,
    *,
    num_nodes: int = 41,
    skip_lengths: Sequence[int] = SKIP_LENGTHS,
    copies: int = 15,
) -> list[Data]:
    """Circular skip links: which of ten 4-regular graphs is this one?

    Nodes on a ring are joined to their neighbors and to those a skip length away. All graphs of
    one size are 4-regular, so no message-passing network can tell any two of them apart.

    Args:
        seed: seed of the random relabelings of the nodes.
        num_nodes: nodes of each graph.
        skip_lengths: a class for each; from 2 to under half of the nodes.
        copies: graphs of each class, each with its nodes in another random order.

    Returns:
        Graphs with attribute 1 on every node and the class as `y`, class by class.

    Raises:
        InvalidParameterError: if a skip length gives a graph that is not 4-regular.
    """
    for skip in skip_lengths:
        if not 2 <= skip < num_nodes / 2:
            raise InvalidParameterError(
                f"A skip length must be from 2 to under half of the {num_nodes} nodes, or the "
                f"graph is not 4-regular. Got {skip}."
            )
    generator = torch.Generator().manual_seed(seed)
    return [
        Data(
            x=torch.ones(num_nodes, 1),
            edge_index=torch.randperm(num_nodes, generator=generator)[_ring(num_nodes, skip)],
            y=torch.tensor([label]),
        )
        for label, skip in enumerate(skip_lengths)
        for _ in range(copies)
    ]


def _ring(num_nodes: int, skip: int) -> Tensor:
    """Edges of the circular skip link graph, both ways."""
    node = torch.arange(num_nodes).repeat(2)
    step = torch.tensor([1, skip]).repeat_interleave(num_nodes)
    forth = torch.stack([node, (node + step) % num_nodes])
    return torch.cat([forth, forth.flip(0)], dim=1)
