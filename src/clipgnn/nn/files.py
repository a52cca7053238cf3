"""Model files: weights as safetensors, and the configuration as JSON in the same file.

Loading executes no code: there is no pickle. The metadata holds a SHA-256
checksum of the configuration and of each tensor with its name, dtype and shape.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from clipgnn import __version__
from clipgnn.coloring.schemes import scheme_named
from clipgnn.errors import InvalidParameterError, ModelFileError, ModelNotFoundError, shown
from clipgnn.nn.clip import CLIP
from clipgnn.nn.network import Network
from clipgnn.parameters import COLORINGS, MODELS, NetworkParameters
from clipgnn.writing import write_file

_FORMAT = "clipgnn/3"
_EARLIER_FORMATS = ("clipgnn.CLIP/1", "clipgnn.CLIP/2", "clipgnn/1", "clipgnn/2")
_DTYPES = {
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
}
_MAX_CONFIG_LENGTH = 10_000
"""Largest number of characters of a configuration; `save` writes about 400."""

_MAX_DESCRIPTION_LENGTH = 100_000_000
"""Largest number of characters of a description, which has the vocabulary of attributes."""

_MAX_CONFIG_DIGITS = 18
"""Largest number of digits of an integer of a configuration, which is a size or a number."""

_MAX_DESCRIPTION_DIGITS = 20
"""Largest number of digits of an integer of a description: classes and categories of 64 bits."""


def save(model: nn.Module, path: str | os.PathLike[str]) -> None:
    """Write a network to a file, atomically.

    Args:
        model: CLIP or a neural baseline, compiled or not, on any device.
        path: the file, usually named `….safetensors`. An existing file is replaced.

    Raises:
        InvalidParameterError: if it is not a network of clipgnn, its coloring scheme is
            user-defined, or `path` is not a path.
        OutputError: if the file cannot be written. An existing file is then unchanged.
    """
    target = checked_path(path)
    write_file(target, model_bytes(model))


def model_bytes(model: nn.Module, description: Mapping[str, Any] | None = None) -> bytes:
    """Content of a model file.

    Args:
        model: the network.
        description: what else belongs to the model, as values of JSON.

    Raises:
        InvalidParameterError: if it is not a network of clipgnn, or its coloring scheme is
            user-defined.
    """
    model = getattr(model, "_orig_mod", model)  # the network inside a compiled module
    known = isinstance(model, Network) and model.name in MODELS
    if not isinstance(model, Network) or not known or MODELS[model.name].load() is not type(model):
        fix = "Use its method save." if hasattr(model, "save") else "Save its state_dict()."
        raise InvalidParameterError(
            f"Only CLIP and the baselines of clipgnn can be saved. Got a {type(model).__name__}. "
            f"{fix}"
        )
    if isinstance(model, CLIP) and type(model.scheme) is not type(
        scheme_named(model.config.coloring)
    ):
        raise InvalidParameterError(
            f"Only networks with a coloring scheme of {', '.join(COLORINGS)} can be saved. Got "
            f"{type(model.scheme).__name__}. Register it (docs/architecture.md), or save "
            "model.state_dict()."
        )
    tensors = {name: value.detach().cpu() for name, value in model.state_dict().items()}
    config = json.dumps(asdict(model.config))
    metadata = {
        "format": _FORMAT,
        "version": __version__,
        "model": model.name,
        "config": config,
        "sha256:config": _sha256(f"{model.name} {config}".encode()),
    }
    package = _package_of_colorings(model)
    if package is not None:
        metadata[f"version:{package}"] = _release(package)
    if description is not None:
        metadata["description"] = json.dumps(description, allow_nan=False)
        metadata["sha256:description"] = _sha256(metadata["description"].encode())
    for name, value in tensors.items():
        metadata[f"sha256:{name}"] = _checksum(name, value)
    return to_bytes(tensors, metadata)


def load(path: str | os.PathLike[str]) -> Network:
    """Load a network that was written by `save`, on the CPU and in evaluation mode.

    The checksums of the configuration and of every tensor are verified. Weights that are not finite
    are loaded unchanged.

    Raises:
        InvalidParameterError: if `path` is not a path.
        ModelNotFoundError: if the file does not exist; a subclass of FileNotFoundError.
        ModelFileError: if the file is damaged, or is not a model of clipgnn.
    """
    return load_described(path)[0]


def load_described(path: str | os.PathLike[str]) -> tuple[Network, dict[str, Any] | None]:
    """Load a network with its description; None if it was saved without. See `load`."""
    target = Path(checked_path(path))
    if not target.is_file():
        raise ModelNotFoundError(f"path must be an existing file. There is no model file {target}.")
    try:
        with safe_open(target, framework="pt") as file:
            metadata = file.metadata() or {}
            _check_format(metadata, target)
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            shapes = {name: list(part.get_shape()) for name, part in slices.items()}
            dtype = _common_dtype({part.get_dtype() for part in slices.values()}, target)
            network, config = _read_config(metadata, target)
            _check_shapes(network, config, shapes, target)
            description = _read_description(metadata, target)
            tensors = {name: file.get_tensor(name) for name in shapes}
    except (SafetensorError, OSError) as error:
        raise ModelFileError(
            f"{target} must be a safetensors file written by clipgnn.save. "
            f"It is damaged or has another format: {error}."
        ) from error
    for name, value in tensors.items():
        if metadata.get(f"sha256:{name}") != _checksum(name, value):
            raise _damaged(f"tensor {name!r}", target)
    with torch.random.fork_rng([]):  # the drawn weights are replaced
        model = network.from_config(config).to(dtype)
    model.load_state_dict(tensors)
    _compare_releases(model, metadata, target)
    return model.eval(), description


def checked_path(path: str | os.PathLike[str]) -> str:
    """Return a path as a string.

    Raises:
        InvalidParameterError: if it is not a path.
    """
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


def _package_of_colorings(model: Network) -> str | None:
    """Package whose release decides the colorings of a network."""
    return model.scheme.package if isinstance(model, CLIP) and model.config.num_colorings else None


def _release(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _compare_releases(model: Network, metadata: dict[str, str], target: Path) -> None:
    """Warn if another release computes the colorings than that of the training."""
    package = _package_of_colorings(model)
    saved = metadata.get(f"version:{package}", "none")
    if package is None or "none" in (saved, found := _release(package)) or saved == found:
        return
    warnings.warn(
        f"{target} was saved with {package} {saved}, which computed its colorings. Got {package} "
        f"{found}, whose colorings can be different, and predictions with them. Install {package} "
        f"{saved}, or compare predictions of known graphs.",
        stacklevel=2,
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _checksum(name: str, value: Tensor) -> str:
    """Checksum of a tensor with its name, dtype and shape."""
    described = json.dumps([name, str(value.dtype), list(value.shape)])
    content = value.contiguous().view(-1).view(torch.uint8).numpy()
    return _sha256(described.encode() + b"\n" + content.tobytes())


def _damaged(what: str, target: Path) -> ModelFileError:
    return ModelFileError(
        f"The content of {target} must match its checksums. The {what} does not match: the file is "
        "damaged. Restore the file, or save the model again."
    )


def _check_format(metadata: dict[str, str], target: Path) -> None:
    found = metadata.get("format")
    if found == _FORMAT:
        return
    reason = "another program wrote it. Use a file of clipgnn.save"
    if found in _EARLIER_FORMATS:
        reason = "an earlier clipgnn wrote it. Train the model again, and save it"
    elif found is not None and found.startswith("clipgnn"):
        reason = f"a newer clipgnn than {__version__} wrote it. Install that version"
    raise ModelFileError(
        f"{target} must be a model of the format {_FORMAT!r}. Got {found!r}: {reason}."
    )


def _common_dtype(found: set[str], target: Path) -> torch.dtype:
    if len(found) != 1 or not found <= _DTYPES.keys():
        names = ", ".join(sorted(found)) or "no tensors"
        raise ModelFileError(
            f"The weights in {target} must have one dtype of {', '.join(_DTYPES)}. Got {names}."
        )
    return _DTYPES[found.pop()]


def _read_config(metadata: dict[str, str], target: Path) -> tuple[type[Network], NetworkParameters]:
    """Read the class and the configuration of the network from the metadata."""
    name, text = metadata.get("model"), metadata.get("config")
    if text is None:
        raise ModelFileError(f"{target} must have a configuration in its metadata. Got none.")
    networks = [known for known, model in MODELS.items() if model.trained]
    if name not in networks:
        raise ModelFileError(
            f"The model in {target} must be one of {', '.join(networks)}. Got {shown(name)}: a "
            "newer clipgnn wrote it."
        )
    if metadata.get("sha256:config") != _sha256(f"{name} {text}".encode()):
        raise _damaged("configuration", target)
    try:
        values = _parsed(text, _MAX_CONFIG_LENGTH, _MAX_CONFIG_DIGITS)
        network: type[Network] = MODELS[name].load()
        return network, network.schema.from_dict(values)
    except (RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(f"The configuration in {target} cannot be read: {error}") from error


def _read_description(metadata: dict[str, str], target: Path) -> dict[str, Any] | None:
    text = metadata.get("description")
    if text is None:
        return None
    if metadata.get("sha256:description") != _sha256(text.encode()):
        raise _damaged("description", target)
    try:
        return _parsed(text, _MAX_DESCRIPTION_LENGTH, _MAX_DESCRIPTION_DIGITS)
    except (RecursionError, ValueError) as error:
        raise ModelFileError(f"The description in {target} cannot be read: {error}") from error


def _parsed(text: str, max_length: int, max_digits: int) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        ValueError: if it is too long, or is not an object with finite numbers.
    """
    if len(text) > max_length:
        raise ValueError(f"it has {len(text)} characters, more than {max_length}")
    values = json.loads(
        text,
        parse_int=partial(_parse_integer, max_digits),
        parse_constant=_refuse_constant,
        object_pairs_hook=_without_repeats,
    )
    if not isinstance(values, dict):
        raise ValueError(f"it must be a JSON object. Got {text[:100]!r}")
    return values


def _parse_integer(max_digits: int, text: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > max_digits:
        raise ValueError(f"its integers must have at most {max_digits} digits. Got {digits}.")
    return int(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"its numbers must be finite. Got {name}.")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("it must not have duplicate keys.")
    return values


def _check_shapes(
    network: type[Network], config: NetworkParameters, found: dict[str, list[int]], target: Path
) -> None:
    """Compare the shapes in the file with those of the configured network."""
    _check_plausible(config, found, target)
    with torch.device("meta"):  # shapes only, no memory
        try:
            state = network.from_config(config).state_dict()
        except RuntimeError as error:  # a shape with 2^63 elements or more
            raise ModelFileError(
                f"The configuration in {target} must match its weights. It is too large: {error}."
            ) from error
    expected = {name: list(value.shape) for name, value in state.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise ModelFileError(
                f"The weights in {target} must match its configuration. {name!r} must be "
                f"{expected.get(name, 'absent')}. Got {found.get(name, 'absent')}."
            )


def _check_plausible(config: NetworkParameters, found: dict[str, list[int]], target: Path) -> None:
    """Check that there is a tensor for each layer, to bound the time to build the network."""
    layers = getattr(config, "num_layers", 0)
    if layers > len(found):
        raise ModelFileError(
            f"The weights in {target} must match its configuration, where num_layers is {layers}. "
            f"Got {len(found)} tensors."
        )
