"""CLIP's local iterations on a GPU, as the fused operation of `ops.propagation`."""

from collections.abc import Sequence

import torch
from torch import Tensor

from clipgnn.graphs.capacity import FixedBatch
from clipgnn.nn.aggregation import Aggregation
from clipgnn.nn.linear import Linear
from clipgnn.nn.norm import ROUNDING, BatchNorm
from clipgnn.nn.readout import Readout
from clipgnn.ops.head import MAX_GRAPHS, MAX_OUTPUTS, Dropout, HeadParameters, head_outputs
from clipgnn.ops.normalization import RAMP
from clipgnn.ops.propagation import LayerParameters, Norm, Structure, propagate
from clipgnn.shapes import Colorings, GraphFeatures


def sum_of_last_activations(
    batch: FixedBatch,
    colorings: Colorings | None,
    in_channels: int,
    layers: Sequence[Aggregation],
    *,
    training: bool,
) -> Tensor:
    """Compute the sums of the activations of the last layer over the nodes of each graph.

    Returns:
        `[members, graphs, colorings, channels]`.
    """
    structure = Structure(
        x=batch.x,
        in_channels=in_channels,
        colors=colorings,
        num_nodes=batch.num_nodes_of_members,
        incoming=batch.edges.incoming,
        outgoing=batch.edges.outgoing,
        graph_begin=batch.nodes.begin,
        graph_count=batch.nodes.count,
        graph_of_node=batch.nodes.segment,
    )
    return propagate(
        structure,
        [_parameters(layer, is_last=layer is layers[-1]) for layer in layers],
        [(_norm(layer.phi.norm), _norm(layer.psi.norm)) for layer in layers],
        training=training,
        precision=product_precision(),
    )


def head_suits(readout: Readout, graphs: int, *, training: bool) -> bool:
    """Whether `outputs_from_sums` supports this readout and number of graphs."""
    if readout.second.weight.shape[2] > MAX_OUTPUTS or (training and graphs > MAX_GRAPHS):
        return False
    return readout.dropout.seeded or readout.dropout.probability == 0 or not training


def outputs_from_sums(
    total: Tensor, batch: FixedBatch, last: Linear, readout: Readout, *, training: bool
) -> GraphFeatures:
    """Compute the output of each graph from its sums `[members, graphs, colorings, channels]`."""
    dropout = None
    if training and readout.dropout.probability > 0:
        dropout = Dropout(readout.dropout.probability, *readout.dropout.next_masks())
    norm = _norm(readout.norm)
    parameters = HeadParameters(
        *_map(last), *_map(readout.first), norm.weight, norm.bias, *_map(readout.second)
    )
    assert batch.graph_mask is not None
    return head_outputs(
        total,
        batch.nodes.counts,
        batch.graph_mask,
        parameters,
        norm,
        dropout,
        training=training,
        precision=product_precision(),
    )


def product_precision() -> str:
    """Precision of products, by `torch.get_float32_matmul_precision`.

    Three TF32 products have the precision of float32; a single one has 10 bits.
    """
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def _parameters(layer: Aggregation, *, is_last: bool) -> LayerParameters:
    phi_norm, psi_norm = _norm(layer.phi.norm), _norm(layer.psi.norm)
    second = (None, None) if is_last else _map(layer.psi.second)
    return LayerParameters(
        *_map(layer.phi.first),
        layer.phi.second.weight,
        *_map(layer.psi.first),
        phi_norm.weight,
        phi_norm.bias,
        psi_norm.weight,
        psi_norm.bias,
        *second,
    )


def _map(linear: Linear) -> tuple[Tensor, Tensor]:
    assert linear.bias is not None
    return linear.weight, linear.bias


def _norm(norm: BatchNorm | None) -> Norm:
    assert norm is not None
    return Norm(
        norm.weight,
        norm.bias,
        norm.running_mean,
        norm.running_var,
        norm.running_weight,
        norm.epsilon,
        norm.momentum,
        ROUNDING * torch.finfo(norm.weight.dtype).eps,
        RAMP,
    )
