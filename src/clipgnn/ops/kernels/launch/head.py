"""Launches of the maximum over colorings and of the readout."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
import triton
from torch import Tensor

from clipgnn.ops.fused_parameters import DropoutMasks, HeadParameters, Norm
from clipgnn.ops.kernels import head as kernels
from clipgnn.ops.kernels.launch.layout import ONE_TILE
from clipgnn.ops.kernels.norm import NUM_COEFFICIENTS

MAX_GRAPHS = 128
"""Largest number of graphs of a batch in training: one program normalizes all of them."""

TILE = 16
"""Graphs of a tile of the maximum over colorings."""


@dataclass(frozen=True)
class HeadLayout:
    """Sizes of the sums over graphs, `[members, graphs, colorings, channels]`.

    Attributes:
        graph_count: `[members * graphs]`, number of nodes of each graph.
        graph_mask: `[members, graphs]`, which graphs are not padding.
        colorings: number of colorings.
        channels: number of channels.
        precision: precision of products, as in `triton.language.dot`.
    """

    graph_count: Tensor
    graph_mask: Tensor
    colorings: int
    channels: int
    precision: str

    @property
    def members(self) -> int:
        """Number of members."""
        return self.graph_mask.shape[0]

    @property
    def graphs(self) -> int:
        """Graphs of each member, including padding."""
        return self.graph_mask.shape[1]

    @cached_property
    def width(self) -> int:
        """Channels of a tile."""
        return max(16, triton.next_power_of_2(self.channels))

    @cached_property
    def tiles(self) -> int:
        """Tiles of a member."""
        return triton.cdiv(self.graphs, TILE)

    @cached_property
    def block(self) -> int:
        """Graphs that one program normalizes."""
        return max(16, min(MAX_GRAPHS, triton.next_power_of_2(self.graphs)))

    def new(self, *shape: int) -> Tensor:
        """An uninitialized tensor `[members, …]`."""
        device = self.graph_mask.device
        return torch.empty(self.members, *shape, dtype=torch.float32, device=device)


class HeadRows(NamedTuple):
    """Features of graphs `[members, graphs, channels]` that the backward pass reads.

    Attributes:
        pooled: maximum over colorings.
        winners: the coloring that attains it.
        hidden: rows of the readout before its normalization.
        coefficients: coefficients of the normalization.
    """

    pooled: Tensor
    winners: Tensor
    hidden: Tensor
    coefficients: Tensor


def max_over_colorings(
    layout: HeadLayout, total: Tensor, parameters: HeadParameters
) -> tuple[Tensor, Tensor]:
    """Apply the last map to sums over nodes; return the maximum and the winning coloring."""
    pooled = layout.new(layout.graphs, layout.channels)
    winners = torch.empty_like(pooled, dtype=torch.int32)
    kernels.max_over_colorings[(layout.tiles, layout.members)](
        total,
        layout.graph_count,
        parameters.last_weight,
        parameters.last_bias,
        pooled,
        winners,
        layout.graphs,
        layout.colorings,
        layout.channels,
        GRAPHS=TILE,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )
    return pooled, winners


def max_over_colorings_backward(
    layout: HeadLayout,
    total: Tensor,
    parameters: HeadParameters,
    winners: Tensor,
    grad_pooled: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the sums over nodes, and of weight and bias of the last map."""
    grad_total = torch.empty_like(total)
    square = layout.channels**2
    parts = layout.new(layout.tiles, square + layout.channels)
    kernels.max_over_colorings_backward[(layout.tiles, layout.members)](
        total,
        layout.graph_count,
        parameters.last_weight,
        winners,
        grad_pooled,
        grad_total,
        parts,
        layout.graphs,
        layout.colorings,
        layout.channels,
        GRAPHS=TILE,
        WIDTH=layout.width,
        PRECISION=layout.precision,
        **ONE_TILE,
    )
    summed = parts.sum(1)
    of_weight = summed[:, :square].reshape(parameters.last_weight.shape)
    return grad_total, of_weight, summed[:, square:]


def readout(
    layout: HeadLayout,
    pooled: Tensor,
    parameters: HeadParameters,
    norm: Norm,
    masks: DropoutMasks | None,
    *,
    training: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute outputs; return also rows and coefficients of the normalization, for gradients."""
    out_channels = parameters.second_weight.shape[2]
    hidden = torch.empty_like(pooled) if training else pooled
    coefficients = layout.new(NUM_COEFFICIENTS.value, layout.channels)
    outputs = layout.new(layout.graphs, out_channels)
    kernels.readout[(layout.members, triton.cdiv(layout.graphs, layout.block))](
        pooled,
        layout.graph_mask,
        parameters.first_weight,
        parameters.first_bias,
        norm.weight,
        norm.bias,
        norm.running_mean,
        norm.running_var,
        norm.running_weight,
        parameters.second_weight,
        parameters.second_bias,
        hidden,
        coefficients,
        outputs,
        *_dropout_arguments(layout, masks),
        layout.graphs,
        layout.channels,
        out_channels,
        norm.epsilon,
        norm.unit,
        norm.ramp,
        norm.momentum,
        TRAINING=training,
        DROPOUT=masks is not None,
        GRAPHS=layout.block,
        WIDTH=layout.width,
        OUT=_output_block(out_channels),
        PRECISION=layout.precision,
        **ONE_TILE,
    )
    return outputs, hidden, coefficients


def readout_backward(
    layout: HeadLayout,
    rows: HeadRows,
    parameters: HeadParameters,
    masks: DropoutMasks | None,
    grad: Tensor,
    into: HeadParameters,
) -> Tensor:
    """Gradient of the maximum over colorings; those of the parameters are stored in `into`."""
    grad_pooled = torch.empty_like(rows.pooled)
    out_channels = parameters.second_weight.shape[2]
    kernels.readout_backward[(layout.members,)](
        rows.pooled,
        layout.graph_mask,
        parameters.first_weight,
        parameters.second_weight,
        rows.hidden,
        rows.coefficients,
        grad,
        grad_pooled,
        into.first_weight,
        into.norm_weight,
        into.norm_bias,
        into.second_weight,
        into.second_bias,
        *_dropout_arguments(layout, masks),
        layout.graphs,
        layout.channels,
        out_channels,
        DROPOUT=masks is not None,
        GRAPHS=layout.block,
        WIDTH=layout.width,
        OUT=_output_block(out_channels),
        PRECISION=layout.precision,
        **ONE_TILE,
    )
    return grad_pooled


def _dropout_arguments(
    layout: HeadLayout, masks: DropoutMasks | None
) -> tuple[Tensor, Tensor, int, float]:
    if masks is None:
        return layout.graph_count, layout.graph_count, 0, 1.0
    threshold = int(masks.probability * 2**32)
    return masks.seeds, masks.counter, threshold, 1 / (1 - masks.probability)


def _output_block(out_channels: int) -> int:
    return max(16, triton.next_power_of_2(out_channels))
