"""Saving and loading: weights as safetensors, the configuration as JSON in the same file.

Nothing in such a file is ever executed: there is no pickle in it.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from clipgnn.errors import InvalidParameterError, ModelFileError, ModelNotFoundError
from clipgnn.nn.clip import CLIP
from clipgnn.nn.config import CLIPConfig

_FORMAT = "clipgnn.CLIP/1"


def save(model: nn.Module, path: str | os.PathLike[str]) -> None:
    """Write a model to one file, whole or not at all.

    Args:
        model: the model, compiled or not; its device does not matter.
        path: the file, by custom named `….safetensors`. One that is there is replaced.

    Raises:
        InvalidParameterError: if it is not a CLIP model.
    """
    model = getattr(model, "_orig_mod", model)  # what torch.compile wraps
    if not isinstance(model, CLIP):
        raise InvalidParameterError(f"Only CLIP models can be saved. Got {type(model).__name__}.")
    tensors = {name: value.detach().cpu() for name, value in model.state_dict().items()}
    metadata = {"format": _FORMAT, "config": json.dumps(asdict(model.config))}
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(to_bytes(tensors, metadata))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> CLIP:
    """Read a model that `save` wrote. It is on the CPU and in training mode, as if newly built.

    Raises:
        ModelNotFoundError: if there is no such file; it is a FileNotFoundError.
        ModelFileError: if the file is damaged, or is not a model of clipgnn.
    """
    target = Path(path)
    if not target.is_file():
        raise ModelNotFoundError(f"path must be a file. There is no model file {target}.")
    try:
        with safe_open(target, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ModelFileError(
            f"{target} must be a safetensors file written by clipgnn.save. "
            f"It is damaged or something else: {error}."
        ) from error
    if metadata.get("format") != _FORMAT:
        raise ModelFileError(
            f"{target} must be a model of the format {_FORMAT!r}. "
            f"Got {metadata.get('format')!r}: another program, or a newer clipgnn, wrote it."
        )
    try:
        config = CLIPConfig.from_dict(json.loads(metadata["config"]))
    except (KeyError, TypeError, AttributeError, ValueError, InvalidParameterError) as error:
        raise ModelFileError(f"The configuration in {target} cannot be read: {error}") from error
    with torch.device("meta"):  # shapes only: a damaged configuration may ask for any size
        shapes = _shapes(CLIP(**asdict(config)).state_dict())
    found = _shapes(tensors)
    if shapes != found:
        wrong = sorted(
            name for name in shapes.keys() | found.keys() if shapes.get(name) != found.get(name)
        )
        raise ModelFileError(
            f"The weights in {target} must fit its configuration. {wrong[0]!r} should be "
            f"{shapes.get(wrong[0], 'absent')}. It is {found.get(wrong[0], 'absent')}."
        )
    dtypes = {value.dtype for value in tensors.values()}
    if len(dtypes) != 1 or not all(dtype.is_floating_point for dtype in dtypes):
        names = ", ".join(sorted(map(str, dtypes))) or "none"
        raise ModelFileError(f"The weights in {target} must have one float dtype. Got {names}.")
    model = CLIP(**asdict(config)).to(*dtypes)
    model.load_state_dict(tensors)
    return model


def _shapes(tensors: dict[str, Tensor]) -> dict[str, list[int]]:
    return {name: list(value.shape) for name, value in tensors.items()}
