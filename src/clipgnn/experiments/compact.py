"""Curves as they are stored: single precision, compressed."""

import zlib

import numpy as np

from clipgnn.curves import Scores
from clipgnn.errors import StoreError

BY_NUMBER, BY_SIGNIFICANCE = b"n", b"s"
"""First byte: the order of the bytes of the numbers."""

MAX_VALUES = 10_000_000
"""Largest number of values of a curve that is read."""


def compact(values: Scores) -> bytes:
    """Compress numbers; those beyond single precision are clipped.

    The bytes are in the order of the numbers, which is best for few distinct ones, or in the order
    of their significance, which is best for smooth curves, whose signs and exponents repeat. The
    shorter result is kept.
    """
    largest = np.finfo(np.float32).max
    single = values.clip(-largest, largest).astype("<f4")
    by_significance = single.view(np.uint8).reshape(-1, 4).T
    options = [
        BY_NUMBER + zlib.compress(single.tobytes(), level=9),
        BY_SIGNIFICANCE + zlib.compress(by_significance.tobytes(), level=9),
    ]
    return min(options, key=len)


def expanded(blob: bytes) -> Scores:
    """Return the numbers that `compact` stored, in single precision.

    Raises:
        StoreError: if they cannot be read.
    """
    order, stream = blob[:1], zlib.decompressobj()
    try:
        content = stream.decompress(blob[1:], 4 * MAX_VALUES + 1)
    except zlib.error as error:
        raise StoreError(f"its curves cannot be decompressed ({error})") from error
    if not stream.eof or stream.unused_data:
        raise StoreError(f"its curves are not complete, or have more than {MAX_VALUES:,} values")
    if len(content) % 4:
        raise StoreError(f"its curves must have 4 bytes for each epoch. Got {len(content)} bytes")
    if order not in (BY_NUMBER, BY_SIGNIFICANCE):
        raise StoreError(f"the order of its curves is unknown ({order!r})")
    if order == BY_SIGNIFICANCE:
        content = np.frombuffer(content, dtype=np.uint8).reshape(4, -1).T.tobytes()
    return np.frombuffer(content, dtype="<f4").astype(np.float64)
