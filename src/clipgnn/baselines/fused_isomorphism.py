"""Outputs of GIN on a GPU, with the fused operation of `ops.isomorphism`."""

from typing import TYPE_CHECKING, cast

import torch
from jaxtyping import Float
from torch import Tensor

from clipgnn.baselines.isomorphism import IsomorphismLayer, LayerScores, sum_rows
from clipgnn.graphs.batch import Batch
from clipgnn.nn.features import ColoredAttributes
from clipgnn.nn.fused import norm_tensors, product_precision
from clipgnn.ops.isomorphism import IsomorphismParameters, isomorphism_sums
from clipgnn.shapes import Colorings

if TYPE_CHECKING:
    from clipgnn.baselines.isomorphism import IsomorphismNetwork


def outputs(
    network: "IsomorphismNetwork", graphs: Batch, identities: Colorings | None
) -> Float[Tensor, "members graphs labelings out_channels"]:
    """Compute the output for each graph and labeling; see `IsomorphismNetwork.forward`."""
    structure = graphs.structure
    assert structure is not None
    layers = [cast(IsomorphismLayer, layer) for layer in network.layers]
    attributes, *others = [cast(LayerScores, head).scores for head in network.heads]
    x = ColoredAttributes(graphs.x, network.in_channels, identities, network.identities)
    first = layers[0].first.weight
    # Attributes and identities are looked up once for both maps.
    mapped = x.multiply(torch.cat([first, attributes.weight], dim=2), None)
    rows, scores = mapped.split([first.shape[2], attributes.weight.shape[2]], dim=3)
    # [members, layers, graphs, labelings, channels]
    sums = isomorphism_sums(
        structure,
        rows,
        [_parameters(layer, is_first=layer is layers[0]) for layer in layers],
        [(norm_tensors(layer.inside), norm_tensors(layer.after)) for layer in layers],
        training=network.training,
        precision=product_precision(),
    )
    assert attributes.bias is not None
    total = sum_rows(graphs.nodes.sum, scores) + attributes.bias[:, None, None]
    weight = torch.stack([own.weight for own in others], dim=1)  # [members, layers, …]
    bias = torch.stack([cast(Tensor, own.bias) for own in others], dim=1)
    of_layers = (sums.flatten(2, 3) @ weight).unflatten(2, sums.shape[2:4])
    of_layers = of_layers + bias[:, :, None, None]
    if not network.training or network.dropout.probability == 0:
        return total + of_layers.sum(1)
    total = network.dropout(total)
    for of_layer in of_layers.unbind(1):
        total = total + network.dropout(of_layer)
    return total


def _parameters(layer: IsomorphismLayer, *, is_first: bool) -> IsomorphismParameters:
    inside, after = norm_tensors(layer.inside), norm_tensors(layer.after)
    return IsomorphismParameters(
        None if is_first else layer.first.weight,
        layer.second.weight,
        inside.weight,
        inside.bias,
        after.weight,
        after.bias,
    )
