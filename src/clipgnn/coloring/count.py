"""Number of colorings of a graph: Eq. (6), the product of |V_k|! over its groups."""

from torch import Tensor

from clipgnn.coloring.groups import Partition


def num_colorings(groups: Tensor, batch: Tensor | None = None) -> list[int]:
    r"""Exact number of colorings of each graph: Eq. (6), :math:`\prod_k |V_k|!`.

    Args:
        groups: group of each node, as `color_groups` returns.
        batch: the graph of each node, ascending; one graph without it.

    Returns:
        One Python integer for each graph.

    Example:
        >>> import torch
        >>> num_colorings(torch.tensor([0, 0, 0, 1, 1]))
        [12]
    """
    return Partition.of(groups, batch).exact_counts()


def log_num_colorings(groups: Tensor, batch: Tensor | None = None) -> Tensor:
    """Natural logarithm of the number of colorings of each graph, which can be very large.

    Args:
        groups: group of each node, as `color_groups` returns.
        batch: the graph of each node, ascending; one graph without it.

    Returns:
        `[graphs]` in float64.
    """
    return Partition.of(groups, batch).log_counts
