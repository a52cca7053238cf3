"""Model files that are damaged, foreign or do not fit together: refused, each with its reason."""

import hashlib
import json
import struct
import time
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


def flipped(content: bytes, place: int, bits: int = 0xFF) -> bytes:
    return content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :]


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
    assert "damaged or has another format" in message


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


def with_config_text(path: Path, text: str) -> None:
    """Replace the configuration in a file, with a checksum that is right."""
    checksum = hashlib.sha256(f"clip {text}".encode()).hexdigest()
    new = {"config": text, "sha256:config": checksum}
    rewrite(path, lambda tensors, metadata: (tensors, {**metadata, **new}))


def with_config(path: Path, **values: Any) -> None:
    """Change the configuration in a file."""
    with safe_open(path, framework="pt") as file:
        config = json.loads(file.metadata()["config"])
    with_config_text(path, json.dumps({**config, **values}))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "another program wrote it"),
        ("pt", "another program wrote it"),
        ("clipgnn/4", "a newer clipgnn than 0.1.0 wrote it. Install that version"),
        ("clipgnn/10", "a newer clipgnn"),
        ("clipgnn/1", "an earlier clipgnn wrote it. Train the model again"),
        ("clipgnn/2", "an earlier clipgnn"),
        ("clipgnn.CLIP/1", "an earlier clipgnn"),
        ("clipgnn.CLIP/2", "an earlier clipgnn"),
    ],
)
def test_files_of_other_programs_and_formats(found: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign.safetensors"
    save_file({"weight": torch.ones(3)}, path, None if found is None else {"format": found})
    message = refusal(path)
    assert "'clipgnn/3'" in message
    assert f"Got {found!r}" in message
    assert said in message


@pytest.mark.parametrize("name", [None, "", "clap", "wl", "CLIP"])
def test_models_that_are_no_networks(name: str | None, model_file: Path) -> None:
    def renamed(tensors: dict[str, Tensor], metadata: dict[str, str]) -> Contents:
        del metadata["model"]
        return tensors, metadata if name is None else {**metadata, "model": name}

    rewrite(model_file, renamed)
    message = refusal(model_file)
    assert "must be one of clip, gin, rp-gin" in message
    assert "wl" not in message.split("Got")[0]
    assert f"Got {name!r}" in message


def test_the_name_of_another_network(model_file: Path) -> None:
    """The checksum of the configuration covers the name."""
    rewrite(model_file, lambda tensors, metadata: (tensors, {**metadata, "model": "gin"}))
    assert "The configuration does not" in refusal(model_file)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("[]", "must be a JSON object"),
        ("[1]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ("3", "must be a JSON object"),
        ('"text"', "must be a JSON object"),
        ("{}", "'in_channels'"),
        ('{"in_channels": 2}', "'out_channels'"),
        ('{"in_channels": 2, "in_channels": 2, "out_channels": 3}', "duplicate keys"),
        ('{"in_channels": 2, "out_channels": 3, "dropout": NaN}', "finite. Got NaN"),
        ('{"in_channels": 2, "out_channels": 3, "dropout": Infinity}', "finite. Got Infinity"),
        ('{"in_channels": 2, "out_channels": 3, "dropout": 1e999}', "'dropout'"),
        ('{"in_channels": [2], "out_channels": {"a": {}}}', "'in_channels'"),
        (f'{{"in_channels": {10**30}, "out_channels": 3}}', "at most 18 digits. Got 31"),
        (f'{{"in_channels": {"9" * 5000}, "out_channels": 3}}', "at most 18 digits. Got 5000"),
        (f'{{"in_channels": {"[" * 3000}', "recursion"),
        ('{"a":' * 1800, "recursion"),
        (f'{{"in_channels": 2, "out_channels": 3{" " * 10_000}}}', "more than 10000"),
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_configurations_that_are_none(config: str, said: str, model_file: Path) -> None:
    with_config_text(model_file, config)
    message = refusal(model_file)
    assert "configuration" in message
    assert said in message
    assert len(message) < 500


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
        ("graph_channels", 1),
        ("edge_channels", 1),
    ],
)
def test_configurations_of_another_network(name: str, value: Any, model_file: Path) -> None:
    with_config(model_file, **{name: value})
    assert "must match its configuration" in refusal(model_file)


@pytest.mark.parametrize("value", [1000, 10**7, 10**18 - 1])
@pytest.mark.parametrize(
    "name",
    [
        "num_layers",
        "in_channels",
        "out_channels",
        "hidden_channels",
        "num_colors",
        "edge_channels",
        "graph_channels",
        "num_members",
    ],
)
def test_configurations_of_networks_that_no_machine_could_hold(
    name: str, value: int, model_file: Path
) -> None:
    """They are refused at once, before memory is allocated for their weights."""
    with_config(model_file, **{name: value})
    start = time.perf_counter()
    message = refusal(model_file)
    assert time.perf_counter() - start < 5
    assert "must match its configuration" in message or f"{name!r} parameter of CLIP" in message


def test_more_elements_than_can_be_counted(model_file: Path) -> None:
    with_config(model_file, in_channels=10**7, num_members=10**7, hidden_channels=2**16)
    assert "It is too large" in refusal(model_file)


def test_no_layers_are_built_that_the_file_has_no_tensors_for(
    model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_config(model_file, num_layers=1000)
    monkeypatch.setattr(CLIP, "from_config", lambda _: pytest.fail("it was built"))
    assert "num_layers is 1000. Got" in refusal(model_file)


def test_tensors_without_elements_allow_no_large_network(model_file: Path) -> None:
    """Their dimensions can be anything, as they take no memory."""
    huge = 10**15
    with_config(model_file, hidden_channels=huge, in_channels=huge)
    rewrite(
        model_file,
        lambda tensors, metadata: ({**tensors, "readout.x": torch.empty(huge, 0)}, metadata),
    )
    start = time.perf_counter()
    refusal(model_file)
    assert time.perf_counter() - start < 5


def test_a_damaged_configuration_is_named(model_file: Path) -> None:
    content = model_file.read_bytes()
    assert content.count(b'hidden_channels\\": 4') == 1
    model_file.write_bytes(content.replace(b'hidden_channels\\": 4', b'hidden_channels\\": 5'))
    message = refusal(model_file)
    assert "The configuration does not" in message
    assert "Restore the file" in message


def test_a_damaged_tensor_is_named(model_file: Path) -> None:
    """The message has the name of the tensor, for each of them."""
    content = model_file.read_bytes()
    length, header = header_of(content)
    header.pop("__metadata__")
    assert len(header) > 10
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        for place in (begin, end - 1):
            model_file.write_bytes(flipped(content, 8 + length + place, 0x01))
            assert f"The tensor {name!r} does not" in refusal(model_file)


def test_exchanged_tensors_are_noticed(model_file: Path) -> None:
    """Two of one shape, whose contents are sound each."""

    def exchange(tensors: dict[str, Tensor], metadata: dict[str, str]) -> Contents:
        first, second = "layers.0.phi.norm.bias", "layers.0.phi.norm.weight"
        return {**tensors, first: tensors[second], second: tensors[first]}, metadata

    rewrite(model_file, exchange)
    assert "layers.0.phi.norm" in refusal(model_file)


@pytest.mark.parametrize("change", [{}, {"sha256:readout.second.bias": "0" * 64}])
def test_missing_and_wrong_checksums(change: dict[str, str], model_file: Path) -> None:
    def without(tensors: dict[str, Tensor], metadata: dict[str, str]) -> Contents:
        metadata.pop("sha256:readout.second.bias")
        return tensors, {**metadata, **change}

    rewrite(model_file, without)
    assert "The tensor 'readout.second.bias' does not" in refusal(model_file)


def assert_flips_are_harmless(path: Path, step: int) -> None:
    """A flipped bit in each step-th byte: it is refused, or the model is the same."""
    content = path.read_bytes()
    expected = load(path)
    places = range(0, len(content), step)
    refused = 0
    for number, place in enumerate(places):
        path.write_bytes(flipped(content, place, 1 << number % 8))
        try:
            found = load(path)
        except ModelFileError:
            refused += 1
            continue
        assert found.config == expected.config, place
        state = found.state_dict()
        assert all(torch.equal(state[n], v) for n, v in expected.state_dict().items()), place
    assert refused > 0.99 * len(places)


def test_some_flipped_bits(model_file: Path) -> None:
    assert_flips_are_harmless(model_file, 37)


@pytest.mark.slow
def test_flipped_bits_in_every_byte(model_file: Path) -> None:
    assert_flips_are_harmless(model_file, 1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_half_precision(dtype: torch.dtype, model_file: Path) -> None:
    save(load(model_file).to(dtype), model_file)
    assert {value.dtype for value in load(model_file).state_dict().values()} == {dtype}


@pytest.mark.parametrize("dtype", [torch.int64, torch.float8_e4m3fn, torch.bool])
def test_other_dtypes(dtype: torch.dtype, model_file: Path) -> None:
    rewrite(model_file, lambda tensors, m: ({n: t.to(dtype) for n, t in tensors.items()}, m))
    assert "must have one dtype of F16, BF16, F32, F64" in refusal(model_file)


def test_weights_that_are_not_finite_are_loaded_as_they_are(model_file: Path) -> None:
    model = load(model_file)
    with torch.no_grad():
        values = torch.tensor([torch.nan, torch.inf, -torch.inf])
        model.get_parameter("readout.second.bias")[0] = values
    save(model, model_file)
    found = load(model_file).get_parameter("readout.second.bias")
    assert torch.equal(found.isnan(), torch.tensor([[True, False, False]]))
    assert found[0, 1:].tolist() == [torch.inf, -torch.inf]


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
        (additional, ["'readout.third.bias'", "must be absent"]),
        (of_another_shape, ["'readout.second.bias'", "[1, 3]", "[1, 4]"]),
        (none_at_all, ["no tensors"]),
    ],
)
def test_weights_that_do_not_fit(change: Any, said: list[str], model_file: Path) -> None:
    rewrite(model_file, change)
    message = refusal(model_file)
    for fragment in said:
        assert fragment in message
