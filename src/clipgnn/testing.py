"""Symmetry as a test that users can call on their own models."""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from clipgnn.graphs.seeds import check_seed


@runtime_checkable
class GraphModel(Protocol):
    """Anything with PyG's calling convention."""

    def __call__(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """The output for each graph."""


def permute_nodes(x: Tensor, edge_index: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """The same graph with its nodes in another order: new node i is old node `order[i]`.

    Args:
        x: node attributes or labels, a row for each node.
        edge_index: edges `[2, edges]`.
        order: a permutation of the nodes.

    Returns:
        Attributes and edges of the reordered graph.
    """
    new_number = torch.empty_like(order).scatter_(0, order, torch.arange(order.numel()))
    return x[order], new_number[edge_index]


def assert_permutation_invariant(
    model: GraphModel,
    x: Tensor,
    edge_index: Tensor,
    *,
    permutations: int = 5,
    seed: int = 0,
    tolerance: float = 1e-5,
) -> None:
    """Does a model return the same for a graph however its nodes are ordered?

    ∞-CLIP and 0-CLIP do; k-CLIP is random, and does so in distribution only.

    Args:
        model: a network in evaluation mode.
        x: node attributes or labels of one graph.
        edge_index: its edges.
        permutations: random orders to try.
        seed: seed of these orders.
        tolerance: largest difference, relative to the largest output, that passes as rounding.

    Raises:
        InvalidParameterError: if the seed is not an integer of at most 64 bits.
        AssertionError: if an order changes the output; the message names the order.
    """
    generator = torch.Generator().manual_seed(check_seed(seed))
    with torch.no_grad():
        expected = model(x, edge_index)
        allowed = tolerance * max(1.0, float(expected.abs().max()))
        for _ in range(permutations):
            order = torch.randperm(x.shape[0], generator=generator)
            difference = float((model(*permute_nodes(x, edge_index, order)) - expected).abs().max())
            if not difference <= allowed:
                raise AssertionError(
                    f"The output must not depend on the order of the nodes. It changed by "
                    f"{difference:.3g} (allowed {allowed:.3g}) in the order {order.tolist()}."
                )
