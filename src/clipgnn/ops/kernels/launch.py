"""Launches of the Triton kernels of CLIP's local iterations, with their grids and tile sizes.

Tile sizes depend only on the number of channels, and numbers of partial sums are constant. So the
order of all sums depends neither on the capacity of a batch nor on the other members.
"""

# mypy: ignore-errors
from dataclasses import dataclass
from functools import cached_property

import torch
import triton
from torch import Tensor

from clipgnn.ops.gather_sum import Neighbors
from clipgnn.ops.kernels import attributes, merge, neighbors, norm, rows

ROWS = 64
"""Rows of a tile; a row is a node with one of its colorings."""

GRAPH_ROWS = 256
"""Rows of a graph that are summed at once."""

NODES = 16
"""Nodes of a tile for the gradient of the first maps."""

TILES = 128
"""Tiles whose sums are combined at once."""

CHANNELS = 16
"""Channels whose sums are combined by one program."""

WEIGHT_PARTS = 32
"""Partial sums of the gradient of a weight, for each member."""

NODE_PARTS = 32
"""Partial sums of the gradient of the first maps, for each member."""

COLOR_PARTS = 32
"""Partial sums of the gradient of the colors, for each member."""

ONE_TILE = {"num_warps": 4, "num_stages": 1}
MANY_TILES = {"num_warps": 4, "num_stages": 2}


@dataclass(frozen=True)
class Layout:
    """Sizes of the rows of a batch, `[members, capacity * colorings, channels]`.

    Attributes:
        num_nodes: `[members]`, nodes that are not padding.
        capacity: nodes of each member, including padding.
        colorings: number of colorings.
        channels: number of channels.
        precision: precision of products, as in `triton.language.dot`.
    """

    num_nodes: Tensor
    capacity: int
    colorings: int
    channels: int
    precision: str

    @property
    def members(self) -> int:
        """Number of members."""
        return self.num_nodes.numel()

    @cached_property
    def width(self) -> int:
        """Channels of a tile."""
        return max(16, triton.next_power_of_2(self.channels))

    @cached_property
    def tiles(self) -> int:
        """Tiles of a member."""
        return triton.cdiv(self.capacity * self.colorings, ROWS)

    @property
    def grid(self) -> tuple[int, int]:
        """A program for each tile of each member."""
        return self.tiles, self.members

    @property
    def sizes(self) -> tuple[Tensor, int, int, int]:
        """Arguments of every kernel on rows."""
        return self.num_nodes, self.capacity, self.colorings, self.channels

    def new_rows(self) -> Tensor:
        """Uninitialized rows."""
        return self.new(self.capacity * self.colorings, self.channels)

    def new_sums(self) -> Tensor:
        """Uninitialized sums for each tile."""
        return self.new(self.tiles, 2, self.channels)

    def new_merged(self) -> Tensor:
        """Uninitialized merged maps of a layer; see `kernels.merge`."""
        return self.new(3 * self.channels**2 + 2 * self.channels)

    def new(self, *shape: int) -> Tensor:
        """An uninitialized tensor `[members, …]`."""
        return torch.empty(self.members, *shape, device=self.num_nodes.device)


def merge_maps(layout, last, layer) -> Tensor:
    """Multiply adjacent affine maps; `last` is None for the first layer."""
    merged = layout.new_merged()
    merge.merge_maps[(1 if last is None else 3, layout.members)](
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


def merge_maps_backward(layout, last_weight, layer, grad, into, into_last_weight) -> None:
    """Gradients of the weights of `merge_maps`, stored in `into` and `into_last_weight`."""
    merge.merge_maps_backward[(2 if last_weight is None else 5, layout.members)](
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


def map_attributes(layout, x, in_channels, layer) -> Tensor:
    """Apply the first maps to attributes: `[members, capacity, 2 * channels]`."""
    of_nodes = layout.new(layout.capacity, 2 * layout.channels)
    attributes.map_attributes[(triton.cdiv(layout.capacity, ROWS), layout.members)](
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


def map_attributes_backward(layout, x, in_channels, of_message, grad_own, into) -> None:
    """Gradients of `map_attributes`, stored in `into`."""
    block = _input_block(in_channels)
    parts = layout.new(NODE_PARTS, in_channels, 2 * layout.channels)
    grid = (NODE_PARTS, layout.members, triton.cdiv(in_channels, block))
    attributes.map_attributes_backward[grid](
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


def _combine_parts(layout, parts, first, into) -> None:
    """Add parts `[members, parts, rows, 2 * channels]` for the rows of the weights from `first`."""
    rows_of_tile = 16
    count = parts.shape[2]
    attributes.combine_parts[(triton.cdiv(count, rows_of_tile), layout.members)](
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


def look_up_rows(layout, of_nodes, colors, in_channels, layer, message, own, moments) -> None:
    """Add the rows of nodes and of colors."""
    attributes.look_up_rows[layout.grid](
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


def sum_over_colors(layout, of_message, grad_own, colors, in_channels, into) -> None:
    """Gradient of `look_up_rows` for the colors, stored in the weights of `into`."""
    num_colors = into.phi_weight.shape[1] - in_channels
    block = max(16, min(64, triton.next_power_of_2(num_colors)))
    parts = layout.new(COLOR_PARTS, num_colors, 2 * layout.channels)
    if num_colors > block:
        parts.zero_()
    attributes.sum_over_colors[(COLOR_PARTS, layout.members)](
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


def multiply_rows(layout, x, coefficients, merged, message, own, moments) -> None:
    """Normalize, activate and multiply rows."""
    rows.multiply_rows[layout.grid](
        x,
        coefficients,
        merged,
        message,
        own,
        moments,
        *layout.sizes,
        layout.tiles,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )


def multiply_rows_backward(layout, x, coefficients, merged, of_message, grad_own, sums) -> None:
    """Gradient of x after its normalization; it replaces `grad_own`."""
    rows.multiply_rows_backward[layout.grid](
        x,
        coefficients,
        merged,
        *of_message,
        grad_own,
        sums,
        *layout.sizes,
        layout.tiles,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )


def sum_products(layout, before, total, of_message, grad_own) -> Tensor:
    """Gradient of the merged weights; `before` is None for the first layer.

    Args:
        layout: sizes.
        before: rows before the products, and coefficients of their normalization.
        total: sums over neighbors.
        of_message: arguments of `load_gradient`.
        grad_own: gradient of ψ before the normalization.
    """
    parts = layout.new(WEIGHT_PARTS, 3 * layout.channels**2)
    rows.sum_products[(WEIGHT_PARTS, layout.members, 1 if before is None else 3)](
        *(before or (total, total)),
        total,
        *of_message,
        grad_own,
        parts,
        *layout.sizes,
        FIRST=before is None,
        PARTS=WEIGHT_PARTS,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **MANY_TILES,
    )
    return parts.sum(1)


def coefficients_of(layout, own, moments, training: bool) -> Tensor:
    """Coefficients of a normalization, from the moments of the rows or from running averages."""
    coefficients = layout.new(norm.NUM_COEFFICIENTS.value, layout.channels)
    parameters = (own.weight, own.bias, own.running_mean, own.running_var, own.running_weight)
    constants = (own.epsilon, own.unit, own.ramp)
    if training:
        norm.train_coefficients[(layout.members, triton.cdiv(layout.channels, CHANNELS))](
            moments,
            coefficients,
            *parameters,
            layout.num_nodes,
            layout.colorings,
            layout.channels,
            layout.tiles,
            *constants,
            own.momentum,
            ROWS=ROWS,
            TILES=TILES,
            WIDTH=CHANNELS,
        )
    else:
        norm.evaluation_coefficients[(layout.members,)](
            coefficients,
            *parameters,
            layout.channels,
            *constants,
            WIDTH=layout.width,
        )
    return coefficients


def gradient_of_norm(layout, coefficients, sums, grad_weight, grad_bias) -> Tensor:
    """Gradient coefficients of a normalization; its own gradients are stored."""
    gradient = layout.new(2, layout.channels)
    norm.gradient_coefficients[(layout.members, triton.cdiv(layout.channels, CHANNELS))](
        sums,
        coefficients,
        gradient,
        grad_weight,
        grad_bias,
        layout.num_nodes,
        layout.colorings,
        layout.channels,
        layout.tiles,
        ROWS=ROWS,
        TILES=TILES,
        WIDTH=CHANNELS,
    )
    return gradient


def sum_neighbors(
    layout, edges: Neighbors, message, coefficients, own, merged, total, moments
) -> None:
    """Normalize, activate, sum and multiply messages; `total` is None if not kept."""
    neighbors.sum_neighbors[layout.grid](
        message,
        coefficients,
        edges.begin,
        edges.count,
        edges.first,
        edges.col,
        message if edges.weight is None else edges.weight,
        own,
        merged,
        message if total is None else total,
        moments,
        *layout.sizes,
        layout.tiles,
        WEIGHTED=edges.weight is not None,
        KEEP=total is not None,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )


def sum_neighbors_backward(
    layout, own, grad_own, coefficients, gradient, merged, grad_total
) -> None:
    """Gradient of the sums over neighbors; `grad_own` is replaced by the one before its norm."""
    neighbors.sum_neighbors_backward[layout.grid](
        own,
        grad_own,
        coefficients,
        gradient,
        merged,
        grad_total,
        *layout.sizes,
        ROWS=ROWS,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )


def send_to_neighbors(
    layout, edges: Neighbors, message, coefficients, grad_total, grad_message, sums
) -> None:
    """Gradient of the messages after their normalization."""
    neighbors.send_to_neighbors[layout.grid](
        message,
        coefficients,
        edges.begin,
        edges.count,
        edges.first,
        edges.col,
        grad_total if edges.weight is None else edges.weight,
        grad_total,
        grad_message,
        sums,
        *layout.sizes,
        layout.tiles,
        WEIGHTED=edges.weight is not None,
        ROWS=ROWS,
        WIDTH=layout.width,
    )


def sum_graphs(layout, own, coefficients, begin, count) -> Tensor:
    """Normalize, activate and sum the rows of each graph."""
    graphs = begin.numel() // layout.members
    total = layout.new(graphs, layout.colorings, layout.channels)
    block = min(GRAPH_ROWS, triton.next_power_of_2(layout.colorings))
    grid = (layout.members * graphs, triton.cdiv(layout.colorings, block))
    neighbors.sum_graphs[grid](
        own,
        coefficients,
        begin,
        count,
        total,
        graphs,
        layout.colorings,
        layout.channels,
        NODES=GRAPH_ROWS // block,
        COLORINGS=block,
        WIDTH=layout.width,
        num_warps=8,
    )
    return total


def sum_graphs_backward(layout, own, coefficients, graph_of_node, grad_total, sums) -> Tensor:
    """Gradient of the rows after their normalization."""
    grad_own = torch.empty_like(own)
    neighbors.sum_graphs_backward[layout.grid](
        own,
        coefficients,
        graph_of_node,
        grad_total,
        grad_own,
        sums,
        grad_total.shape[1],
        *layout.sizes,
        layout.tiles,
        ROWS=ROWS,
        WIDTH=layout.width,
    )
    return grad_own
