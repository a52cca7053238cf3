"""Activations of the MLPs of CLIP: continuous and non-polynomial (Theorem 1)."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.parameters import CLIPParameters

Activation = Callable[[Tensor], Tensor]

# The names are those of functions of torch.
ACTIVATIONS: dict[str, Activation] = {
    name: getattr(torch if hasattr(torch, name) else functional, name)
    for name in CLIPParameters.rules()["activation"].words
}


def activation_named(name: str) -> Activation:
    """Return the activation with a name.

    Raises:
        InvalidParameterError: if the name is unknown, or the activation is not covered by the
            universality theorem.
    """
    return ACTIVATIONS[CLIPParameters.check("activation", name)]
