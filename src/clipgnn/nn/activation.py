"""The activations an MLP of CLIP may have: continuous and not polynomial (Theorem 1)."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.errors import InvalidParameterError, shown, suggestion

Activation = Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Activation] = {
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "elu": functional.elu,
    "selu": functional.selu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "mish": functional.mish,
    "softplus": functional.softplus,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
}

_POLYNOMIAL = "it is a polynomial, and networks made of polynomials of one degree are not dense"
_DISCONTINUOUS = "it is not continuous, and so the representation would not be either"
_REFUSED = {
    "identity": _POLYNOMIAL,
    "linear": _POLYNOMIAL,
    "none": _POLYNOMIAL,
    "square": _POLYNOMIAL,
    "cube": _POLYNOMIAL,
    "sign": _DISCONTINUOUS,
    "step": _DISCONTINUOUS,
    "heaviside": _DISCONTINUOUS,
    "threshold": _DISCONTINUOUS,
    "hardshrink": _DISCONTINUOUS,
    "round": _DISCONTINUOUS,
}


def activation_named(name: str) -> Activation:
    """The activation of this name.

    Raises:
        InvalidParameterError: if the universality theorem does not cover it, with the reason, or
            if there is none of this name.
    """
    if isinstance(name, str) and name.lower() in ACTIVATIONS:
        return ACTIVATIONS[name.lower()]
    known = ", ".join(map(repr, ACTIVATIONS))
    if isinstance(name, str) and name.lower() in _REFUSED:
        raise InvalidParameterError(
            "activation must be continuous and non-polynomial, or CLIP is not universal. "
            f"Got {name!r}: {_REFUSED[name.lower()]}. Use one of {known}."
        )
    raise InvalidParameterError(
        f"activation must be one of {known}. Got {shown(name)} instead."
        f"{suggestion(name, ACTIVATIONS)}"
    )
