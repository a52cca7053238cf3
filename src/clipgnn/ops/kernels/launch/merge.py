"""Launches of the products of adjacent affine maps."""

from torch import Tensor

from clipgnn.ops.fused_parameters import LayerParameters
from clipgnn.ops.kernels import merge as kernels
from clipgnn.ops.kernels.launch.layout import ONE_TILE, Layout


def merge_maps(
    layout: Layout, last: tuple[Tensor, Tensor] | None, layer: LayerParameters
) -> Tensor:
    """Multiply adjacent affine maps; `last` is None for the first layer."""
    merged = layout.new_merged()
    kernels.merge_maps[(1 if last is None else 3, layout.members)](
        *(last or (merged, merged)),
        layer.phi_weight,
        layer.phi_bias,
        layer.phi_second,
        layer.psi_weight,
        layer.psi_bias,
        merged,
        layer.psi_weight.shape[1],
        layout.channels,
        FIRST=last is None,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )
    return merged


def merge_maps_backward(
    layout: Layout,
    last_weight: Tensor | None,
    layer: LayerParameters,
    grad: Tensor,
    into: LayerParameters,
    into_last_weight: Tensor | None,
) -> None:
    """Gradients of the weights of `merge_maps`, stored in `into` and `into_last_weight`."""
    kernels.merge_maps_backward[(2 if last_weight is None else 5, layout.members)](
        grad if last_weight is None else last_weight,
        layer.phi_weight,
        layer.phi_second,
        layer.psi_weight,
        grad,
        grad if last_weight is None else into_last_weight,
        into.phi_weight,
        into.phi_second,
        into.psi_weight,
        layer.psi_weight.shape[1],
        layout.channels,
        FIRST=last_weight is None,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )
