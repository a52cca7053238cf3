"""The layers of GIN and the sums over graphs as one differentiable operation on a GPU.

As in `propagation`, kernels read and write only rows that are not padding, and the order of all
sums is fixed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from clipgnn.ops.fused_parameters import Norm
from clipgnn.ops.kernels.launch import graphs, isomorphism, norm
from clipgnn.ops.kernels.launch.isomorphism import Normalized, NormGradient, SumGradient
from clipgnn.ops.kernels.launch.layout import Layout
from clipgnn.ops.structure import Structure


class IsomorphismParameters(NamedTuple):
    """Parameters of a layer, or their gradients, `[members, …]`.

    Attributes:
        first: first map; None in the first layer, where it is applied to attributes before.
        second: second map.
        inside_weight, inside_bias: normalization between the maps.
        after_weight, after_bias: normalization after them.
    """

    first: Tensor | None
    second: Tensor
    inside_weight: Tensor
    inside_bias: Tensor
    after_weight: Tensor
    after_bias: Tensor


def isomorphism_sums(
    structure: Structure,
    rows: Tensor,
    layers: Sequence[IsomorphismParameters],
    norms: Sequence[tuple[Norm, Norm]],
    *,
    training: bool,
    precision: str,
) -> Tensor:
    """Compute the sums over the nodes of each graph after every layer.

    Args:
        structure: the batch.
        rows: `[members, capacity, labelings, channels]`, after the first map of the first layer.
        layers: parameters of the layers.
        norms: normalizations inside and after each layer.
        training: whether to use batch statistics and to update the running averages.
        precision: precision of products, as in `triton.language.dot`.

    Returns:
        `[members, layers, graphs, labelings, channels]`.
    """
    layout = Layout(
        num_nodes=structure.num_nodes,
        capacity=structure.capacity,
        colorings=rows.shape[2],
        channels=rows.shape[3],
        precision=precision,
    )
    passes = _IsomorphismPasses(structure, layout, norms, training)
    flat = [tensor for layer in layers for tensor in layer]
    total: Tensor = _Isomorphism.apply(passes, rows.contiguous(), *flat)  # type: ignore[no-untyped-call]
    return total


class _Isomorphism(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, passes: "_IsomorphismPasses", rows: Tensor, *flat: Tensor | None
    ) -> Tensor:
        width = len(IsomorphismParameters._fields)
        layers = [
            IsomorphismParameters(*flat[start : start + width])  # type: ignore[arg-type]
            for start in range(0, len(flat), width)
        ]
        keep = passes.training and any(ctx.needs_input_grad)
        saved, total = passes.forward(layers, rows, keep=keep)
        if keep:
            ctx.passes, ctx.layers, ctx.saved = passes, layers, saved
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        of_rows, grads = ctx.passes.backward(ctx.layers, ctx.saved, grad)
        return None, of_rows, *(tensor for layer in grads for tensor in layer)


class _Saved(NamedTuple):
    """Rows of a layer before its normalizations."""

    total: Normalized
    product: Normalized


@dataclass(frozen=True)
class _IsomorphismPasses:
    """The forward and the backward pass."""

    structure: Structure
    layout: Layout
    norms: Sequence[tuple[Norm, Norm]]
    training: bool

    def forward(
        self, layers: Sequence[IsomorphismParameters], rows: Tensor, *, keep: bool
    ) -> tuple[list[_Saved], Tensor]:
        structure, layout = self.structure, self.layout
        saved: list[_Saved] = []
        sums = []
        moments = layout.new_sums()
        before: Normalized | None = None
        for layer, (inside, after) in zip(layers, self.norms, strict=True):
            if before is not None:
                rows = isomorphism.multiply(layout, before, _first(layer), moments)
            rows = isomorphism.sum_neighborhoods(layout, structure.incoming, rows, moments)
            total = Normalized(rows, self._coefficients(inside, moments))
            rows = isomorphism.multiply(layout, total, layer.second, moments)
            before = product = Normalized(rows, self._coefficients(after, moments))
            sums.append(
                graphs.sum_graphs(layout, *product, structure.graph_begin, structure.graph_count)
            )
            if keep:
                saved.append(_Saved(total, product))
        return saved, torch.stack(sums, dim=1)

    def backward(
        self, layers: Sequence[IsomorphismParameters], saved: Sequence[_Saved], grad: Tensor
    ) -> tuple[Tensor, list[IsomorphismParameters]]:
        structure, layout = self.structure, self.layout
        grads = [_empty_like(layer) for layer in layers]
        sums = layout.new_sums()
        # The gradient of the first layer's rows is returned, and is 0 for padding.
        of_rows = torch.zeros_like(saved[0].total.rows)
        for number in reversed(range(len(saved))):
            layer, kept, into = layers[number], saved[number], grads[number]
            of_sums = SumGradient(grad[:, number].contiguous(), structure.graph_of_node)
            if number == len(saved) - 1:
                of_product = graphs.sum_graphs_backward(
                    layout, *kept.product, of_sums.graph_of_node, of_sums.grad, sums
                )
            else:
                of_product = isomorphism.multiply_backward(
                    layout, kept.product, _first(layers[number + 1]), of_rows, of_sums, sums
                )
            gradient = norm.gradient_of_norm(
                layout, kept.product.coefficients, sums, into.after_weight, into.after_bias
            )
            of_total = isomorphism.multiply_backward(
                layout,
                kept.total,
                layer.second,
                NormGradient(of_product, kept.product, gradient),
                None,
                sums,
            )
            of_second = isomorphism.sum_products(layout, kept.total, of_product)
            gradient = norm.gradient_of_norm(
                layout, kept.total.coefficients, sums, into.inside_weight, into.inside_bias
            )
            isomorphism.sum_neighborhoods_backward(
                layout, structure.outgoing, NormGradient(of_total, kept.total, gradient), of_rows
            )
            of_first = None
            if number > 0:
                of_first = isomorphism.sum_products(layout, saved[number - 1].product, of_rows)
            grads[number] = into._replace(first=of_first, second=of_second)
        shape = (layout.members, layout.capacity, layout.colorings, layout.channels)
        return of_rows.view(shape), grads

    def _coefficients(self, own: Norm, moments: Tensor) -> Tensor:
        return norm.coefficients_of(self.layout, own, moments, training=self.training)


def _empty_like(layer: IsomorphismParameters) -> IsomorphismParameters:
    """Uninitialized gradients of normalizations. Those of the maps are replaced."""
    return IsomorphismParameters(
        None,
        layer.second,
        *(torch.empty_like(own) for own in layer[2:] if own is not None),
    )


def _first(layer: IsomorphismParameters) -> Tensor:
    assert layer.first is not None
    return layer.first
