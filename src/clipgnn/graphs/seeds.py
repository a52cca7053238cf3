"""Seeds that every source of randomness accepts."""

from numbers import Integral
from typing import Any

from clipgnn.errors import InvalidParameterError, shown

MOST_BITS = 64
"""Bits of the seed of a `torch.Generator`."""

NUMPY_BITS = 32
"""Bits of a seed of NumPy's older generator, which scikit-learn draws from."""


def check_seed(seed: Any, *, bits: int = MOST_BITS, name: str = "seed") -> int:
    """Return a seed as Python integer.

    Raises:
        InvalidParameterError: if it is not an integer from 0 to 2^bits - 1.
    """
    if not isinstance(seed, bool) and isinstance(seed, Integral) and 0 <= int(seed) < 2**bits:
        return int(seed)
    raise InvalidParameterError(
        f"{name} must be an integer from 0 to 2^{bits} - 1. Got {shown(seed)}."
    )
