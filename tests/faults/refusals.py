"""Wrong input and the messages about it, for the tests of this folder."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from clipgnn import CLIP
from clipgnn.errors import ClipGNNError

NAN, INFINITY = float("nan"), float("inf")


@dataclass(frozen=True)
class Case:
    """Arguments that replace good ones, and parts of the message."""

    wrong: dict[str, Any]
    said: tuple[str, ...]


def cases(table: dict[str, Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", table.values(), ids=table.keys())


def assert_refused(
    error: type[ClipGNNError], call: Callable[[], object], said: tuple[str, ...]
) -> None:
    """Check that the call raises this error, also a ValueError, with these parts in its message."""
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, ClipGNNError)
    assert isinstance(caught.value, ValueError)
    for fragment in said:
        assert fragment in str(caught.value)


def good() -> dict[str, Any]:
    """Two graphs, of three nodes and of two, which `plain_model` can read."""
    return {
        "x": torch.tensor([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]),
        "edge_index": torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]]),
        "batch": torch.tensor([0, 0, 0, 1, 1]),
    }


def plain_model(**parameters: Any) -> CLIP:
    small = {"hidden_channels": 4, "num_layers": 1, "num_colorings": 2, "num_colors": 4}
    return CLIP(2, 3, **{**small, **parameters}).eval()


def changed(values: torch.Tensor, place: tuple[int, ...], value: float) -> torch.Tensor:
    """A copy with another value in one place."""
    copy = values.clone()
    copy[place] = value
    return copy


def odd_tensors(values: torch.Tensor) -> dict[str, tuple[torch.Tensor, str]]:
    """The same values in forms that torch hardly supports, and their names in messages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch: sparse ones are in beta, quantized ones go
        forms = {
            "sparse": (values.to_sparse(), "sparse"),
            "sparse by rows": (values.to_sparse_csr(), "sparse"),
            "nested": (torch.nested.nested_tensor(list(values)), "nested"),
            "meta": (values.to("meta"), "meta"),
            "complex": (values * 1j, "complex64"),
            "boolean": (values > 0, "bool"),
        }
        if values.is_floating_point():
            quantized = torch.quantize_per_tensor(values, 0.1, 0, torch.quint8)
            forms["quantized"] = (quantized, "quantized")
            for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
                name = str(dtype).removeprefix("torch.")
                forms[name] = (values.to(dtype), name)
    return forms
