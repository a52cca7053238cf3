"""The local iterations of CLIP and the sums over graphs as one differentiable operation on a GPU.

Kernels read and write only the rows that are not padding. The order of all sums is fixed and
depends neither on the capacity of a batch nor on the other members, so that results are
bit-identical in every run and for every grouping of members.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from clipgnn.ops.fused_parameters import LayerParameters, Norm
from clipgnn.ops.kernels.launch import attributes, graphs, merge, neighbors, norm, rows
from clipgnn.ops.kernels.launch.layout import Layout
from clipgnn.ops.kernels.launch.rows import MessageGradient
from clipgnn.ops.structure import Structure


@dataclass(frozen=True)
class NodeInputs:
    """Attributes and colors of the nodes of a batch.

    Attributes:
        x: attributes `[members * capacity, in_channels]`, or labels `[members * capacity]`.
        in_channels: channels of the attributes, or number of labels.
        colors: `[colorings, members * capacity]`; None for one coloring without colors.
    """

    x: Tensor
    in_channels: int
    colors: Tensor | None


def propagate(
    structure: Structure,
    inputs: NodeInputs,
    layers: Sequence[LayerParameters],
    norms: Sequence[tuple[Norm, Norm]],
    *,
    training: bool,
    precision: str,
) -> Tensor:
    """Compute the sums of the last activations over the nodes of each graph.

    Args:
        structure: the batch.
        inputs: attributes and colors of its nodes.
        layers: parameters of the layers.
        norms: normalizations of φ and of ψ of each layer.
        training: whether to use batch statistics and to update the running averages.
        precision: precision of products, as in `triton.language.dot`.

    Returns:
        `[members, graphs, colorings, channels]`.
    """
    layout = Layout(
        num_nodes=structure.num_nodes,
        capacity=structure.capacity,
        colorings=1 if inputs.colors is None else inputs.colors.shape[0],
        channels=layers[0].phi_second.shape[1],
        precision=precision,
    )
    passes = _PropagationPasses(structure, inputs, layout, norms, training)
    flat = [tensor for layer in layers for tensor in layer]
    total: Tensor = _Propagate.apply(passes, *flat)  # type: ignore[no-untyped-call]
    return total


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, passes: "_PropagationPasses", *flat: Tensor | None) -> Tensor:
        width = len(LayerParameters._fields)
        layers = [
            LayerParameters(*flat[start : start + width])  # type: ignore[arg-type]
            for start in range(0, len(flat), width)
        ]
        keep = passes.training and any(ctx.needs_input_grad)
        saved, total = passes.forward(layers, keep=keep)
        if keep:
            ctx.passes, ctx.layers, ctx.saved = passes, layers, saved
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        saved, ctx.saved = ctx.saved, None  # their memory is overwritten
        if saved is None:
            raise RuntimeError(
                "The fused GPU kernels compute gradients once only. Got a second backward pass."
            )
        grads = ctx.passes.backward(ctx.layers, saved, grad.contiguous())
        return None, *(tensor for layer in grads for tensor in layer)


class _Saved(NamedTuple):
    """Rows of a layer, and coefficients of its normalizations."""

    message: Tensor
    own: Tensor
    total: Tensor | None
    merged: Tensor
    message_coefficients: Tensor
    own_coefficients: Tensor


@dataclass(frozen=True)
class _PropagationPasses:
    """The forward and the backward pass."""

    structure: Structure
    inputs: NodeInputs
    layout: Layout
    norms: Sequence[tuple[Norm, Norm]]
    training: bool

    def forward(
        self, layers: Sequence[LayerParameters], *, keep: bool
    ) -> tuple[list[_Saved], Tensor]:
        structure, inputs, layout = self.structure, self.inputs, self.layout
        saved: list[_Saved] = []
        for number, (layer, (message_norm, own_norm)) in enumerate(
            zip(layers, self.norms, strict=True)
        ):
            message, own, moments = layout.new_rows(), layout.new_rows(), layout.new_sums()
            if number == 0:
                merged = merge.merge_maps(layout, None, layer)
                of_nodes = attributes.map_attributes(layout, inputs.x, inputs.in_channels, layer)
                attributes.look_up_rows(
                    layout,
                    of_nodes,
                    inputs.colors,
                    inputs.in_channels,
                    layer,
                    message,
                    own,
                    moments,
                )
            else:
                merged = merge.merge_maps(layout, layers[number - 1].last, layer)
                before = saved[-1]
                rows.multiply_rows(
                    layout, before.own, before.own_coefficients, merged, message, own, moments
                )
                if not keep:
                    saved.clear()
            of_message = norm.coefficients_of(layout, message_norm, moments, training=self.training)
            total = layout.new_rows() if keep else None
            neighbors.sum_neighbors(
                layout, structure.incoming, message, of_message, own, merged, total, moments
            )
            of_own = norm.coefficients_of(layout, own_norm, moments, training=self.training)
            saved.append(_Saved(message, own, total, merged, of_message, of_own))
        result = graphs.sum_graphs(
            layout, own, of_own, structure.graph_begin, structure.graph_count
        )
        return saved, result

    def backward(
        self, layers: Sequence[LayerParameters], saved: list[_Saved], grad: Tensor
    ) -> list[LayerParameters]:
        structure, inputs, layout = self.structure, self.inputs, self.layout
        grads = [_empty_like(layer) for layer in layers]
        sums = layout.new_sums()
        last = saved[-1]
        grad_own = graphs.sum_graphs_backward(
            layout, last.own, last.own_coefficients, structure.graph_of_node, grad, sums
        )
        grad_total, grad_message = layout.new_rows(), layout.new_rows()
        for number in reversed(range(len(saved))):
            layer, kept, into = layers[number], saved.pop(), grads[number]
            gradient = norm.gradient_of_norm(
                layout, kept.own_coefficients, sums, into.psi_norm_weight, into.psi_norm_bias
            )
            neighbors.sum_neighbors_backward(
                layout, kept.own, grad_own, kept.own_coefficients, gradient, kept.merged, grad_total
            )
            neighbors.send_to_neighbors(
                layout,
                structure.outgoing,
                kept.message,
                kept.message_coefficients,
                grad_total,
                grad_message,
                sums,
            )
            gradient = norm.gradient_of_norm(
                layout, kept.message_coefficients, sums, into.phi_norm_weight, into.phi_norm_bias
            )
            of_message = MessageGradient(
                kept.message, grad_message, kept.message_coefficients, gradient
            )
            before = (saved[-1].own, saved[-1].own_coefficients) if saved else None
            assert kept.total is not None
            of_merged = rows.sum_products(layout, before, kept.total, of_message, grad_own)
            if before is not None:
                merge.merge_maps_backward(
                    layout,
                    layers[number - 1].psi_second,
                    layer,
                    of_merged,
                    into,
                    grads[number - 1].psi_second,
                )
                rows.multiply_rows_backward(
                    layout, *before, kept.merged, of_message, grad_own, sums
                )
                continue
            merge.merge_maps_backward(layout, None, layer, of_merged, into, None)
            attributes.map_attributes_backward(
                layout, inputs.x, inputs.in_channels, of_message, grad_own, into
            )
            if inputs.colors is not None:
                attributes.sum_over_colors(
                    layout, of_message, grad_own, inputs.colors, inputs.in_channels, into
                )
        return grads


def _empty_like(layer: LayerParameters) -> LayerParameters:
    """Uninitialized gradients of a layer.

    Biases before a batch normalization have a gradient of 0. Computed, it would be rounding error,
    which Adam would scale to the size of the learning rate.
    """
    tensors: list[Any] = [None if own is None else torch.empty_like(own) for own in layer]
    return LayerParameters(*tensors)._replace(phi_bias=None, psi_bias=None, psi_second_bias=None)  # type: ignore[arg-type]
