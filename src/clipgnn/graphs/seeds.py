"""Validation and conversion of random seeds."""

from numbers import Integral
from typing import Any

from clipgnn.errors import InvalidParameterError, shown

TORCH_BITS = 64
"""Bits of the seed of a `torch.Generator`."""

NUMPY_BITS = 32
"""Bits of a seed of `numpy.random.RandomState`, which scikit-learn uses."""


def check_seed(seed: Any, *, bits: int = TORCH_BITS, name: str = "seed") -> int:
    """Return a seed as a Python integer.

    Raises:
        InvalidParameterError: if it is not an integer from 0 to 2^bits - 1.
    """
    if not isinstance(seed, bool) and isinstance(seed, Integral) and 0 <= int(seed) < 2**bits:
        return int(seed)
    raise InvalidParameterError(
        f"{name} must be an integer from 0 to 2^{bits} - 1. Got {shown(seed)}."
    )


def as_signed(seed: int) -> int:
    """Convert an unsigned seed of 64 bits to a value of int64."""
    return (seed + 2**63) % 2**64 - 2**63
