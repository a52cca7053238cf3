"""Saving and loading: weights as safetensors, the configuration as JSON in the same file.

Nothing in such a file is ever executed: it contains no pickle. The metadata holds a SHA-256
checksum of the configuration and of each tensor with its name, dtype and shape.
"""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from clipgnn.errors import InvalidParameterError, ModelFileError, ModelNotFoundError, shown
from clipgnn.nn.clip import CLIP
from clipgnn.nn.config import CLIPConfig
from clipgnn.writing import write_file

_FORMAT = "clipgnn.CLIP/2"
_DTYPES = {
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
}
_LONGEST_CONFIG = 10_000
"""Characters; those that `save` writes have about 400."""


def save(model: nn.Module, path: str | os.PathLike[str]) -> None:
    """Write a model to one file, as a whole or not at all.

    Args:
        model: the model, compiled or not; its device does not matter.
        path: the file, usually named `….safetensors`. An existing one is replaced.

    Raises:
        InvalidParameterError: if it is not a CLIP model, or `path` is not a path.
        OutputError: if the file cannot be written. An earlier file is then unchanged.
    """
    target = _as_path(path)
    model = getattr(model, "_orig_mod", model)  # what torch.compile wraps
    if not isinstance(model, CLIP):
        raise InvalidParameterError(f"Only CLIP models can be saved. Got {type(model).__name__}.")
    tensors = {name: value.detach().cpu() for name, value in model.state_dict().items()}
    config = json.dumps(asdict(model.config))
    metadata = {"format": _FORMAT, "config": config, "sha256:config": _sha256(config.encode())}
    for name, value in tensors.items():
        metadata[f"sha256:{name}"] = _checksum(name, value)
    write_file(target, to_bytes(tensors, metadata))


def load(path: str | os.PathLike[str]) -> CLIP:
    """Read a model that `save` wrote. It is on the CPU and in training mode, as if newly built.

    The configuration and every tensor are compared with their checksums. Weights that are not
    finite are loaded as they were saved.

    Raises:
        InvalidParameterError: if `path` is not a path.
        ModelNotFoundError: if there is no such file; it is a FileNotFoundError.
        ModelFileError: if the file is damaged, or is not a model of clipgnn.
    """
    target = Path(_as_path(path))
    if not target.is_file():
        raise ModelNotFoundError(f"path must be a file. There is no model file {target}.")
    try:
        with safe_open(target, framework="pt") as file:
            metadata = file.metadata() or {}
            _check_format(metadata, target)
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            shapes = {name: list(part.get_shape()) for name, part in slices.items()}
            dtype = _common_dtype({part.get_dtype() for part in slices.values()}, target)
            config = _read_config(metadata, target)
            _check_shapes(config, shapes, target)
            tensors = {name: file.get_tensor(name) for name in shapes}
    except (SafetensorError, OSError) as error:
        raise ModelFileError(
            f"{target} must be a safetensors file written by clipgnn.save. "
            f"It is damaged or something else: {error}."
        ) from error
    for name, value in tensors.items():
        if metadata.get(f"sha256:{name}") != _checksum(name, value):
            raise _damaged(f"tensor {name!r}", target)
    model = CLIP.from_config(config).to(dtype)
    model.load_state_dict(tensors)
    return model


def _as_path(path: str | os.PathLike[str]) -> str:
    try:
        named = os.fspath(path)
    except TypeError:
        named = None
    if not isinstance(named, str):
        raise InvalidParameterError(
            f"path must be a str or a pathlib.Path. Got {shown(path)} of type "
            f"{type(path).__name__}."
        )
    return named


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _checksum(name: str, value: Tensor) -> str:
    """The checksum of a tensor with its name, dtype and shape."""
    described = json.dumps([name, str(value.dtype), list(value.shape)])
    content = value.contiguous().view(-1).view(torch.uint8).numpy()
    return _sha256(described.encode() + b"\n" + content.tobytes())


def _damaged(what: str, target: Path) -> ModelFileError:
    return ModelFileError(
        f"Everything in {target} must match its checksum. The {what} does not: the file is "
        "damaged. Restore it from a copy, or save the model again."
    )


def _check_format(metadata: dict[str, str], target: Path) -> None:
    found = metadata.get("format")
    if found == "clipgnn.CLIP/1":
        raise ModelFileError(
            f"{target} must be a model of the format {_FORMAT!r}. Got {found!r}, which has no "
            "checksums and was never released: save the model again with this version."
        )
    if found != _FORMAT:
        raise ModelFileError(
            f"{target} must be a model of the format {_FORMAT!r}. "
            f"Got {found!r}: another program, or a newer clipgnn, wrote it."
        )


def _common_dtype(found: set[str], target: Path) -> torch.dtype:
    if len(found) != 1 or not found <= _DTYPES.keys():
        names = ", ".join(sorted(found)) or "no tensors"
        raise ModelFileError(
            f"The weights in {target} must have one dtype of {', '.join(_DTYPES)}. Got {names}."
        )
    return _DTYPES[found.pop()]


def _read_config(metadata: dict[str, str], target: Path) -> CLIPConfig:
    """The configuration in the metadata, whatever else may be there instead of it."""
    text = metadata.get("config")
    if text is None:
        raise ModelFileError(f"{target} must have a configuration in its metadata. Got none.")
    if metadata.get("sha256:config") != _sha256(text.encode()):
        raise _damaged("configuration", target)
    try:
        if len(text) > _LONGEST_CONFIG:
            raise ValueError(f"it has {len(text)} characters, more than {_LONGEST_CONFIG}")
        values = json.loads(
            text,
            parse_int=_parse_integer,
            parse_constant=_refuse_constant,
            object_pairs_hook=_without_repeats,
        )
        if not isinstance(values, dict):
            raise ValueError(f"it must be a JSON object. Got {text[:100]!r}")
        return CLIPConfig.from_dict(values)
    except (RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(f"The configuration in {target} cannot be read: {error}") from error


def _parse_integer(digits: str) -> int:
    if len(digits) > 18:
        raise ValueError(f"its integers must have at most 18 digits. Got {len(digits)}.")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"its numbers must be finite. Got {name}.")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key occurs twice in it.")
    return values


def _check_shapes(config: CLIPConfig, found: dict[str, list[int]], target: Path) -> None:
    """Compare the shapes in the file with those of the configured network, in bounded time."""
    _check_plausible(config, found, target)
    with torch.device("meta"):  # shapes only, no memory
        try:
            state = CLIP.from_config(config).state_dict()
        except RuntimeError as error:  # a shape with 2^63 elements or more
            raise ModelFileError(
                f"The configuration in {target} is too large to be one of its weights: {error}."
            ) from error
    expected = {name: list(value.shape) for name, value in state.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise ModelFileError(
                f"The weights in {target} must fit its configuration. {name!r} should be "
                f"{expected.get(name, 'absent')}. It is {found.get(name, 'absent')}."
            )


def _check_plausible(config: CLIPConfig, found: dict[str, list[int]], target: Path) -> None:
    """No size of the network is larger than the tensors in the file allow.

    Each layer has tensors, and each size is a dimension of a tensor or part of one.
    """
    largest = max((size for shape in found.values() for size in shape), default=0)
    limits = {"num_layers": len(found)}
    sizes = ["in_channels", "out_channels", "hidden_channels", "edge_channels", "graph_channels"]
    if config.color_code == "one-hot" and config.num_colorings != 0:
        sizes.append("num_colors")
    limits |= dict.fromkeys([*sizes, "num_members"], largest)
    for name, limit in limits.items():
        if getattr(config, name) > limit:
            raise ModelFileError(
                f"The weights in {target} must fit its configuration, in which {name} is "
                f"{getattr(config, name)}. They allow at most {limit}."
            )
