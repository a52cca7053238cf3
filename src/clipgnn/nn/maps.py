"""Affine maps between the activations of CLIP, with adjacent maps multiplied.

Every MLP of CLIP ends with an affine map and is followed by another one: the first map of the next
layer, or the sum of the readout. A layer therefore returns its activations and its last map
separately. The last map is multiplied with the following weights, which is a product of two small
matrices instead of a product with the features of all nodes and colorings. In evaluation, the
factors and constants of batch normalization are multiplied too. The result is the same up to
rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from clipgnn.nn.features import Weight
from clipgnn.nn.linear import Linear
from clipgnn.nn.mlp import MLP
from clipgnn.nn.norm import Moments
from clipgnn.shapes import MemberRows, NodeFeatures


@dataclass(frozen=True)
class FactoredFeatures:
    """Features x = activations @ last.weight + last.bias, stored as these two factors."""

    activations: NodeFeatures
    last: Linear


@dataclass(frozen=True)
class FirstMap:
    """The first map of an MLP after the last map of the layer before.

    Attributes:
        mlp: the MLP.
        weight: `[members, in_channels, hidden_channels]`.
        others: weight of the other inputs of the MLP, `[members, other_channels, hidden_channels]`.
        constant: `[members, hidden_channels]`.
        is_normalized: whether the weights and the constant contain the normalization. They do not
            if its statistics are those of the rows.
    """

    mlp: MLP
    weight: Weight
    others: Float[Tensor, "members other_channels out_channels"]
    constant: Float[Tensor, "members out_channels"]
    is_normalized: bool

    @classmethod
    def of(
        cls, mlp: MLP, in_channels: int, before: Linear | None, moments: Moments | None
    ) -> "FirstMap":
        """Multiply the rows of the first weight for the node features with the map before."""
        assert mlp.first.bias is not None
        weight, others = mlp.first.weight.tensor_split([in_channels], dim=1)
        constant: Tensor = mlp.first.bias
        if before is not None:
            if before.bias is not None:
                constant = constant + torch.bmm(before.bias[:, None], weight)[:, 0]
            weight = torch.bmm(before.weight, weight)
        known = None if mlp.norm is None else mlp.norm.coefficients(moments)
        if known is None:
            return cls(mlp, weight, others, constant, is_normalized=False)
        scale, shift = known
        rows = scale[:, None]
        return cls(mlp, weight * rows, others * rows, constant * scale + shift, is_normalized=True)

    def activate(
        self,
        rows: MemberRows,
        moments: Moments | None,
        mask: Tensor | None = None,
        counts: Tensor | None = None,
    ) -> MemberRows:
        """Normalize and activate the output of the map.

        See `MLP.activate` for the arguments.
        """
        if self.is_normalized:
            return self.mlp.activate_normalized(rows, mask)
        return self.mlp.activate(rows, moments, mask, counts)


@dataclass(frozen=True)
class LayerMaps:
    """The maps of a local iteration.

    Attributes:
        messages: for each direction of edges, the first map of φ; its other inputs are edge
            attributes.
        own: the first map of ψ for the node itself; its other inputs are sums over neighbors.
        of_sums: for each direction, the second map of φ times the weight of its sum in ψ.
    """

    messages: Sequence[FirstMap]
    own: FirstMap
    of_sums: Sequence[Float[Tensor, "members channels channels"]]
