"""Launches of the first maps, on attributes and colors."""

import triton
from torch import Tensor

from clipgnn.ops.fused_parameters import LayerParameters
from clipgnn.ops.kernels import attributes as kernels
from clipgnn.ops.kernels.launch.layout import MANY_TILES, ONE_TILE, ROWS, Layout
from clipgnn.ops.kernels.launch.rows import MessageGradient

NODES = 16
"""Nodes of a tile for the gradient of the first maps."""

NODE_PARTS = 32
"""Partial sums of the gradient of the first maps, for each member."""

COLOR_PARTS = 32
"""Partial sums of the gradient of the colors, for each member."""


def map_attributes(layout: Layout, x: Tensor, in_channels: int, layer: LayerParameters) -> Tensor:
    """Apply the first maps to attributes: `[members, capacity, 2 * channels]`."""
    of_nodes = layout.new(layout.capacity, 2 * layout.channels)
    kernels.map_attributes[(triton.cdiv(layout.capacity, ROWS), layout.members)](
        x,
        layer.phi_weight,
        layer.phi_bias,
        layer.psi_weight,
        layer.psi_bias,
        of_nodes,
        layout.num_nodes,
        layout.capacity,
        in_channels,
        layer.phi_weight.shape[1],
        layer.psi_weight.shape[1],
        layout.channels,
        LABELS=x.dim() == 1,
        ROWS=ROWS,
        IN=_input_block(in_channels),
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )
    return of_nodes


def map_attributes_backward(
    layout: Layout,
    x: Tensor,
    in_channels: int,
    of_message: MessageGradient,
    grad_own: Tensor,
    into: LayerParameters,
) -> None:
    """Gradients of `map_attributes`, stored in `into`."""
    block = _input_block(in_channels)
    parts = layout.new(NODE_PARTS, in_channels, 2 * layout.channels)
    grid = (NODE_PARTS, layout.members, triton.cdiv(in_channels, block))
    kernels.map_attributes_backward[grid](
        x,
        *of_message,
        grad_own,
        parts,
        layout.num_nodes,
        layout.capacity,
        layout.colorings,
        in_channels,
        layout.channels,
        LABELS=x.dim() == 1,
        PARTS=NODE_PARTS,
        ROWS=NODES,
        IN=block,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )
    _combine_parts(layout, parts, 0, into)


def look_up_rows(
    layout: Layout,
    of_nodes: Tensor,
    colors: Tensor | None,
    in_channels: int,
    layer: LayerParameters,
    message: Tensor,
    own: Tensor,
    moments: Tensor,
) -> None:
    """Add the rows of nodes and of colors."""
    kernels.look_up_rows[layout.grid](
        of_nodes,
        layer.phi_weight,
        layer.psi_weight,
        layout.num_nodes if colors is None else colors,
        message,
        own,
        moments,
        layout.num_nodes,
        layout.capacity,
        layout.members * layout.capacity,
        layout.colorings,
        in_channels,
        layer.phi_weight.shape[1],
        layer.psi_weight.shape[1],
        layout.channels,
        layout.tiles,
        COLORED=colors is not None,
        ROWS=ROWS,
        WIDTH=layout.width,
    )


def sum_over_colors(
    layout: Layout,
    of_message: MessageGradient,
    grad_own: Tensor,
    colors: Tensor,
    in_channels: int,
    into: LayerParameters,
) -> None:
    """Gradient of `look_up_rows` for the colors, stored in the weights of `into`."""
    num_colors = into.phi_weight.shape[1] - in_channels
    block = max(16, min(64, triton.next_power_of_2(num_colors)))
    parts = layout.new(COLOR_PARTS, num_colors, 2 * layout.channels)
    if num_colors > block:
        parts.zero_()
    kernels.sum_over_colors[(COLOR_PARTS, layout.members)](
        *of_message,
        grad_own,
        colors,
        parts,
        layout.num_nodes,
        layout.capacity,
        layout.members * layout.capacity,
        layout.colorings,
        num_colors,
        layout.channels,
        PARTS=COLOR_PARTS,
        ROWS=ROWS,
        COLORS=block,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **MANY_TILES,
    )
    _combine_parts(layout, parts, in_channels, into)


def _combine_parts(layout: Layout, parts: Tensor, first: int, into: LayerParameters) -> None:
    """Add parts `[members, parts, rows, 2 * channels]` for the rows of the weights from `first`."""
    rows_of_tile = 16
    count = parts.shape[2]
    kernels.combine_parts[(triton.cdiv(count, rows_of_tile), layout.members)](
        parts,
        into.phi_weight,
        into.psi_weight,
        first,
        count,
        into.phi_weight.shape[1],
        into.psi_weight.shape[1],
        layout.channels,
        PARTS=parts.shape[1],
        ROWS=rows_of_tile,
        WIDTH=layout.width,
    )


def _input_block(in_channels: int) -> int:
    return max(16, min(64, triton.next_power_of_2(in_channels)))
