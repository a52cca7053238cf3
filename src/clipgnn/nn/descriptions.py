"""Descriptions in model files: what prediction needs besides the network.

A described model file is also a model file: `clipgnn.load` returns its network.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from clipgnn.errors import ModelFileError, shown
from clipgnn.nn.files import checked_path, load_described, model_bytes
from clipgnn.nn.network import Network
from clipgnn.writing import write_file


def save_kind(
    path: str | os.PathLike[str], kind: str, model: Network, description: Mapping[str, Any]
) -> None:
    """Write a network and its description to a file, atomically.

    Args:
        path: the file. An existing file is replaced.
        kind: what is described: the name of a class.
        model: the network.
        description: values of JSON.

    Raises:
        InvalidParameterError: if the network cannot be saved, or `path` is not a path.
        OutputError: if the file cannot be written. An existing file is then unchanged.
    """
    target = checked_path(path)
    write_file(target, model_bytes(model, {"kind": kind, **description}))


def load_kind(path: str | os.PathLike[str], *kinds: str) -> tuple[Network, dict[str, Any]]:
    """Load a network and its description, which `save_kind` has written for one of the kinds.

    Raises:
        ModelNotFoundError: if the file does not exist.
        ModelFileError: if the file is damaged, or describes something else.
    """
    network, description = load_described(path)
    found = None if description is None else description.get("kind")
    if description is None or found not in kinds:
        got = "a network" if description is None else shown(found)
        raise ModelFileError(
            f"{os.fspath(path)} must be the file of a {' or '.join(kinds)}. Got {got}. Use the "
            "class that has saved it, or clipgnn.load for networks."
        )
    return network, description


@contextmanager
def reading(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Turn errors in the values of a description into a `ModelFileError`."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"The description in {os.fspath(path)} must be that of a {kind}. It cannot be read: "
            f"{error!r}. A newer clipgnn may have written it."
        ) from error
