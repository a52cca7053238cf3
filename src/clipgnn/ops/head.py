"""Maximum over colorings and readout of CLIP as one differentiable operation on a GPU."""

# mypy: ignore-errors
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor

from clipgnn.ops.kernels import head, norm
from clipgnn.ops.kernels.launch import ONE_TILE
from clipgnn.ops.propagation import Norm

MAX_GRAPHS = 128
"""Largest number of graphs of a batch in training: one program normalizes all of them."""

MAX_OUTPUTS = 64
"""Largest number of outputs; more would not fit into the memory of a multiprocessor."""

TILE = 16
"""Graphs of a tile of the maximum over colorings."""


class Dropout(NamedTuple):
    """Dropout with masks that are hashed from seeds and a counter; see `nn.dropout`."""

    probability: float
    seeds: Tensor
    counter: Tensor


class HeadParameters(NamedTuple):
    """Parameters, or their gradients: the map before the maximum, and the readout."""

    last_weight: Tensor
    last_bias: Tensor
    first_weight: Tensor
    first_bias: Tensor
    norm_weight: Tensor
    norm_bias: Tensor
    second_weight: Tensor
    second_bias: Tensor


def head_outputs(
    total: Tensor,
    sizes: Tensor,
    is_graph: Tensor,
    parameters: HeadParameters,
    own_norm: Norm,
    dropout: Dropout | None,
    *,
    training: bool,
    precision: str,
) -> Tensor:
    """Compute the output of each graph.

    Args:
        total: `[members, graphs, colorings, channels]`, sums over the nodes of each graph.
        sizes: `[members * graphs]`, number of nodes of each graph.
        is_graph: `[members, graphs]`, which graphs are not padding.
        parameters: the parameters.
        own_norm: normalization of the readout.
        dropout: dropout of the readout, in training; None for none.
        training: whether to use batch statistics and to update the running averages.
        precision: precision of products, as in `triton.language.dot`.

    Returns:
        `[members, graphs, out_channels]`.
    """
    program = _Program(total.shape, sizes, is_graph, own_norm, dropout, training, precision)
    return _Head.apply(program, total, *parameters)


class _Head(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, program: "_Program", total: Tensor, *flat: Tensor) -> Tensor:
        parameters = HeadParameters(*flat)
        outputs, saved = program.forward(total, parameters)
        if program.training and any(ctx.needs_input_grad):
            ctx.program, ctx.parameters, ctx.saved = program, parameters, (total, *saved)
        return outputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        of_total, grads = ctx.program.backward(ctx.parameters, grad.contiguous(), *ctx.saved)
        return None, of_total, *grads


class _Program:
    def __init__(self, shape, sizes, is_graph, own_norm, dropout, training, precision) -> None:
        self.members, self.graphs, self.colorings, self.channels = shape
        self.sizes, self.is_graph = sizes, is_graph
        self.norm, self.dropout, self.training = own_norm, dropout, training
        self.width = max(16, triton.next_power_of_2(self.channels))
        self.precision = precision
        self.tiles = triton.cdiv(self.graphs, TILE)
        self.block = max(16, min(MAX_GRAPHS, triton.next_power_of_2(self.graphs)))

    @property
    def _dropout_arguments(self):
        if self.dropout is None:
            return self.sizes, self.sizes, 0, 1.0
        probability = self.dropout.probability
        threshold = int(probability * 2**32)
        return self.dropout.seeds, self.dropout.counter, threshold, 1 / (1 - probability)

    def forward(self, total: Tensor, parameters: HeadParameters):
        pooled = total.new_empty(self.members, self.graphs, self.channels)
        winners = torch.empty_like(pooled, dtype=torch.int32)
        head.max_over_colorings[(self.tiles, self.members)](
            total,
            self.sizes,
            parameters.last_weight,
            parameters.last_bias,
            pooled,
            winners,
            self.graphs,
            self.colorings,
            self.channels,
            GRAPHS=TILE,
            WIDTH=self.width,
            PRECISION=self.precision,
            **ONE_TILE,
        )
        out_channels = parameters.second_weight.shape[2]
        hidden = torch.empty_like(pooled) if self.training else pooled
        coefficients = pooled.new_empty(self.members, norm.NUM_COEFFICIENTS.value, self.channels)
        outputs = pooled.new_empty(self.members, self.graphs, out_channels)
        own = self.norm
        head.readout[(self.members, triton.cdiv(self.graphs, self.block))](
            pooled,
            self.is_graph,
            parameters.first_weight,
            parameters.first_bias,
            own.weight,
            own.bias,
            own.running_mean,
            own.running_var,
            own.running_weight,
            parameters.second_weight,
            parameters.second_bias,
            hidden,
            coefficients,
            outputs,
            *self._dropout_arguments,
            self.graphs,
            self.channels,
            out_channels,
            own.epsilon,
            own.unit,
            own.ramp,
            own.momentum,
            TRAINING=self.training,
            DROPOUT=self.dropout is not None,
            GRAPHS=self.block,
            WIDTH=self.width,
            OUT=max(16, triton.next_power_of_2(out_channels)),
            PRECISION=self.precision,
            **ONE_TILE,
        )
        return outputs, (pooled, winners, hidden, coefficients)

    def backward(self, parameters, grad, total, pooled, winners, hidden, coefficients):
        grads = HeadParameters(*(torch.empty_like(own) for own in parameters))
        grad_pooled = torch.empty_like(pooled)
        out_channels = parameters.second_weight.shape[2]
        head.readout_backward[(self.members,)](
            pooled,
            self.is_graph,
            parameters.first_weight,
            parameters.second_weight,
            hidden,
            coefficients,
            grad,
            grad_pooled,
            grads.first_weight,
            grads.norm_weight,
            grads.norm_bias,
            grads.second_weight,
            grads.second_bias,
            *self._dropout_arguments,
            self.graphs,
            self.channels,
            out_channels,
            DROPOUT=self.dropout is not None,
            GRAPHS=self.block,
            WIDTH=self.width,
            OUT=max(16, triton.next_power_of_2(out_channels)),
            PRECISION=self.precision,
            **ONE_TILE,
        )
        grad_total = torch.empty_like(total)
        square = self.channels**2
        parts = total.new_empty(self.members, self.tiles, square + self.channels)
        head.max_over_colorings_backward[(self.tiles, self.members)](
            total,
            self.sizes,
            parameters.last_weight,
            winners,
            grad_pooled,
            grad_total,
            parts,
            self.graphs,
            self.colorings,
            self.channels,
            GRAPHS=TILE,
            WIDTH=self.width,
            PRECISION=self.precision,
            **ONE_TILE,
        )
        summed = parts.sum(1)
        of_last = summed[:, :square].reshape(parameters.last_weight.shape)
        # A bias before a batch normalization has a gradient of 0.
        return grad_total, grads._replace(
            last_weight=of_last, last_bias=summed[:, square:], first_bias=None
        )
