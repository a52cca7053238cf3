"""Hypothesis strategies of the fuzz tests: odd values, tensors that are almost right, damage."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

DTYPES = (
    *(torch.int64, torch.int32, torch.int16, torch.uint8, torch.bool),
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64),
    torch.float8_e4m3fn,
)
INTEGERS = (0, 1, 2, 3, 7, -1, -2, 50, 2**31, 2**53 + 1, 2**61, 2**62, 2**63 - 1, -(2**63))
MEMORY = 2**31
"""A size for which some machines have the memory. A call with this number of graphs or colorings
need not be refused, but the tests do not have the memory to make it."""
FLOATS = (
    *(0.0, -0.0, 1.0, 1.0, 2.5, -1.0, 1e-30, 1e30, 3.4e38, 1e300),
    *(float("nan"), float("inf"), -float("inf")),
)


def odd_objects() -> st.SearchStrategy[Any]:
    """What is no tensor, from nothing at all to numbers without bound."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from([*INTEGERS, 2**64, 2**70, -(2**70), 10**400]),
        st.sampled_from([*FLOATS]),
        st.text(max_size=4),
        st.binary(max_size=4),
        st.sampled_from([[], [0], [0, 1], [[0, 1], [1, 0]], (), {}, {"x": 1}, set()]),
        st.sampled_from([np.int64(1), np.array([0, 1]), np.array(["a"]), np.array([[0.5]])]),
        st.just(object()),
    )


@st.composite
def odd_tensors(draw: st.DrawFn) -> Tensor:
    """Tensors of any dtype, shape, layout and content."""
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    dtype = draw(st.sampled_from(DTYPES))
    size = int(np.prod(shape, dtype=np.int64))
    if dtype in (torch.int64, torch.int32):
        pool = [value for value in INTEGERS if abs(value) < 2**31 or dtype == torch.int64]
        values = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
        tensor = torch.tensor(values, dtype=dtype).reshape(shape)
    else:
        values = draw(st.lists(st.sampled_from(FLOATS), min_size=size, max_size=size))
        tensor = torch.tensor(values, dtype=torch.float64).nan_to_num(0.0, 9.0, 0.0)
        if dtype.is_floating_point and draw(st.booleans()):
            tensor = torch.tensor(values, dtype=torch.float64)
        tensor = tensor.clamp(0, 200).to(dtype).reshape(shape)
    return draw(layouts(tensor))


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "as it is": lambda tensor: tensor,
    "sparse": lambda tensor: tensor.to_sparse(),
    "compressed": lambda tensor: tensor.to_sparse_csr(),
    "meta": lambda tensor: tensor.to("meta"),
    "strided": lambda tensor: torch.stack([tensor, tensor], dim=-1)[..., 0],
    "with gradient": lambda tensor: tensor.clone().requires_grad_(),
    "quantized": lambda tensor: torch.quantize_per_tensor(tensor.float(), 1.0, 0, torch.quint8),
}


@st.composite
def layouts(draw: st.DrawFn, tensor: Tensor) -> Tensor:
    """The same tensor in one of torch's representations, where it has this one."""
    layout = LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return layout(tensor)
        except (RuntimeError, IndexError, ValueError):
            return tensor


def _is_plain(tensor: Tensor) -> bool:
    """Is it a tensor that nothing has been done to yet?"""
    usual = tensor.dtype in (torch.int64, torch.float32, torch.float64)
    strided = tensor.layout is torch.strided and not tensor.is_meta
    return usual and strided and not tensor.requires_grad


@st.composite
def almost(draw: st.DrawFn, value: Any) -> Any:
    """A value with something wrong about it, or not."""
    if not isinstance(value, Tensor) or not _is_plain(value):
        return draw(st.one_of(odd_objects(), odd_tensors()))
    kind = draw(
        st.sampled_from(
            ["entry", "entry", "row", "dtype", "shape", "layout", "object", "tensor", "numpy"]
        )
    )
    if kind == "entry" and value.numel():
        copy = value.clone(memory_format=torch.contiguous_format)
        place = draw(st.integers(0, value.numel() - 1))
        pool = FLOATS if value.is_floating_point() else INTEGERS
        entry = torch.tensor(draw(st.sampled_from(pool)))
        copy.view(-1)[place] = entry.to(value.dtype)  # which may become infinite
        return copy
    if kind == "row" and value.dim():
        axis = draw(st.integers(0, value.dim() - 1))
        if draw(st.booleans()) and value.shape[axis]:
            return value.narrow(axis, 0, value.shape[axis] - 1)
        return torch.cat([value, value.narrow(axis, 0, min(1, value.shape[axis]))], dim=axis)
    if kind == "dtype":
        return value.to(draw(st.sampled_from(DTYPES)))
    if kind == "shape":
        flat = value.flatten()
        shapes = [flat, value.unsqueeze(0), value.unsqueeze(-1), flat[:0]]
        return draw(st.sampled_from([*shapes, value.mT if value.dim() > 1 else flat[:1].sum()]))
    if kind == "layout":
        return draw(layouts(value))
    if kind == "numpy":
        return draw(st.sampled_from([value.numpy(), value.tolist()]))
    return draw(odd_objects() if kind == "object" else odd_tensors())


@st.composite
def damage(draw: st.DrawFn, content: bytes) -> bytes:
    """The content as it is, or with some bytes changed, lost, added, doubled or exchanged."""
    damaged = bytearray(content)
    kinds = [*["bit"] * 6, "byte", "byte", "zero", "copy", "lose", "add", "cut"]
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2, 3]))):
        place = draw(st.integers(0, max(0, len(damaged) - 1)))
        if draw(st.booleans()):  # most of a database is empty space: on to where something is
            while 0 < place < len(damaged) and not damaged[place]:
                place -= 1
        length = draw(st.sampled_from([1, 1, 1, 2, 8, 64]))
        kind = draw(st.sampled_from(kinds))
        if kind == "bit" and damaged:
            damaged[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "byte" and damaged:
            damaged[place] = draw(st.integers(0, 255))
        elif kind == "lose":
            del damaged[place : place + length]
        elif kind == "add":
            damaged[place:place] = draw(st.binary(min_size=1, max_size=8))
        elif kind == "cut":
            del damaged[place:]
        elif kind == "zero":
            damaged[place : place + length] = bytes(len(damaged[place : place + length]))
        elif kind == "copy":
            source = draw(st.integers(0, max(0, len(damaged) - 1)))
            part = damaged[source : source + length]
            damaged[place : place + len(part)] = part
    return bytes(damaged)


def asks_for_memory(value: Any) -> bool:
    """Is it a size, or a vector of numbers of graphs, that asks for gigabytes?"""
    if isinstance(value, Tensor) and value.dtype == torch.int64 and value.device.type == "cpu":
        return bool((value.to_dense() == MEMORY).any())
    return type(value) is int and value == MEMORY
