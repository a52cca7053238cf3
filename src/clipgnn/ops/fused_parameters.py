"""Parameters of CLIP as plain tensors, which the fused operations on a GPU read."""

from typing import NamedTuple

from torch import Tensor


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


class HeadParameters(NamedTuple):
    """Parameters, or their gradients: the map before the maximum, and the readout."""

    last_weight: Tensor
    last_bias: Tensor
    first_weight: Tensor
    first_bias: Tensor
    norm_weight: Tensor
    norm_bias: Tensor
    second_weight: Tensor
    second_bias: Tensor


class DropoutMasks(NamedTuple):
    """Masks of dropout that are hashed from seeds and a counter; see `nn.dropout`."""

    probability: float
    seeds: Tensor
    counter: Tensor
