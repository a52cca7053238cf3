"""Hash of tensors that does not depend on their device or memory layout."""

from collections.abc import Iterable, Mapping
from hashlib import sha256

import torch
from torch import Tensor


def fingerprint(tensors: Iterable[Tensor | None], optional: Mapping[str, Tensor | None]) -> str:
    """First 16 hexadecimal digits of the SHA-256 of data type, shape and bytes of each tensor.

    Args:
        tensors: tensors in a fixed order; None also changes the result.
        optional: further tensors by name. Those that are None do not change the result, so that
            a new one leaves the fingerprints of older content unchanged.
    """
    digest = sha256()

    def add(part: Tensor) -> None:
        digest.update(f"{part.dtype} {list(part.shape)}\0".encode())
        # As bytes, because NumPy does not have all data types of torch.
        digest.update(part.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)

    for part in tensors:
        if part is None:
            digest.update(b"None\0")
        else:
            add(part)
    for name, part in optional.items():
        if part is not None:
            add(torch.frombuffer(bytearray(name.encode()), dtype=torch.uint8))
            add(part)
    return digest.hexdigest()[:16]
