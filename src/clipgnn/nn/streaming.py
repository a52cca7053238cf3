"""The maximum over colorings that are too many to hold: one part at a time.

Without gradients it is a running maximum. With gradients, a first pass without them finds the
winning coloring of each graph and channel; a second pass runs the winners alone, and the gradient
of the maximum flows through them, at a cost that does not depend on the number of colorings. Where
the winners are too many as well, the backward pass computes every part again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from clipgnn.coloring.stream import ColoringStream, HeldColorings
from clipgnn.errors import UnsupportedTransformError
from clipgnn.graphs.batch import GraphBatch
from clipgnn.nn.norm import Moments
from clipgnn.shapes import Colorings

Run = Callable[[GraphBatch, Colorings, Moments], Tensor]
"""A network on a batch under some colorings, with the statistics that its normalization uses:
`[rows, colorings, channels]`, one row per graph (or per node)."""

AtOnce = Callable[[GraphBatch], int]
"""How many colorings of a batch to take at a time."""


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


def parts(batch: GraphBatch, stream: ColoringStream, at_once: AtOnce) -> Iterator[Part]:
    """All colorings of all graphs; graphs whose colorings are used up are left out.

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


@dataclass(frozen=True)
class _Inputs:
    """Every tensor that a run depends on, apart from the colorings."""

    batch: GraphBatch
    moments: Moments
    weights: dict[str, Tensor]

    def tensors(self) -> list[Tensor | None]:
        """The tensors in a fixed order."""
        edges = self.batch.edges
        moments = [tensor for pair in self.moments.values() for tensor in pair]
        graphs = [self.batch.x, self.batch.graph_of_node, edges.weight, edges.attr]
        return [*graphs, *moments, *self.weights.values()]

    def replaced(self, tensors: Sequence[Any]) -> "_Inputs":
        """The same inputs with other tensors, in the order of `tensors`."""
        x, graph_of_node, weight, attr, *others = tensors
        count = 2 * len(self.moments)
        edges = replace(self.batch.edges, weight=weight, attr=attr)
        pairs = zip(others[:count:2], others[1:count:2], strict=True)
        return _Inputs(
            replace(self.batch, x=x, graph_of_node=graph_of_node, edges=edges),
            dict(zip(self.moments, pairs, strict=True)),
            dict(zip(self.weights, others[count:], strict=True)),
        )


def maximum(
    run: Run,
    network: nn.Module,
    batch: GraphBatch,
    stream: ColoringStream,
    at_once: AtOnce,
    moments: Moments,
    *,
    per_node: bool,
    winners_at_once: int,
) -> Tensor:
    """The maximum over all colorings, `[rows, channels]`, in bounded memory.

    Args:
        run: what to compute for a part of the colorings.
        network: the module with all weights that `run` uses.
        batch: the graphs.
        stream: their colorings.
        at_once: how many colorings of a batch to take at a time.
        moments: the statistics that `run` uses.
        per_node: whether a row is a node. Nodes have too many winning colorings for a separate
            pass: with gradients, the backward pass computes every part again instead.
        winners_at_once: how many winning colorings may be held with their gradients.
    """
    autocast = _Autocast.current(batch.x.device.type)
    if torch.is_grad_enabled() and not per_node:
        with torch.no_grad(), autocast.restored():
            winning = _winners(run, batch, moments, parts(batch, stream, at_once))
        stream = HeldColorings(winning, batch.graph_of_node, batch.num_graphs)
        if stream.most <= winners_at_once:
            return run(batch, winning, moments).amax(1)
    module = _RunModule(run, network)
    inputs = _Inputs(batch, moments, dict(module.named_parameters()))
    program = _Program(module, inputs, stream, at_once, per_node, autocast)
    return _PartwiseMaximum.apply(program, *inputs.tensors())  # type: ignore[no-untyped-call]


class _RunModule(nn.Module):
    """A run as a module, so that `functional_call` can replace the weights of its network."""

    def __init__(self, run: Run, network: nn.Module) -> None:
        super().__init__()
        self.run = run
        self.network = network

    def forward(self, batch: GraphBatch, colorings: Colorings, moments: Moments) -> Tensor:
        return self.run(batch, colorings, moments)


@dataclass(frozen=True)
class _Autocast:
    """The state of `torch.autocast` during the forward pass, for passes that repeat it."""

    device_type: str
    enabled: bool
    dtype: torch.dtype

    @classmethod
    def current(cls, device_type: str) -> "_Autocast":
        """The present state."""
        enabled = torch.is_autocast_enabled(device_type)
        return cls(device_type, enabled, torch.get_autocast_dtype(device_type))

    def restored(self) -> torch.autocast:
        """A context with this state."""
        return torch.autocast(self.device_type, self.dtype, self.enabled)


@dataclass(frozen=True)
class _Program:
    """What the forward and the backward pass of `_PartwiseMaximum` compute part by part."""

    module: _RunModule
    inputs: _Inputs
    stream: ColoringStream
    at_once: AtOnce
    per_node: bool
    autocast: _Autocast

    def parts(self, batch: GraphBatch) -> Iterator[tuple[int, Part, Tensor]]:
        """Each part with its number and a mask of the rows that it contributes to."""
        for number, part in enumerate(parts(batch, self.stream, self.at_once)):
            rows = part.graphs[batch.graph_of_node] if self.per_node else part.graphs
            yield number, part, rows


class _PartwiseMaximum(torch.autograd.Function):
    """A running maximum that stores nothing of its parts: the backward pass computes them again.

    All tensors of the program are arguments and are saved as such. So the backward pass computes
    with the weights of the forward pass, also where `torch.func.functional_call` has replaced
    them, and torch refuses tensors that were modified in place since.
    """

    @staticmethod
    def forward(ctx: Any, program: _Program, *tensors: Tensor | None) -> Tensor:
        best = winner = torch.empty(0)
        with program.autocast.restored():
            for number, part, rows in program.parts(program.inputs.batch):
                moments = program.inputs.moments
                value = program.module(part.batch, part.colorings, moments).amax(1)
                if number == 0:
                    best = value.new_full((rows.numel(), value.shape[1]), -inf)
                    winner = torch.zeros_like(best, dtype=torch.int32)
                better = _exceeds(value, best[rows])
                best[rows] = torch.where(better, value, best[rows])
                winner[rows] = torch.where(better, number, winner[rows])
        ctx.program = program
        ctx.save_for_backward(winner, *tensors)
        return best

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            # once_differentiable would give derivatives of zero to torch.autograd.grad.
            raise UnsupportedTransformError(
                "A maximum over streamed colorings can be differentiated once. Got "
                "create_graph=True. For second derivatives set colorings_at_once to the number "
                "of colorings, so that none are streamed."
            )
        program: _Program = ctx.program
        winner, *saved = ctx.saved_tensors
        leaves = [
            None if tensor is None else tensor.detach().requires_grad_(needed)
            for tensor, needed in zip(saved, ctx.needs_input_grad[1:], strict=True)
        ]
        wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
        totals = [torch.zeros_like(leaf) for leaf in wanted]
        inputs = program.inputs.replaced(leaves)
        with torch.enable_grad():
            for number, part, rows in program.parts(inputs.batch):
                won = torch.where(winner[rows] == number, grad[rows], 0)
                arguments = (part.batch, part.colorings, inputs.moments)
                with program.autocast.restored():
                    value = functional_call(program.module, inputs.weights, arguments).amax(1)
                # Parts may share a subset of the batch, so its graph is kept.
                found = torch.autograd.grad(
                    value, wanted, won, allow_unused=True, retain_graph=True
                )
                del value
                for total, gradient in zip(totals, found, strict=True):
                    if gradient is not None:
                        total += gradient
        remaining = iter(totals)
        return None, *(next(remaining) if needed else None for needed in ctx.needs_input_grad[1:])


def _winners(run: Run, batch: GraphBatch, moments: Moments, all_parts: Iterator[Part]) -> Colorings:
    """For each channel, the coloring under which each graph attains its maximum.

    Returns:
        `[channels, nodes]`.
    """
    best = winning = torch.empty(0)
    for part in all_parts:
        value, place = run(part.batch, part.colorings, moments).max(1)
        if best.numel() == 0:
            best = torch.full_like(value, -inf)
            winning = part.colorings[:1].repeat(value.shape[1], 1)
        better = _exceeds(value, best[part.graphs])
        best[part.graphs] = torch.where(better, value, best[part.graphs])
        graph_of_node = part.batch.graph_of_node
        candidate = part.colorings.gather(0, place[graph_of_node].t())
        nodes = part.graphs[batch.graph_of_node]
        winning[:, nodes] = torch.where(better[graph_of_node].t(), candidate, winning[:, nodes])
    return winning


def _exceeds(value: Tensor, best: Tensor) -> Tensor:
    """Where a value replaces the best so far. NaN does, as in `torch.maximum`, and then stays."""
    return (value > best) | value.isnan()
