"""Maximum over colorings and readout of CLIP as one differentiable operation on a GPU."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from clipgnn.ops.fused_parameters import DropoutMasks, HeadParameters, Norm
from clipgnn.ops.kernels.launch import head
from clipgnn.ops.kernels.launch.head import HeadLayout, HeadRows
from clipgnn.ops.structure import Structure

MAX_OUTPUTS = 64
"""Largest number of outputs; more would not fit into the memory of a multiprocessor."""


def head_outputs(
    total: Tensor,
    structure: Structure,
    parameters: HeadParameters,
    norm: Norm,
    masks: DropoutMasks | None,
    *,
    training: bool,
    precision: str,
) -> Tensor:
    """Compute the output of each graph.

    Args:
        total: `[members, graphs, colorings, channels]`, sums over the nodes of each graph.
        structure: the batch.
        parameters: the parameters.
        norm: normalization of the readout.
        masks: dropout of the readout, in training; None for none.
        training: whether to use batch statistics and to update the running averages.
        precision: precision of products, as in `triton.language.dot`.

    Returns:
        `[members, graphs, out_channels]`.
    """
    _, _, colorings, channels = total.shape
    layout = HeadLayout(structure.graph_count, structure.graph_mask, colorings, channels, precision)
    passes = _HeadPasses(layout, norm, masks, training)
    return _Head.apply(passes, total, *parameters)  # type: ignore[no-untyped-call]


class _Head(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, passes: "_HeadPasses", total: Tensor, *flat: Tensor) -> Tensor:
        parameters = HeadParameters(*flat)
        outputs, rows = passes.forward(total, parameters)
        if passes.training and any(ctx.needs_input_grad):
            ctx.passes, ctx.parameters, ctx.saved = passes, parameters, (total, rows)
        return outputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        of_total, grads = ctx.passes.backward(ctx.parameters, *ctx.saved, grad.contiguous())
        return None, of_total, *grads


@dataclass(frozen=True)
class _HeadPasses:
    """The forward and the backward pass."""

    layout: HeadLayout
    norm: Norm
    masks: DropoutMasks | None
    training: bool

    def forward(self, total: Tensor, parameters: HeadParameters) -> tuple[Tensor, HeadRows]:
        pooled, winners = head.max_over_colorings(self.layout, total, parameters)
        outputs, hidden, coefficients = head.readout(
            self.layout, pooled, parameters, self.norm, self.masks, training=self.training
        )
        return outputs, HeadRows(pooled, winners, hidden, coefficients)

    def backward(
        self, parameters: HeadParameters, total: Tensor, rows: HeadRows, grad: Tensor
    ) -> tuple[Tensor, HeadParameters]:
        grads = HeadParameters(*(torch.empty_like(own) for own in parameters))
        grad_pooled = head.readout_backward(self.layout, rows, parameters, self.masks, grad, grads)
        grad_total, of_weight, of_bias = head.max_over_colorings_backward(
            self.layout, total, parameters, rows.winners, grad_pooled
        )
        # A bias before a batch normalization has a gradient of 0.
        return grad_total, grads._replace(
            last_weight=of_weight,
            last_bias=of_bias,
            first_bias=None,  # type: ignore[arg-type]
        )
