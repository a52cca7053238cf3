"""Groups V_1..V_K of nodes with identical attributes, the ground of every coloring (Eq. 4)."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from clipgnn.errors import InvalidColoringError, InvalidParameterError, shown
from clipgnn.graphs.checks import check_batch, check_node_attributes, check_plain, describe
from clipgnn.graphs.sparse import pointers


def color_groups(x: Tensor, batch: Tensor | None = None, *, decimals: int | None = None) -> Tensor:
    """The group of identical attributes each node belongs to, counted inside its graph.

    Args:
        x: attributes `[nodes, channels]`, or integer labels `[nodes]`.
        batch: the graph of each node, ascending; one graph without it.
        decimals: compare attributes rounded to this many decimals, from -300 to 300, for noisy
            floats. Exact equality without it.

    Returns:
        `[nodes]`, groups numbered 0..K-1 in each graph.

    Raises:
        InvalidGraphError: if attributes are NaN or infinite, or the shapes disagree.

    Example:
        >>> color_groups(torch.tensor([[1.0], [2.0], [1.0]]))
        tensor([0, 1, 0])
    """
    check_node_attributes(x)
    check_batch(batch, x.shape[0])
    if decimals is not None:
        x = _round(x, decimals)
    rows = _number_rows(x)
    if batch is None:
        return rows
    num_rows = int(rows.max()) + 1
    distinct, group = torch.unique(batch * num_rows + rows, return_inverse=True)
    first_of_graph = pointers(distinct // num_rows, int(batch[-1]) + 1)
    return group - first_of_graph[batch]


def _round(x: Tensor, decimals: int) -> Tensor:
    if isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > 300:
        raise InvalidParameterError(
            "decimals must be an integer from -300 to 300 (powers of ten that floats have), or "
            f"None. Got {shown(decimals)}."
        )
    if not x.is_floating_point():
        raise InvalidParameterError("decimals rounds float attributes. Got integer labels.")
    rounded = torch.round(x.double(), decimals=decimals)
    return torch.where(torch.isfinite(rounded), rounded, x)  # large numbers have no decimals


def _number_rows(x: Tensor) -> Tensor:
    """A number for each distinct row.

    Rows are told apart by a fingerprint of their bits, which one sort of integers orders, and then
    compared for equality, so that the result is exact even if two fingerprints should meet.
    """
    if x.dim() == 1:
        return torch.unique(x, return_inverse=True)[1]
    if x.shape[1] == 1:
        return torch.unique(x[:, 0], return_inverse=True)[1]
    if x.shape[1] == 0:
        return torch.zeros(x.shape[0], dtype=torch.int64, device=x.device)
    generator = torch.Generator().manual_seed(0)
    odd = torch.randint(-(2**62), 2**62, (x.shape[1],), generator=generator) * 2 + 1
    bits = (x.double() + 0.0).view(torch.int64)
    bits = bits ^ (bits >> 32)  # the low bits of simple numbers are zero, and products keep zeros
    _, number = torch.unique((bits * odd.to(x.device)).sum(1), return_inverse=True)
    representative = torch.empty_like(number).scatter_(
        0, number, torch.arange(number.numel(), device=x.device)
    )
    if not bool((x == x[representative[number]]).all()):
        return torch.unique(x + 0.0, dim=0, return_inverse=True)[1]
    return number


@dataclass(frozen=True)
class Partition:
    """All groups of a batch of graphs, numbered across the batch, graph by graph.

    Attributes:
        groups: group of each node.
        graph_of_node: graph of each node, ascending.
        sizes: nodes in each group.
        graph_of_group: graph of each group, ascending.
        num_graphs: graphs of the batch.
    """

    groups: Tensor
    graph_of_node: Tensor
    sizes: Tensor
    graph_of_group: Tensor
    num_graphs: int

    @classmethod
    def of(
        cls, groups: Tensor, batch: Tensor | None = None, num_graphs: int | None = None
    ) -> "Partition":
        """Check the groups of a batch and number them across it.

        Raises:
            InvalidColoringError: if `groups` is not a group number for each node.
            InvalidGraphError: if `batch` does not fit.
        """
        _check_groups(groups)
        if batch is None:
            batch = torch.zeros_like(groups)
        check_batch(batch, groups.numel(), num_graphs)
        # Numbered from 0 first: `batch * stride` would overflow with the stride of large numbers.
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
        )

    def subset(self, keep: Tensor) -> "Partition":
        """The graphs where `keep` is true, renumbered from 0."""
        nodes = keep[self.graph_of_node]
        graph_number = keep.cumsum(0) - 1
        return Partition.of(
            self.groups[nodes], graph_number[self.graph_of_node[nodes]], int(keep.sum())
        )

    @cached_property
    def position(self) -> Tensor:
        """Each node's place inside its group, 0..size-1, in the order of the nodes."""
        order = torch.argsort(self.groups, stable=True)
        starts = (self.sizes.cumsum(0) - self.sizes)[self.groups[order]]
        place = torch.arange(order.numel(), device=order.device) - starts
        return torch.empty_like(order).scatter_(0, order, place)

    @cached_property
    def log_counts(self) -> Tensor:
        """Natural logarithm of the number of colorings of each graph, Eq. (6)."""
        logs = torch.lgamma(self.sizes.double() + 1)
        total = torch.zeros(self.num_graphs, dtype=torch.float64, device=logs.device)
        return total.index_add_(0, self.graph_of_group, logs)

    def exact_counts(self) -> list[int]:
        """The number of colorings of each graph, Eq. (6), as exact integers."""
        counts = [1] * self.num_graphs
        for graph, size in zip(self.graph_of_group.tolist(), self.sizes.tolist(), strict=True):
            if size > 1:
                counts[graph] *= math.factorial(size)
        return counts


def _check_groups(groups: Tensor) -> None:
    if isinstance(groups, Tensor):
        check_plain("groups", groups, InvalidColoringError)
    if not isinstance(groups, Tensor) or groups.dtype != torch.int64 or groups.dim() != 1:
        got = describe(groups) if isinstance(groups, Tensor) else repr(groups)
        raise InvalidColoringError(
            f"groups must be an int64 tensor [nodes], as color_groups returns. Got {got} instead."
        )
    if groups.numel() == 0:
        raise InvalidColoringError("groups must name a group for at least one node. Got none.")
    if int(groups.min()) < 0:
        raise InvalidColoringError(f"groups must not be negative. Got {int(groups.min())}.")
