"""Damaged model files: refused, or the model that was saved."""

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

from clipgnn import CLIP, load, save

SIZES: dict[str, Any] = {"hidden_channels": 8, "num_layers": 1, "num_colorings": 2, "num_colors": 3}
ODD = (
    *(
        None,
        True,
        False,
        0,
        1,
        2,
        3,
        -1,
        10**5,
        10**30,
        0.0,
        0.5,
        1.0,
        1.5,
        float("nan"),
        float("inf"),
    ),
    *("", "all", "relu", "tanh", "binary", "batch", "1", [], [1], {}, {"a": 1}),
)
DEEP = "[" * 5000 + "]" * 5000


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[CLIP, bytes, Path]:
    with torch.random.fork_rng([]):
        torch.manual_seed(3)
        model = CLIP(1, 2, **SIZES)
    path = tmp_path_factory.mktemp("models") / "model.safetensors"
    save(model, path)
    return model, path.read_bytes(), path


def _check(loaded: CLIP, model: CLIP) -> None:
    """The same network, bit by bit."""
    assert equal(asdict(loaded.config), asdict(model.config))
    state, right = loaded.state_dict(), model.state_dict()
    assert list(state) == list(right)
    for name, value in right.items():
        assert state[name].dtype == value.dtype
        assert torch.equal(state[name].view(torch.uint8), value.view(torch.uint8)), name


@budget("load, damaged bytes")
@given(st.data())
def test_damaged_bytes(saved: tuple[CLIP, bytes, Path], data: st.DataObject) -> None:
    model, content, path = saved
    damaged = data.draw(damage(content))
    path.write_bytes(damaged)
    judge("load, damaged bytes", damaged, lambda: load(path), lambda found: _check(found, model))


def _opened(content: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def _closed(header: bytes, weights: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + weights


@st.composite
def metadata(draw: st.DrawFn, content: bytes) -> bytes:
    """The file with another header: values, entries or whole texts of it changed."""
    header, weights = _opened(content)
    texts: dict[str, Any] = header["__metadata__"]
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(["config", "config", "config", "text", "tensor", "lose"]))
        tensors = sorted(key for key in header if key != "__metadata__")
        if kind == "config":
            config = json.loads(texts["config"]) if _is_object(texts.get("config")) else {}
            config[draw(st.sampled_from([*sorted(config), "unknown"]))] = draw(st.sampled_from(ODD))
            texts["config"] = json.dumps(config)
        elif kind == "text":
            odd = ["", "{}", "[]", "null", DEEP, "NaN", '{"a": 1, "a": 2}', "9" * 5000, "\x00"]
            texts[draw(st.sampled_from([*sorted(texts), "unknown"]))] = draw(st.sampled_from(odd))
        elif kind == "tensor" and tensors:
            entry = header[draw(st.sampled_from(tensors))]
            entry[draw(st.sampled_from(["dtype", "shape", "data_offsets"]))] = draw(
                st.sampled_from(
                    [
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
                    ]
                )
            )
        elif tensors:
            name = draw(st.sampled_from(tensors))
            header[draw(st.sampled_from(["another", *tensors]))] = header.pop(name)
    return _closed(json.dumps(header).encode(), weights)


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError, RecursionError):
        return False


@budget("load, damaged metadata")
@given(st.data())
def test_damaged_metadata(saved: tuple[CLIP, bytes, Path], data: st.DataObject) -> None:
    model, content, path = saved
    changed = data.draw(metadata(content))
    path.write_bytes(changed)
    judge(
        "load, damaged metadata",
        changed[:3000],
        lambda: load(path),
        lambda found: _check(found, model),
    )
