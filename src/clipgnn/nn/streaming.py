"""The maximum over colorings when they are too many to hold: a part at a time.

Without gradients it is a running maximum. With gradients, a first pass without them finds, for each
graph and channel, the coloring that wins; a second pass runs the winners alone, and through them
the gradient of the maximum flows, whose cost no longer depends on how many colorings there are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from clipgnn.coloring.stream import ColoringStream
from clipgnn.errors import ClipGNNError
from clipgnn.graphs.batch import GraphBatch
from clipgnn.shapes import Colorings

Run = Callable[[GraphBatch, Colorings], Tensor]
"""A network on a batch under some colorings: `[rows, colorings, channels]`, a row for each graph
(or each node)."""


@dataclass(frozen=True)
class Part:
    """Some colorings of the graphs that have colorings left.

    Attributes:
        graphs: which graphs of the whole batch these are.
        batch: those graphs.
        colorings: `[colorings, nodes]`, on their nodes.
    """

    graphs: Tensor
    batch: GraphBatch
    colorings: Colorings


def parts(
    batch: GraphBatch, stream: ColoringStream, at_once: Callable[[int], int]
) -> Iterator[Part]:
    """All colorings of all graphs; graphs whose colorings are used up drop out.

    Args:
        batch: the graphs.
        stream: their colorings.
        at_once: how many colorings to take at a time for a number of nodes.
    """
    start = 0
    counts = stream.counts
    graphs = torch.ones_like(counts, dtype=torch.bool)
    remaining = batch
    while start < stream.most:
        still = counts > start
        if not torch.equal(still, graphs):
            graphs, remaining = still, batch.subset(still)
        stop = min(stream.most, start + at_once(remaining.num_nodes))
        yield Part(graphs, remaining, stream.part(graphs, start, stop))
        start = stop


def maximum(
    run: Run,
    batch: GraphBatch,
    stream: ColoringStream,
    at_once: Callable[[int], int],
    *,
    per_node: bool,
) -> Tensor:
    """The maximum over all colorings, `[rows, channels]`, in bounded memory.

    Args:
        run: the network.
        batch: the graphs.
        stream: their colorings.
        at_once: how many colorings to take at a time for a number of nodes.
        per_node: whether a row is a node. Nodes have too many winning colorings for a pass of
            their own: with gradients, each part is computed anew on the way back instead.
    """
    all_parts = parts(batch, stream, at_once)
    if torch.is_grad_enabled() and not per_node:
        winning = _winners(run, batch, all_parts)
        chunks = winning.split(at_once(batch.num_nodes))
        values = [_maximum_of(run, batch, chunk, recompute=len(chunks) > 1) for chunk in chunks]
        return torch.stack(values).amax(0)
    graph_of_row = batch.graph_of_node if per_node else torch.arange(batch.num_graphs)
    graph_of_row = graph_of_row.to(batch.graph_of_node.device)
    best: Tensor | None = None
    for part in all_parts:
        value = _maximum_of(run, part.batch, part.colorings, recompute=True)
        if best is None:
            best = value.new_full((graph_of_row.numel(), value.shape[1]), -inf)
        rows = part.graphs[graph_of_row].nonzero()[:, 0]
        best = best.index_copy(0, rows, torch.maximum(best[rows], value))
    if best is None:
        raise ClipGNNError("A stream of colorings must not be empty.")
    return best


@torch.no_grad()
def _winners(run: Run, batch: GraphBatch, all_parts: Iterator[Part]) -> Colorings:
    """For each channel, the coloring under which each graph attains its maximum.

    Returns:
        `[channels, nodes]`.
    """
    best = winning = torch.empty(0)
    for part in all_parts:
        value, place = run(part.batch, part.colorings).max(1)
        if best.numel() == 0:
            best = torch.full_like(value, -inf)
            winning = part.colorings[:1].repeat(value.shape[1], 1)
        better = value > best[part.graphs]
        best[part.graphs] = torch.where(better, value, best[part.graphs])
        graph_of_node = part.batch.graph_of_node
        candidate = part.colorings.gather(0, place[graph_of_node].t())
        nodes = part.graphs[batch.graph_of_node]
        winning[:, nodes] = torch.where(better[graph_of_node].t(), candidate, winning[:, nodes])
    return winning


def _maximum_of(run: Run, batch: GraphBatch, colorings: Colorings, *, recompute: bool) -> Tensor:
    """The maximum over some colorings; if told to, what lies between is not kept for gradients."""

    def evaluate() -> Tensor:
        return run(batch, colorings).amax(1)

    if not recompute or not torch.is_grad_enabled():
        return evaluate()
    return checkpoint(evaluate, use_reentrant=False, preserve_rng_state=False)
