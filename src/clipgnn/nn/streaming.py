"""Maximum over more colorings than fit in memory, computed in parts.

Without gradients it is a running maximum. With gradients, a first pass without gradients finds the
winning coloring of each graph and channel, which attains the maximum. A second pass computes only
the winning colorings with gradients, at a cost that does not depend on the number of colorings. If
there are also too many winning colorings, the backward pass computes every part again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from clipgnn.coloring.stream import ColoringStream, InMemoryColorings
from clipgnn.errors import UnsupportedTransformError
from clipgnn.graphs.exact import ExactBatch
from clipgnn.nn.norm import Moments
from clipgnn.shapes import Colorings

Run = Callable[[ExactBatch, Colorings, Moments], Tensor]
"""A function that computes `[rows, colorings, channels]`, with a row for each graph or node, from a
batch, colorings and the statistics for normalization."""

PartSize = Callable[[ExactBatch], int]
"""A function that returns the number of colorings of a part, for a batch."""


@dataclass(frozen=True)
class Part:
    """Some colorings of the graphs whose colorings are not yet complete.

    Attributes:
        graphs: mask of these graphs in the whole batch.
        batch: these graphs.
        colorings: `[colorings, nodes]`, colorings of their nodes.
    """

    graphs: Tensor
    batch: ExactBatch
    colorings: Colorings


def parts(batch: ExactBatch, stream: ColoringStream, part_size: PartSize) -> Iterator[Part]:
    """Yield all colorings of all graphs in parts, without graphs that have no more colorings.

    Args:
        batch: the graphs.
        stream: their colorings.
        part_size: number of colorings of a part.
    """
    start = 0
    counts = stream.counts
    graphs = torch.ones_like(counts, dtype=torch.bool)
    remaining = batch
    while start < stream.max_count:
        active = counts > start
        if not torch.equal(active, graphs):
            graphs, remaining = active, batch.subset(active)
        stop = min(stream.max_count, start + part_size(remaining))
        yield Part(graphs, remaining, stream.part(graphs, start, stop))
        start = stop


@dataclass(frozen=True)
class _Inputs:
    """Every tensor that a run depends on, apart from the colorings."""

    batch: ExactBatch
    moments: Moments
    weights: dict[str, Tensor]

    def tensors(self) -> list[Tensor | None]:
        """The tensors in a fixed order."""
        edges = self.batch.edges
        moments = [tensor for pair in self.moments.values() for tensor in pair]
        graphs = [self.batch.x, self.batch.graph_of_node, edges.weight, edges.attr]
        return [*graphs, *moments, *self.weights.values()]

    def replaced(self, tensors: Sequence[Any]) -> "_Inputs":
        """Replace the tensors, in the order of `tensors`."""
        x, graph_of_node, weight, attr, *others = tensors
        count = 2 * len(self.moments)
        edges = replace(self.batch.edges, weight=weight, edge_attr=attr)
        pairs = zip(others[:count:2], others[1:count:2], strict=True)
        return _Inputs(
            replace(self.batch, x=x, graph_of_node=graph_of_node, edges=edges),
            dict(zip(self.moments, pairs, strict=True)),
            dict(zip(self.weights, others[count:], strict=True)),
        )


def maximum(
    run: Run,
    network: nn.Module,
    batch: ExactBatch,
    stream: ColoringStream,
    part_size: PartSize,
    moments: Moments,
    *,
    per_node: bool,
    max_winners: int,
) -> Tensor:
    """Compute the maximum over all colorings, `[rows, channels]`, in bounded memory.

    Args:
        run: function that is computed for each part of the colorings.
        network: the module with all weights that `run` uses.
        batch: the graphs.
        stream: their colorings.
        part_size: number of colorings of a part.
        moments: the statistics that `run` uses.
        per_node: whether a row is a node. Nodes have too many winning colorings for a second pass:
            with gradients, the backward pass computes every part again instead.
        max_winners: largest number of winning colorings that are computed together with gradients.
    """
    autocast = _Autocast.current(batch.x.device.type)
    if torch.is_grad_enabled() and not per_node:
        with torch.no_grad(), autocast.restored():
            winning = _winners(run, batch, moments, parts(batch, stream, part_size))
        stream = InMemoryColorings(winning, batch.graph_of_node, batch.num_graphs)
        if stream.max_count <= max_winners:
            return run(batch, winning, moments).amax(1)
    module = _RunModule(run, network)
    inputs = _Inputs(batch, moments, dict(module.named_parameters()))
    program = _PartwiseProgram(module, inputs, stream, part_size, per_node, autocast)
    return _PartwiseMaximum.apply(program, *inputs.tensors())  # type: ignore[no-untyped-call]


class _RunModule(nn.Module):
    """A `Run` as a module, so that `functional_call` can replace the weights of its network."""

    def __init__(self, run: Run, network: nn.Module) -> None:
        super().__init__()
        self.run = run
        self.network = network

    def forward(self, batch: ExactBatch, colorings: Colorings, moments: Moments) -> Tensor:
        return self.run(batch, colorings, moments)


@dataclass(frozen=True)
class _Autocast:
    """State of `torch.autocast` in the forward pass, for passes that repeat it."""

    device_type: str
    enabled: bool
    dtype: torch.dtype

    @classmethod
    def current(cls, device_type: str) -> "_Autocast":
        """The current state."""
        enabled = torch.is_autocast_enabled(device_type)
        return cls(device_type, enabled, torch.get_autocast_dtype(device_type))

    def restored(self) -> torch.autocast:
        """A context with this state."""
        return torch.autocast(self.device_type, self.dtype, self.enabled)


@dataclass(frozen=True)
class _PartwiseProgram:
    """The computation of `_PartwiseMaximum`, part by part."""

    module: _RunModule
    inputs: _Inputs
    stream: ColoringStream
    part_size: PartSize
    per_node: bool
    autocast: _Autocast

    def parts(self, batch: ExactBatch) -> Iterator[tuple[int, Part, Tensor]]:
        """Each part with its number and a mask of the rows that it contributes to."""
        for number, part in enumerate(parts(batch, self.stream, self.part_size)):
            rows = part.graphs[batch.graph_of_node] if self.per_node else part.graphs
            yield number, part, rows


class _PartwiseMaximum(torch.autograd.Function):
    """A running maximum without stored activations: the backward pass computes the parts again.

    All tensors of the program are arguments and are saved for the backward pass. It therefore uses
    the weights of the forward pass, also if `torch.func.functional_call` has replaced them, and
    torch raises an error if a tensor was modified in place since.
    """

    @staticmethod
    def forward(ctx: Any, program: _PartwiseProgram, *tensors: Tensor | None) -> Tensor:
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
            # With once_differentiable, torch.autograd.grad would return zero derivatives.
            raise UnsupportedTransformError(
                "A maximum over streamed colorings can be differentiated once only. Got "
                "create_graph=True. For second derivatives set colorings_at_once to the number "
                "of colorings, so that none are streamed."
            )
        program: _PartwiseProgram = ctx.program
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
                grad_of_part = torch.where(winner[rows] == number, grad[rows], 0)
                arguments = (part.batch, part.colorings, inputs.moments)
                with program.autocast.restored():
                    value = functional_call(program.module, inputs.weights, arguments).amax(1)
                # Parts can share a subset of the batch, so its autograd graph is retained.
                found = torch.autograd.grad(
                    value, wanted, grad_of_part, allow_unused=True, retain_graph=True
                )
                del value
                for total, gradient in zip(totals, found, strict=True):
                    if gradient is not None:
                        total += gradient
        remaining = iter(totals)
        return None, *(next(remaining) if needed else None for needed in ctx.needs_input_grad[1:])


def _winners(run: Run, batch: ExactBatch, moments: Moments, all_parts: Iterator[Part]) -> Colorings:
    """Find, for each channel and graph, the coloring that attains the maximum.

    Returns:
        `[channels, nodes]`.
    """
    best = winning = torch.empty(0)
    for part in all_parts:
        value, index = run(part.batch, part.colorings, moments).max(1)  # [rows, channels]
        if best.numel() == 0:
            best = torch.full_like(value, -inf)
            winning = part.colorings[:1].repeat(value.shape[1], 1)
        better = _exceeds(value, best[part.graphs])
        best[part.graphs] = torch.where(better, value, best[part.graphs])
        graph_of_node = part.batch.graph_of_node
        candidate = part.colorings.gather(0, index[graph_of_node].t())  # [channels, nodes]
        nodes = part.graphs[batch.graph_of_node]
        winning[:, nodes] = torch.where(better[graph_of_node].t(), candidate, winning[:, nodes])
    return winning


def _exceeds(value: Tensor, best: Tensor) -> Tensor:
    """Where a value replaces the maximum. NaN does, as in `torch.maximum`, and remains."""
    return (value > best) | value.isnan()
