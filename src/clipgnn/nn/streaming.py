"""The maximum over colorings when they are too many to hold: a part at a time.

It is a running maximum. With gradients, a first pass without them finds, for each graph and
channel, the coloring that wins; a second pass runs the winners alone, and through them the gradient
of the maximum flows, whose cost no longer depends on how many colorings there are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from clipgnn.coloring.stream import ColoringStream, HeldColorings
from clipgnn.graphs.batch import GraphBatch
from clipgnn.nn.norm import Moments
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
    batch: GraphBatch, stream: ColoringStream, at_once: Callable[[GraphBatch], int]
) -> Iterator[Part]:
    """All colorings of all graphs; graphs whose colorings are used up drop out.

    Args:
        batch: the graphs.
        stream: their colorings.
        at_once: how many colorings of a batch to take at a time.
    """
    start = 0
    counts = stream.counts
    graphs = torch.ones_like(counts, dtype=torch.bool)
    remaining = batch
    while start < stream.most:
        still = counts > start
        if not torch.equal(still, graphs):
            graphs, remaining = still, batch.subset(still)
        stop = min(stream.most, start + at_once(remaining))
        yield Part(graphs, remaining, stream.part(graphs, start, stop))
        start = stop


def maximum(
    run: Run,
    batch: GraphBatch,
    stream: ColoringStream,
    at_once: Callable[[GraphBatch], int],
    inputs: Sequence[Tensor],
    moments: Moments,
    *,
    per_node: bool,
    winners_at_once: int,
) -> Tensor:
    """The maximum over all colorings, `[rows, channels]`, in bounded memory.

    Args:
        run: the network.
        batch: the graphs.
        stream: their colorings.
        at_once: how many colorings of a batch to take at a time.
        inputs: all tensors `run` depends on that may need a gradient, but for the moments.
        moments: the statistics it uses.
        per_node: whether a row is a node. Nodes have too many winning colorings for a pass of
            their own: with gradients, all parts are computed anew on the way back instead.
        winners_at_once: how many winning colorings may be held with their gradients.
    """
    if torch.is_grad_enabled() and not per_node:
        winning = _winners(run, batch, parts(batch, stream, at_once))
        stream = HeldColorings(winning, batch.graph_of_node, batch.num_graphs)
        if stream.most <= winners_at_once:
            return run(batch, winning).amax(1)
    graphs = torch.arange(batch.num_graphs, device=batch.graph_of_node.device)
    program = _Program(
        run=run,
        parts=lambda: parts(batch, stream, at_once),
        graph_of_row=batch.graph_of_node if per_node else graphs,
        inputs=[tensor for tensor in inputs if tensor.requires_grad],
        moments=moments,
    )
    flat = [tensor for pair in program.moments.values() for tensor in pair]
    return _PartwiseMaximum.apply(program, *flat, *program.inputs)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class _Program:
    """What to compute part by part, forth and, with gradients, back."""

    run: Run
    parts: Callable[[], Iterator[Part]]
    graph_of_row: Tensor
    inputs: list[Tensor]
    moments: Moments

    def rows(self, part: Part) -> Tensor:
        """The rows of the result that a part speaks of."""
        return part.graphs[self.graph_of_row]


class _PartwiseMaximum(torch.autograd.Function):
    """A running maximum that keeps nothing of its parts: the way back computes them anew."""

    @staticmethod
    def forward(ctx: Any, program: _Program, *inputs: Tensor) -> Tensor:
        best = winner = torch.empty(0)
        for number, part in enumerate(program.parts()):
            value = program.run(part.batch, part.colorings).amax(1)
            rows = program.rows(part)
            if number == 0:
                best = value.new_full((rows.numel(), value.shape[1]), -inf)
                winner = torch.zeros_like(best, dtype=torch.int32)
            better = value > best[rows]
            best[rows] = torch.where(better, value, best[rows])
            winner[rows] = torch.where(better, number, winner[rows])
        ctx.program = program
        ctx.save_for_backward(winner)
        return best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        program: _Program = ctx.program
        (winner,) = ctx.saved_tensors
        measured = dict(program.moments)
        alone = {
            norm: (mean.detach().requires_grad_(), variance.detach().requires_grad_())
            for norm, (mean, variance) in measured.items()
        }
        inputs = [tensor for pair in alone.values() for tensor in pair] + program.inputs
        totals = [torch.zeros_like(tensor) for tensor in inputs]
        program.moments.update(alone)
        try:
            with torch.enable_grad():
                for number, part in enumerate(program.parts()):
                    rows = program.rows(part)
                    won = torch.where(winner[rows] == number, grad[rows], 0)
                    value = program.run(part.batch, part.colorings).amax(1)
                    # Parts may share a smaller batch, whose making must stay differentiable.
                    found = torch.autograd.grad(
                        value, inputs, won, allow_unused=True, retain_graph=True
                    )
                    del value
                    for total, gradient in zip(totals, found, strict=True):
                        if gradient is not None:
                            total += gradient
        finally:
            program.moments.update(measured)
        return None, *totals


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
