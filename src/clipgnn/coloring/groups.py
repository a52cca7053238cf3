"""Groups V_1..V_K of nodes with identical attributes, which must get distinct colors (Eq. 4)."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from clipgnn.errors import InvalidColoringError, InvalidParameterError, shown
from clipgnn.graphs.checks import check_batch, check_dense, check_node_attributes, describe
from clipgnn.ops.numbering import number_rows
from clipgnn.ops.pointers import inverse_order, pointers_from_index


def color_groups(x: Tensor, batch: Tensor | None = None, *, decimals: int | None = None) -> Tensor:
    """Compute groups of nodes with identical attributes, numbered within each graph.

    Args:
        x: attributes `[nodes, channels]`, or integer labels `[nodes]`.
        batch: the graph of each node, ascending; one graph without it.
        decimals: number of decimals to which attributes are rounded before they are compared, from
            -300 to 300, for noisy floats. None compares exactly.

    Returns:
        `[nodes]`, groups numbered 0..K-1 in each graph.

    Raises:
        InvalidGraphError: if attributes are NaN or infinite, or the shapes do not match.

    Example:
        >>> color_groups(torch.tensor([[1.0], [2.0], [1.0]]))
        tensor([0, 1, 0])
    """
    check_node_attributes(x)
    check_batch(batch, x.shape[0])
    if decimals is not None:
        x = _round(x, decimals)
    rows = number_rows(x)
    if batch is None:
        return rows
    num_rows = int(rows.max()) + 1
    distinct, group = torch.unique(batch * num_rows + rows, return_inverse=True)
    first_of_graph = pointers_from_index(distinct // num_rows, int(batch[-1]) + 1)
    return group - first_of_graph[batch]


def number_by_first_node(groups: Tensor, batch: Tensor) -> Tensor:
    """Number the groups of each graph in the order of their first nodes.

    Labels and their one-hot rows then have equal groups, and so equal random colorings.
    """
    stride = int(groups.max()) + 1
    _, group = torch.unique(batch * stride + groups, return_inverse=True)
    node = torch.arange(group.numel(), device=group.device)
    first = torch.full_like(node, group.numel()).scatter_reduce_(0, group, node, "amin")
    ordered, order = first[: int(group.max()) + 1].sort()
    first_of_graph = pointers_from_index(batch[ordered], int(batch[-1]) + 1)
    return inverse_order(order)[group] - first_of_graph[batch]


def _round(x: Tensor, decimals: int) -> Tensor:
    if isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > 300:
        raise InvalidParameterError(
            "decimals must be an integer from -300 to 300 (powers of ten that floats have), or "
            f"None. Got {shown(decimals)}."
        )
    if not x.is_floating_point():
        raise InvalidParameterError(
            "decimals must be None for integer labels. Got labels and decimals. Leave it out."
        )
    rounded = torch.round(x.double(), decimals=decimals)
    return torch.where(torch.isfinite(rounded), rounded, x)  # rounding large numbers overflows


@dataclass(frozen=True)
class Partition:
    """The groups of a batch of graphs, numbered across the batch in the order of the graphs.

    Attributes:
        groups: group of each node.
        graph_of_node: graph of each node, ascending.
        sizes: number of nodes of each group.
        graph_of_group: graph of each group, ascending.
        num_graphs: number of graphs of the batch.
        keys: random bits of each graph. Colorings are then hashed from them, and do not depend on
            the other graphs; None to draw them from a generator.
        first_colors: smallest color of each group; None if it is 0.
    """

    groups: Tensor
    graph_of_node: Tensor
    sizes: Tensor
    graph_of_group: Tensor
    num_graphs: int
    keys: Tensor | None = None
    first_colors: Tensor | None = None

    @classmethod
    def of(
        cls,
        groups: Tensor,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        keys: Tensor | None = None,
    ) -> "Partition":
        """Check the groups of a batch and number them across it.

        Raises:
            InvalidColoringError: if `groups` is not a group number for each node.
            InvalidGraphError: if `batch` is not a graph for each node.
        """
        _check_groups(groups)
        if batch is None:
            batch = torch.zeros_like(groups)
        check_batch(batch, groups.numel(), num_graphs)
        # Renumber from 0 first, because `batch * stride` could overflow with large group numbers.
        groups = torch.unique(groups, return_inverse=True)[1]
        stride = int(groups.max()) + 1
        key, number, sizes = torch.unique(
            batch * stride + groups, return_inverse=True, return_counts=True
        )
        return cls(
            groups=number,
            graph_of_node=batch,
            sizes=sizes,
            graph_of_group=key // stride,
            num_graphs=int(batch[-1]) + 1 if num_graphs is None else num_graphs,
            keys=keys,
        )

    def subset(self, keep: Tensor) -> "Partition":
        """Select the graphs where `keep` is true, renumbered from 0."""
        nodes = keep[self.graph_of_node]
        graph_number = keep.cumsum(0) - 1
        chosen = Partition.of(
            self.groups[nodes],
            graph_number[self.graph_of_node[nodes]],
            int(keep.sum()),
            None if self.keys is None else self.keys[keep],
        )
        if self.first_colors is None:
            return chosen
        return replace(chosen, first_colors=self.first_colors[keep[self.graph_of_group]])

    @cached_property
    def num_colors(self) -> int:
        """Number of colors: the largest color of a node, plus 1."""
        last = self.sizes if self.first_colors is None else self.sizes + self.first_colors
        return int(last.max())

    def colors_of_ranks(self, ranks: Tensor) -> Tensor:
        """Colors of nodes from their ranks inside their groups, `[..., nodes]`."""
        return ranks if self.first_colors is None else ranks + self.first_colors[self.groups]

    @cached_property
    def local_groups(self) -> Tensor:
        """Group of each node, numbered inside its graph."""
        first = pointers_from_index(self.graph_of_group, self.num_graphs)
        return self.groups - first[self.graph_of_node]

    @cached_property
    def starts(self) -> Tensor:
        """For each node, the number of nodes in groups with a smaller number."""
        return (self.sizes.cumsum(0) - self.sizes)[self.groups]

    @cached_property
    def position(self) -> Tensor:
        """Position of each node within its group, 0..size-1, in the order of the nodes."""
        order = torch.argsort(self.groups, stable=True)
        return inverse_order(order) - self.starts

    @cached_property
    def log_counts(self) -> Tensor:
        """Natural logarithm of the number of colorings of each graph, Eq. (6)."""
        logs = torch.lgamma(self.sizes.double() + 1)
        total = torch.zeros(self.num_graphs, dtype=torch.float64, device=logs.device)
        return total.index_add_(0, self.graph_of_group, logs)

    def exact_counts(self) -> list[int]:
        """Number of colorings of each graph, Eq. (6), as exact integers."""
        counts = [1] * self.num_graphs
        for graph, size in zip(self.graph_of_group.tolist(), self.sizes.tolist(), strict=True):
            if size > 1:
                counts[graph] *= math.factorial(size)
        return counts


def _check_groups(groups: Tensor) -> None:
    if isinstance(groups, Tensor):
        check_dense("groups", groups, InvalidColoringError)
    if not isinstance(groups, Tensor) or groups.dtype != torch.int64 or groups.dim() != 1:
        got = describe(groups) if isinstance(groups, Tensor) else repr(groups)
        raise InvalidColoringError(
            f"groups must be an int64 tensor [nodes], as color_groups returns. Got {got} instead."
        )
    if groups.numel() == 0:
        raise InvalidColoringError("groups must have an entry for at least one node. Got none.")
    if int(groups.min()) < 0:
        raise InvalidColoringError(f"groups must not be negative. Got {int(groups.min())}.")
