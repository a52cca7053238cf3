"""Changed model files: refused, or the model that the file describes, bit by bit."""

import hashlib
import json
import struct
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.fuzz.oracle import budget, equal, judge
from tests.faults.fuzz.strategies import damage
from torch import Tensor

from clipgnn import CLIP, load, save
from clipgnn.errors import ClipGNNError
from clipgnn.nn.network import Network

SIZES: dict[str, Any] = {"hidden_channels": 8, "num_layers": 1, "num_colorings": 2, "num_colors": 3}
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no colors": {"num_colorings": 0},
    "two layers": {"num_layers": 2, "color_code": "binary", "norm": None},
    "attributes": {"directed": True, "edge_channels": 2, "graph_channels": 1},
    "members": {"num_members": 2},
}
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, 3, -1, 8, 10**5, 10**30),
    *(0.0, 0.5, 1.0, 1.5, float("nan"), float("inf")),
    *("", "all", "relu", "tanh", "binary", "batch", "1", [], [1], {}, {"a": 1}),
)
FREE: dict[str, tuple[Any, ...]] = {
    "coloring": ("random", "all", "precomputed"),
    "num_colorings": (1, 3, 10**5),
    "activation": ("relu", "tanh", "elu"),
    "dropout": (0.0, 0, 0.5),
    "colorings_at_once": (None, 1, 10**5),
}
"""Values that no shape depends on; `num_colorings` only in a model with colors."""

DEEP = "[" * 5000 + "]" * 5000
TEXTS = ("", "{}", "[]", "null", DEEP, "NaN", '{"a": 1, "a": 2}', "9" * 5000, "\x00")
ENTRIES: tuple[Any, ...] = (
    "F32",
    "F64",
    "BF16",
    "I64",
    "X",
    [],
    [0],
    [1],
    [2, 1],
    [0, 8],
    [2**62, 2**62],
    -1,
)
KINDS = ("odd", "odd", "free", "free", "lose", "text", "tensor", "rename", "swap", "weights")
DTYPES = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16}
Header = dict[str, Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models") / "model.safetensors"


@pytest.fixture(scope="module")
def files(path: Path) -> dict[str, bytes]:
    """A file of each model."""
    contents = {}
    for name, parameters in MODELS.items():
        with torch.random.fork_rng([]):
            torch.manual_seed(3)
            model = CLIP(1, 2, **{**SIZES, **parameters})
        save(model.double() if name == "members" else model, path)
        contents[name] = path.read_bytes()
    return contents


def opened(content: bytes) -> tuple[Header, bytes]:
    """The header and the weights of a safetensors file."""
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def closed(header: Header, weights: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + weights


def tensors_of(header: Header, weights: bytes) -> dict[str, Tensor]:
    """The tensors that a header describes, without those that it describes wrongly."""
    found = {}
    for name in header.keys() - {"__metadata__"}:
        try:
            begin, end = header[name]["data_offsets"]
            flat = torch.frombuffer(
                bytearray(weights[begin:end]), dtype=DTYPES[header[name]["dtype"]]
            )
            found[name] = flat.reshape(header[name]["shape"])
        except (KeyError, TypeError, ValueError, RuntimeError):
            continue
    return found


def checksums(header: Header, weights: bytes) -> dict[str, str]:
    """The checksums that `save` writes into a file with this content."""
    texts = header["__metadata__"]
    config = f"{texts.get('model')} {texts.get('config')}".encode()
    sums = {"sha256:config": hashlib.sha256(config).hexdigest()}
    for name, value in tensors_of(header, weights).items():
        described = json.dumps([name, str(value.dtype), list(value.shape)]).encode()
        begin, end = header[name]["data_offsets"]
        content = described + b"\n" + weights[begin:end]
        sums[f"sha256:{name}"] = hashlib.sha256(content).hexdigest()
    return sums


def described(content: bytes) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """The configuration and the tensors in a file; None if they are no model together.

    The model is built from the configuration as a user builds it, and its shapes are compared.
    """
    header, weights = opened(content)
    texts = header["__metadata__"]
    tensors = tensors_of(header, weights)
    sums = checksums(header, weights)
    if texts.get("format") != "clipgnn/3" or texts.get("model") != "clip":
        return None
    if {**texts, **sums} != texts:
        return None
    try:
        values = json.loads(texts["config"])
        if values.get("num_layers", 3) > 10:
            return None  # too long to build; no file here has more
        with torch.device("meta"):
            model = CLIP(**values)
    except (
        *(ClipGNNError, AttributeError, KeyError, OverflowError, RecursionError),
        *(RuntimeError, TypeError, ValueError),
    ):
        return None
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    same = shapes == {name: value.shape for name, value in tensors.items()}
    if not same or len({value.dtype for value in tensors.values()}) != 1:
        return None
    return asdict(model.config), tensors


def check(loaded: Network, content: bytes) -> None:
    """The network that the file describes, bit by bit."""
    right = described(content)
    assert right is not None, "the file describes no model"
    config, tensors = right
    assert equal(asdict(loaded.config), config)
    state = loaded.state_dict()
    assert state.keys() == tensors.keys()
    for name, value in tensors.items():
        assert state[name].dtype == value.dtype
        assert torch.equal(
            state[name].flatten().view(torch.uint8), value.flatten().view(torch.uint8)
        ), name


@budget("load, damaged bytes")
@given(st.data())
def test_damaged_bytes(files: dict[str, bytes], path: Path, data: st.DataObject) -> None:
    content = files["plain"]
    damaged = data.draw(damage(content))
    path.write_bytes(damaged)
    judge("load, damaged bytes", damaged, lambda: load(path), lambda found: check(found, content))


@st.composite
def changed_files(draw: st.DrawFn, files: dict[str, bytes]) -> bytes:
    """A file with some of its content changed, and in most cases with checksums that match."""
    header, weights = opened(files[draw(st.sampled_from(sorted(files)))])
    for _ in range(draw(st.integers(0, 2))):
        weights = _change(draw, header, weights)
    if draw(st.integers(0, 5)) < 5:
        header["__metadata__"].update(checksums(header, weights))
    return closed(header, weights)


def _change(draw: st.DrawFn, header: Header, weights: bytes) -> bytes:
    """Change one thing in the header or the weights; the weights."""
    kind = draw(st.sampled_from(KINDS))
    texts: dict[str, Any] = header["__metadata__"]
    tensors = sorted(header.keys() - {"__metadata__"})
    if kind in ("odd", "free", "lose"):
        config = json.loads(texts["config"]) if _is_object(texts.get("config")) else {}
        if kind == "lose" and config:
            del config[draw(st.sampled_from(sorted(config)))]
        elif kind == "odd":
            config[draw(st.sampled_from([*sorted(config), "unknown"]))] = draw(st.sampled_from(ODD))
        else:
            key = draw(st.sampled_from(sorted(FREE)))
            config[key] = draw(st.sampled_from(FREE[key]))
        texts["config"] = json.dumps(config)
    elif kind == "text":
        texts[draw(st.sampled_from([*sorted(texts), "unknown"]))] = draw(st.sampled_from(TEXTS))
    elif kind == "tensor":
        entry = header[draw(st.sampled_from(tensors))]
        entry[draw(st.sampled_from(["dtype", "shape", "data_offsets"]))] = draw(
            st.sampled_from(ENTRIES)
        )
    elif kind == "rename":
        name = draw(st.sampled_from(tensors))
        header[draw(st.sampled_from(["another", *tensors]))] = header.pop(name)
    elif kind == "swap":
        one, other = draw(st.sampled_from(tensors)), draw(st.sampled_from(tensors))
        header[one], header[other] = header[other], header[one]
    else:
        place = draw(st.integers(0, len(weights) - 1))
        changed = bytes([draw(st.integers(0, 255))])
        return weights[:place] + changed + weights[place + 1 :]
    return weights


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError, RecursionError):
        return False


@budget("load, damaged metadata")
@given(st.data())
def test_damaged_metadata(files: dict[str, bytes], path: Path, data: st.DataObject) -> None:
    content = data.draw(changed_files(files))
    path.write_bytes(content)
    accepted = []

    def check_it(loaded: Network) -> None:
        accepted.append(loaded)
        check(loaded, content)

    judge("load, damaged metadata", content[:3000], lambda: load(path), check_it)
    right = described(content)
    if right is not None and all(abs(v) < 10**18 for v in right[0].values() if isinstance(v, int)):
        assert accepted, f"nothing is wrong with {content[:3000]!r}"


def test_a_changed_file_with_checksums_that_match(files: dict[str, bytes], path: Path) -> None:
    """The checksums of this file are those of `save`, and what they protect is compared."""
    header, weights = opened(files["plain"])
    texts = header["__metadata__"]
    assert {**texts, **checksums(header, weights)} == texts
    texts["config"] = json.dumps({**json.loads(texts["config"]), "dropout": 0.5})
    assert described(closed(header, weights)) is None
    texts.update(checksums(header, weights))
    path.write_bytes(closed(header, weights))
    check(load(path), path.read_bytes())
    with pytest.raises(AssertionError):
        check(load(path), files["plain"])
    other = bytes([weights[0] ^ 1]) + weights[1:]
    header["__metadata__"].update(checksums(header, other))
    with pytest.raises(AssertionError):
        check(load(path), closed(header, other))
