"""Outputs of CLIP on a GPU, with the fused operations of `ops.propagation` and `ops.head`."""

from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor, nn

from clipgnn.graphs.batch import Batch
from clipgnn.nn.aggregation import Aggregation
from clipgnn.nn.linear import Linear
from clipgnn.nn.norm import ROUNDING, BatchNorm
from clipgnn.nn.readout import Readout, map_sums
from clipgnn.ops.fused_parameters import DropoutMasks, HeadParameters, LayerParameters, Norm
from clipgnn.ops.head import MAX_OUTPUTS, head_outputs
from clipgnn.ops.kernels.launch.head import MAX_GRAPHS
from clipgnn.ops.normalization import RAMP
from clipgnn.ops.propagation import NodeInputs, propagate
from clipgnn.ops.structure import Structure
from clipgnn.parameters import CLIPParameters
from clipgnn.shapes import Colorings, GraphFeatures


def outputs(
    batch: Batch,
    colorings: Colorings | None,
    config: CLIPParameters,
    layers: Iterable[nn.Module],
    readout: Readout,
    *,
    training: bool,
) -> GraphFeatures:
    """Compute the output for each graph of each member; see `Network.forward_batch`.

    Args:
        batch: a batch that `kernel_support` accepts.
        colorings: `[colorings, nodes]`; None for no colors.
        config: configuration of the network.
        layers: an `Aggregation` for each local iteration.
        readout: readout of the network.
        training: whether the network is in training mode.
    """
    structure = batch.structure
    assert structure is not None
    aggregations = [cast(Aggregation, layer) for layer in layers]
    last = aggregations[-1].psi.second
    # [members, graphs, colorings, channels]
    total = propagate(
        structure,
        NodeInputs(batch.x, config.in_channels, colorings),
        [_parameters(layer, is_last=layer is aggregations[-1]) for layer in aggregations],
        [(norm_tensors(layer.phi.norm), norm_tensors(layer.psi.norm)) for layer in aggregations],
        training=training,
        precision=product_precision(),
    )
    if batch.graph_attr is None and _head_suits(readout, total.shape[1], training=training):
        return _outputs_from_sums(total, structure, last, readout, training=training)
    pooled = map_sums(total, batch.nodes, last).amax(2)
    return readout(pooled, batch.graph_attr, batch.graph_mask)


def _head_suits(readout: Readout, graphs: int, *, training: bool) -> bool:
    """Whether `_outputs_from_sums` supports this readout and number of graphs."""
    if readout.second.weight.shape[2] > MAX_OUTPUTS or (training and graphs > MAX_GRAPHS):
        return False
    return readout.dropout.seeded or readout.dropout.probability == 0 or not training


def _outputs_from_sums(
    total: Tensor, structure: Structure, last: Linear, readout: Readout, *, training: bool
) -> GraphFeatures:
    """Compute the output of each graph from its sums `[members, graphs, colorings, channels]`."""
    masks = None
    if training and readout.dropout.probability > 0:
        masks = DropoutMasks(readout.dropout.probability, *readout.dropout.next_masks())
    norm = norm_tensors(readout.norm)
    parameters = HeadParameters(
        *_map(last), *_map(readout.first), norm.weight, norm.bias, *_map(readout.second)
    )
    return head_outputs(
        total,
        structure,
        parameters,
        norm,
        masks,
        training=training,
        precision=product_precision(),
    )


def product_precision() -> str:
    """Precision of products, by `torch.get_float32_matmul_precision`.

    Three TF32 products have the precision of float32; a single one has 10 bits.
    """
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def _parameters(layer: Aggregation, *, is_last: bool) -> LayerParameters:
    phi_norm, psi_norm = norm_tensors(layer.phi.norm), norm_tensors(layer.psi.norm)
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


def norm_tensors(norm: nn.Module | None) -> Norm:
    """Tensors and constants of a batch normalization, which kernels read."""
    assert isinstance(norm, BatchNorm)
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
