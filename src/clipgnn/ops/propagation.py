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

from clipgnn.ops.gather_sum import Neighbors
from clipgnn.ops.kernels import launch
from clipgnn.ops.kernels.launch import Layout


@dataclass(frozen=True)
class Structure:
    """Graphs and colorings of a batch.

    Attributes:
        x: attributes `[members * capacity, in_channels]`, or labels `[members * capacity]`.
        in_channels: channels of the attributes, or number of labels.
        colors: `[colorings, members * capacity]`; None for one coloring without colors.
        num_nodes: `[members]`, nodes that are not padding.
        incoming: neighbors of each node.
        outgoing: for each node, the nodes that have it as a neighbor.
        graph_begin: `[members * graphs]`, first node of each graph.
        graph_count: `[members * graphs]`, nodes of each graph.
        graph_of_node: `[members * capacity]`.
    """

    x: Tensor
    in_channels: int
    colors: Tensor | None
    num_nodes: Tensor
    incoming: Neighbors
    outgoing: Neighbors
    graph_begin: Tensor
    graph_count: Tensor
    graph_of_node: Tensor


class Norm(NamedTuple):
    """A batch normalization: parameters and running averages `[members, channels]`.

    A channel with a standard deviation of less than `unit` is constant; see `nn.norm.BatchNorm`.
    """

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    running_weight: Tensor
    epsilon: float
    momentum: float
    unit: float
    ramp: float


class LayerParameters(NamedTuple):
    """Parameters of a layer, or their gradients, `[members, …]`.

    Attributes:
        phi_weight, phi_bias: first map of φ.
        phi_second: second map of φ, without bias.
        psi_weight, psi_bias: first map of ψ; the last rows are for the sum over neighbors.
        phi_norm_weight, phi_norm_bias, psi_norm_weight, psi_norm_bias: normalizations.
        psi_second, psi_second_bias: second map of ψ; None for the last layer, where it is applied
            after the sum over the nodes of a graph.
    """

    phi_weight: Tensor
    phi_bias: Tensor
    phi_second: Tensor
    psi_weight: Tensor
    psi_bias: Tensor
    phi_norm_weight: Tensor
    phi_norm_bias: Tensor
    psi_norm_weight: Tensor
    psi_norm_bias: Tensor
    psi_second: Tensor | None
    psi_second_bias: Tensor | None

    @property
    def last(self) -> tuple[Tensor, Tensor]:
        """The second map of ψ."""
        assert self.psi_second is not None
        assert self.psi_second_bias is not None
        return self.psi_second, self.psi_second_bias


def propagate(
    structure: Structure,
    layers: Sequence[LayerParameters],
    norms: Sequence[tuple[Norm, Norm]],
    *,
    training: bool,
    precision: str,
) -> Tensor:
    """Compute the sums of the last activations over the nodes of each graph.

    Args:
        structure: the batch.
        layers: parameters of the layers.
        norms: normalizations of φ and of ψ of each layer.
        training: whether to use batch statistics and to update the running averages.
        precision: precision of products, as in `triton.language.dot`.

    Returns:
        `[members, graphs, colorings, channels]`.
    """
    layout = Layout(
        num_nodes=structure.num_nodes,
        capacity=structure.graph_of_node.numel() // structure.num_nodes.numel(),
        colorings=1 if structure.colors is None else structure.colors.shape[0],
        channels=layers[0].phi_second.shape[1],
        precision=precision,
    )
    program = _Program(structure, layout, norms, training)
    flat = [tensor for layer in layers for tensor in layer]
    total: Tensor = _Propagate.apply(program, *flat)  # type: ignore[no-untyped-call]
    return total


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, program: "_Program", *flat: Tensor | None) -> Tensor:
        width = len(LayerParameters._fields)
        layers = [
            LayerParameters(*flat[start : start + width])  # type: ignore[arg-type]
            for start in range(0, len(flat), width)
        ]
        keep = program.training and any(ctx.needs_input_grad)
        saved, total = program.forward(layers, keep=keep)
        if keep:
            ctx.program, ctx.layers, ctx.saved = program, layers, saved
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        saved, ctx.saved = ctx.saved, None  # their memory is overwritten
        if saved is None:
            raise RuntimeError(
                "The fused GPU kernels compute gradients once only. Got a second backward pass."
            )
        grads = ctx.program.backward(ctx.layers, saved, grad.contiguous())
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
class _Program:
    """The forward and the backward pass."""

    structure: Structure
    layout: Layout
    norms: Sequence[tuple[Norm, Norm]]
    training: bool

    def forward(
        self, layers: Sequence[LayerParameters], *, keep: bool
    ) -> tuple[list[_Saved], Tensor]:
        structure, layout = self.structure, self.layout
        saved: list[_Saved] = []
        for number, (layer, (message_norm, own_norm)) in enumerate(
            zip(layers, self.norms, strict=True)
        ):
            message, own, moments = layout.new_rows(), layout.new_rows(), layout.new_sums()
            if number == 0:
                merged = launch.merge_maps(layout, None, layer)
                of_nodes = launch.map_attributes(layout, structure.x, structure.in_channels, layer)
                launch.look_up_rows(
                    layout,
                    of_nodes,
                    structure.colors,
                    structure.in_channels,
                    layer,
                    message,
                    own,
                    moments,
                )
            else:
                merged = launch.merge_maps(layout, layers[number - 1].last, layer)
                before = saved[-1]
                launch.multiply_rows(
                    layout, before.own, before.own_coefficients, merged, message, own, moments
                )
                if not keep:
                    saved.clear()
            of_message = launch.coefficients_of(layout, message_norm, moments, self.training)
            total = layout.new_rows() if keep else None
            launch.sum_neighbors(
                layout, structure.incoming, message, of_message, own, merged, total, moments
            )
            of_own = launch.coefficients_of(layout, own_norm, moments, self.training)
            saved.append(_Saved(message, own, total, merged, of_message, of_own))
        result = launch.sum_graphs(
            layout, own, of_own, structure.graph_begin, structure.graph_count
        )
        return saved, result

    def backward(
        self, layers: Sequence[LayerParameters], saved: list[_Saved], grad: Tensor
    ) -> list[LayerParameters]:
        structure, layout = self.structure, self.layout
        grads = [_empty_like(layer) for layer in layers]
        sums = layout.new_sums()
        last = saved[-1]
        grad_own = launch.sum_graphs_backward(
            layout, last.own, last.own_coefficients, structure.graph_of_node, grad, sums
        )
        grad_total, grad_message = layout.new_rows(), layout.new_rows()
        for number in reversed(range(len(saved))):
            layer, kept, into = layers[number], saved.pop(), grads[number]
            gradient = launch.gradient_of_norm(
                layout, kept.own_coefficients, sums, into.psi_norm_weight, into.psi_norm_bias
            )
            launch.sum_neighbors_backward(
                layout, kept.own, grad_own, kept.own_coefficients, gradient, kept.merged, grad_total
            )
            launch.send_to_neighbors(
                layout,
                structure.outgoing,
                kept.message,
                kept.message_coefficients,
                grad_total,
                grad_message,
                sums,
            )
            gradient = launch.gradient_of_norm(
                layout, kept.message_coefficients, sums, into.phi_norm_weight, into.phi_norm_bias
            )
            of_message = (kept.message, grad_message, kept.message_coefficients, gradient)
            before = (saved[-1].own, saved[-1].own_coefficients) if saved else None
            of_merged = launch.sum_products(layout, before, kept.total, of_message, grad_own)
            if before is not None:
                launch.merge_maps_backward(
                    layout,
                    layers[number - 1].psi_second,
                    layer,
                    of_merged,
                    into,
                    grads[number - 1].psi_second,
                )
                launch.multiply_rows_backward(
                    layout, *before, kept.merged, of_message, grad_own, sums
                )
                continue
            launch.merge_maps_backward(layout, None, layer, of_merged, into, None)
            launch.map_attributes_backward(
                layout, structure.x, structure.in_channels, of_message, grad_own, into
            )
            if structure.colors is not None:
                launch.sum_over_colors(
                    layout, of_message, grad_own, structure.colors, structure.in_channels, into
                )
        return grads


def _empty_like(layer: LayerParameters) -> LayerParameters:
    """Uninitialized gradients of a layer.

    Biases before a batch normalization have a gradient of 0. Computed, it would be rounding error,
    which Adam would scale to the size of the learning rate.
    """
    tensors: list[Any] = [None if own is None else torch.empty_like(own) for own in layer]
    return LayerParameters(*tensors)._replace(phi_bias=None, psi_bias=None, psi_second_bias=None)  # type: ignore[arg-type]
