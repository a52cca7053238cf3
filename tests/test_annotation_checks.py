"""What the checks of annotations in all tests find."""

from dataclasses import dataclass
from typing import Any

import jaxtyping
import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

pytest.importorskip("beartype")

from tests.annotation_checks import checked

Rows = Float[Tensor, "rows channels"]


@checked
def scaled(x: Rows, index: Int[Tensor, "rows"], factor: float = 1.0) -> Rows:
    return x[:, :-1] if factor == 0 else x * factor


@checked
def optional(x: Rows | None, later: "Later | None" = None) -> list[Rows]:
    return [] if x is None else [x]


@checked
@dataclass(frozen=True)
class Later:
    x: Rows
    counts: Int[Tensor, "rows"]


@checked
def named(text: str) -> int:
    return len(text) if text else None  # type: ignore[return-value]


X, INDEX = torch.zeros(3, 2), torch.arange(3)


def test_valid_calls() -> None:
    assert scaled(X, INDEX).shape == (3, 2)
    assert scaled(torch.zeros(5, 4), index=torch.arange(5)).shape == (5, 4)
    assert optional(None) == []
    assert len(optional(X, Later(X, INDEX))) == 1
    assert named("four") == 4


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: scaled(X, INDEX.float()), id="dtype"),
        pytest.param(lambda: scaled(X[0], INDEX), id="number of axes"),
        pytest.param(lambda: scaled(X, INDEX[:2]), id="an axis of two sizes"),
        pytest.param(lambda: scaled(X, INDEX, 0.0), id="result"),
        pytest.param(lambda: scaled(X, INDEX, "1"), id="type"),
        pytest.param(lambda: optional(X[0]), id="optional"),
        pytest.param(lambda: optional(X, X), id="a class that is defined later"),
        pytest.param(lambda: Later(X, INDEX[:2]), id="dataclass"),
        pytest.param(lambda: named(b"text"), id="type without shapes"),
        pytest.param(lambda: named(""), id="result without shapes"),
    ],
)
def test_invalid_calls(call: Any) -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        call()


@pytest.mark.usefixtures("without_shape_checks")
def test_checks_can_be_disabled() -> None:
    assert scaled(X, INDEX, 0.0).shape == (3, 1)
    assert named("") is None
