"""Random bits in Triton kernels, equal to those of `ops.hashing`."""

import triton.language as tl  # noqa: F401  (Triton's interpreter requires it)

from clipgnn.ops.kernels.kernel import helper


@helper
def mix(bits):
    """The finalizer of SplitMix64 on int64, as in `ops.hashing`."""
    bits = bits * -7046029254386353131
    bits = (bits ^ ((bits >> 30) & 0x3FFFFFFFF)) * -4658895280553007687
    bits = (bits ^ ((bits >> 27) & 0x1FFFFFFFFF)) * -7723592293110705685
    return bits ^ ((bits >> 31) & 0x1FFFFFFFF)


@helper
def hashed(start, row, column):
    """Random bits of a position; `start` is `mix(seed + mix(counter + 1))`."""
    return mix(start ^ mix((row << 32) + column + 1))
