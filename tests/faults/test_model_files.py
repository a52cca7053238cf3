"""Model files that are damaged, foreign or do not fit together: refused, each with its reason."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from clipgnn import CLIP, load, save
from clipgnn.errors import ClipGNNError, ModelFileError, ModelNotFoundError

Contents = tuple[dict[str, Tensor], dict[str, str]]


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save(CLIP(2, 3, hidden_channels=4, num_layers=1, num_colorings=2, num_colors=4), path)
    return path


def refusal(path: Path) -> str:
    """The message of the error with which the file is refused."""
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert isinstance(caught.value, ClipGNNError)
    assert isinstance(caught.value, ValueError)
    assert str(path) in str(caught.value)
    return str(caught.value)


def header_of(content: bytes) -> tuple[int, dict[str, Any]]:
    (length,) = struct.unpack("<Q", content[:8])
    return length, json.loads(content[8 : 8 + length])


def truncated(content: bytes, keep: float) -> bytes:
    return content[: int(len(content) * keep)]


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "a few bytes": lambda content: content[:5],
    "cut in the header": lambda content: content[:100],
    "cut after the header": lambda content: content[: 8 + header_of(content)[0]],
    "cut in half": lambda content: truncated(content, 0.5),
    "last byte lost": lambda content: content[:-1],
    "bytes too many": lambda content: content + b"\0" * 16,
    "flipped length": lambda content: flipped(content, 0),
    "flipped high byte of the length": lambda content: flipped(content, 7),
    "flipped first brace": lambda content: flipped(content, 8),
    "flipped in the header": lambda content: flipped(content, 30),
    "flipped in an offset": lambda content: flipped(
        content, content.index(b'"data_offsets":[') + 16
    ),
    "zeros": lambda content: b"\0" * len(content),
    "text": lambda content: b"this is not a model\n" * 100,
    "another tensor type": lambda content: content.replace(b'"dtype":"F32"', b'"dtype":"I32"'),
    "another type of one tensor": lambda content: content.replace(
        b'"dtype":"F32"', b'"dtype":"I32"', 1
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_files(damage: Callable[[bytes], bytes], model_file: Path) -> None:
    content = model_file.read_bytes()
    changed = damage(content)
    assert changed != content
    model_file.write_bytes(changed)
    refusal(model_file)


def test_a_damaged_file_is_said_to_be_damaged(model_file: Path) -> None:
    model_file.write_bytes(truncated(model_file.read_bytes(), 0.5))
    message = refusal(model_file)
    assert "must be a safetensors file written by clipgnn.save" in message
    assert "damaged or something else" in message


def test_a_pickle_is_not_read(model_file: Path) -> None:
    torch.save({"weight": torch.ones(3)}, model_file)
    assert "safetensors" in refusal(model_file)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no model file .*absent"):
        load(tmp_path / "absent")
    assert issubclass(ModelNotFoundError, ClipGNNError)
    assert issubclass(ModelNotFoundError, FileNotFoundError)


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises((FileNotFoundError, ModelFileError), match=tmp_path.name):
        load(tmp_path)


def rewrite(path: Path, change: Callable[[dict[str, Tensor], dict[str, str]], Contents]) -> None:
    """Replace a file by a sound safetensors file with other contents."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    tensors, metadata = change(tensors, metadata)
    path.unlink()
    save_file(tensors, path, metadata)


def with_config(path: Path, **values: Any) -> None:
    """Change the configuration in a file."""

    def change(tensors: dict[str, Tensor], metadata: dict[str, str]) -> Contents:
        config = {**json.loads(metadata["config"]), **values}
        return tensors, {**metadata, "config": json.dumps(config)}

    rewrite(path, change)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"format": "clipgnn.CLIP/2"}])
def test_files_of_other_programs_and_newer_formats(
    metadata: dict[str, str] | None, tmp_path: Path
) -> None:
    path = tmp_path / "foreign.safetensors"
    save_file({"weight": torch.ones(3)}, path, metadata)
    message = refusal(path)
    assert "clipgnn.CLIP/1" in message
    assert repr((metadata or {}).get("format")) in message
    assert "another program, or a newer clipgnn" in message


@pytest.mark.parametrize(
    "config", ["", "{", "[]", "[1]", "null", "3", '"text"', "{}", '{"in_channels": 2}']
)
def test_configurations_that_are_none(config: str, model_file: Path) -> None:
    rewrite(model_file, lambda tensors, metadata: (tensors, {**metadata, "config": config}))
    assert "configuration" in refusal(model_file)


def test_a_file_without_a_configuration(model_file: Path) -> None:
    rewrite(model_file, lambda tensors, metadata: (tensors, {"format": metadata["format"]}))
    assert "configuration" in refusal(model_file)


def test_unknown_keys_in_the_configuration(model_file: Path) -> None:
    with_config(model_file, hiden_channels=4)
    message = refusal(model_file)
    assert "'hiden_channels'" in message
    assert "Did you mean 'hidden_channels'?" in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_layers", 0),
        ("num_colorings", -1),
        ("num_colorings", None),
        ("hidden_channels", "4"),
        ("activation", "square"),
        ("color_code", "unary"),
        ("directed", 1),
        ("norm", "layer"),
        ("dropout", 2.0),
    ],
)
def test_values_the_configuration_cannot_have(name: str, value: Any, model_file: Path) -> None:
    with_config(model_file, **{name: value})
    message = refusal(model_file)
    assert name in message
    assert repr(value) in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden_channels", 5),
        ("num_layers", 2),
        ("num_colors", 5),
        ("norm", None),
        ("directed", True),
        ("num_members", 2),
        ("hidden_channels", 10**7),
    ],
)
def test_configurations_of_another_network(name: str, value: Any, model_file: Path) -> None:
    """Also of one that no machine could hold: it is refused, not built."""
    with_config(model_file, **{name: value})
    assert "must fit its configuration" in refusal(model_file)


def missing(tensors: dict[str, Tensor], metadata: dict[str, str]) -> Contents:
    return {n: t for n, t in tensors.items() if n != "readout.second.bias"}, metadata


def additional(tensors: dict[str, Tensor], metadata: dict[str, str]) -> Contents:
    return {**tensors, "readout.third.bias": torch.ones(3)}, metadata


def of_another_shape(tensors: dict[str, Tensor], metadata: dict[str, str]) -> Contents:
    return {**tensors, "readout.second.bias": torch.ones(1, 4)}, metadata


def none_at_all(tensors: dict[str, Tensor], metadata: dict[str, str]) -> Contents:
    return {}, metadata


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (missing, ["'readout.second.bias'", "[1, 3]", "absent"]),
        (additional, ["'readout.third.bias'", "should be absent"]),
        (of_another_shape, ["'readout.second.bias'", "[1, 3]", "[1, 4]"]),
        (none_at_all, ["must fit its configuration"]),
    ],
)
def test_weights_that_do_not_fit(change: Any, said: list[str], model_file: Path) -> None:
    rewrite(model_file, change)
    message = refusal(model_file)
    for fragment in said:
        assert fragment in message
