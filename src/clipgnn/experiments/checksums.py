"""Checksums of stored rows, and JSON objects in them.

SQLite detects damage to the structure of its file, but not to the values in it. Every row that a
table is computed from therefore has a checksum.
"""

import json
import struct
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from clipgnn.errors import StoreError

CHECKSUM_BYTES = 16
"""Number of bytes of a SHA-256 hash that are stored, which suffices against accidental damage."""

JSON_DEPTH = 32
"""Maximum nesting depth of stored JSON; a plan has four levels."""


def checksum(*values: object) -> bytes:
    """Return the checksum of the values of a row, which depends on their types and boundaries.

    Args:
        values: integers, floats, texts, bytes or None, in the order of the columns.

    Examples:
        >>> checksum("ab", "c") == checksum("a", "bc"), checksum(1) == checksum(1.0)
        (False, False)
    """
    digest = sha256()
    for value in values:
        kind, content = _encoded(value)
        digest.update(f"{kind}:{len(content)}:".encode() + content)
    return digest.digest()[:CHECKSUM_BYTES]


def json_object(text: str) -> Mapping[str, Any]:
    """Return the object in a JSON text.

    Raises:
        StoreError: if the text is not JSON, not an object, or nested too deeply; the message is a
            clause for the caller to complete.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"its JSON cannot be read ({type(error).__name__})") from error
    if not isinstance(content, dict):
        raise StoreError(f"its JSON must be an object and is a {type(content).__name__}")
    level: list[Any] = [content]
    for _ in range(JSON_DEPTH):
        level = [part for value in level for part in _parts(value)]
    if level:
        raise StoreError(f"its JSON is nested more than {JSON_DEPTH} levels deep")
    return content


def _parts(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _encoded(value: object) -> tuple[str, bytes]:
    if isinstance(value, bytes):
        return "bytes", value
    if isinstance(value, float):
        return "float", struct.pack("<d", value)
    kind = "text" if isinstance(value, str) else "other"  # an integer, or None
    return kind, str(value).encode("utf-8", "surrogatepass")
