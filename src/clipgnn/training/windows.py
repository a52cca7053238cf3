"""Graphs that are on the device at the same time, and the batches of an epoch."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.coloring.schemes import Sampler
from clipgnn.graphs.assembly import Assembler
from clipgnn.graphs.capacity import FixedBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.network import Network
from clipgnn.parameters import Recipe
from clipgnn.training.losses import targets_for


class Window:
    """Graphs on the device, with what is computed once for all of them.

    A data set in memory is one window. Of a data set on disk, one window after the other is read.

    Args:
        graphs: the graphs, on the device.
        network: the network that is trained.
        recipe: the training recipe.

    Attributes:
        assembler: assembles batches.
        targets: targets in the form for losses, with an additional row for padding.
        sampler: samples colorings; None for networks without colors.

    Raises:
        InvalidGraphError: if the network cannot read the graphs.
        InvalidColoringError: if the network has too few colors.
    """

    def __init__(self, graphs: PackedGraphs, network: Network, recipe: Recipe) -> None:
        network.check_channels(graphs)
        scheme = network.training_scheme
        partition = scheme.partition_of(graphs)
        self.sampler: Sampler | None = None
        if network.num_colorings_for(training=True):
            self.sampler = scheme.sampler(graphs, partition)
            network.check_num_colors(scheme.num_colors(graphs, partition))
        self.assembler = Assembler(graphs, partition.local_groups, network.prepare(graphs))
        self.mean_nodes = graphs.x.shape[0] / len(graphs)
        targets = targets_for(recipe, graphs)
        self.targets = torch.cat([targets, targets[:1]])

    def batch(self, chosen: Tensor) -> FixedBatch:
        """Assemble the chosen graphs of each member `[members, graphs]`, with padding."""
        return self.assembler.batch(chosen, self.assembler.capacity_for(chosen))

    @property
    def padding(self) -> int:
        """Index of the padding graph."""
        return self.assembler.padding


@dataclass(frozen=True)
class Portion:
    """The batches of an epoch that are made of one window.

    Attributes:
        window: the graphs.
        order: `[members, steps * width]`, the graphs of each batch, and padding.
        steps: number of batches.
    """

    window: Window
    order: Tensor
    steps: int

    @property
    def width(self) -> int:
        """Number of graphs of a batch, with padding."""
        return self.order.shape[1] // self.steps


def num_steps(num_graphs: int, batch_size: int) -> int:
    """Number of batches of an epoch, without a last batch of one graph (no batch statistics)."""
    full, rest = divmod(num_graphs, batch_size)
    return full + (rest > 1)


def cut_by_nodes(order: Tensor, counts: Tensor, max_nodes: int, padding: int) -> tuple[Tensor, int]:
    """Cut graphs into batches with at most a number of nodes, but at least two graphs.

    The last batch has three graphs of any size if a single one would be left otherwise.

    Args:
        order: `[graphs]`, the graphs.
        counts: `[graphs]`, their numbers of nodes.
        max_nodes: largest number of nodes of a batch of more than two graphs.
        padding: index of the padding graph.

    Returns:
        The graphs of the batches, padded to one length, `[steps * width]`, and the number of steps.

    Example:
        >>> sizes = torch.tensor([2, 2, 2, 9, 1, 1])
        >>> cut_by_nodes(torch.arange(6), sizes, 6, -1)[0].view(-1, 3)
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    ends = counts.cumsum(0).tolist()
    starts = [0]
    while True:
        before = ends[starts[-1] - 1] if starts[-1] else 0
        stop = max(bisect_right(ends, before + max_nodes), starts[-1] + 2)
        # A single last graph has no batch statistics: it gets another one, or joins this batch.
        if stop + 1 == len(ends) and stop > starts[-1] + 2:
            stop -= 1
        if stop + 1 >= len(ends):
            break
        starts.append(stop)
    sizes = torch.tensor([*starts, len(ends)]).diff()
    return _padded(order, sizes, padding).flatten(), len(starts)


def _padded(order: Tensor, sizes: Tensor, padding: int) -> Tensor:
    """Rows `[steps, width]` of consecutive graphs, with padding at their ends."""
    width = int(sizes.max())
    position = torch.arange(width, device=order.device)
    inside = position < sizes[:, None].to(order.device)
    rows = torch.full(inside.shape, padding, dtype=order.dtype, device=order.device)
    rows[inside] = order
    return rows


def padded_rows(sets: Sequence[Tensor], padding: int) -> Tensor:
    """Rows of several lengths as one tensor, with padding at their ends."""
    length = max(own.numel() for own in sets)
    rows = [functional.pad(own, (0, length - own.numel()), value=padding) for own in sets]
    return torch.stack(rows)
