"""Codes of colors against the code matrix times the weight."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from clipgnn.coloring.codes import ColorCode
from clipgnn.parameters import CLIPParameters

SIZES = [1, 2, 3, 4, 5, 8, 9, 64, 65, 439]
every_code = pytest.mark.parametrize("name", CLIPParameters.rules()["color_code"].words)
every_size = pytest.mark.parametrize("num_colors", SIZES)


def code_matrix(name: str, num_colors: int) -> Tensor:
    """One row for each color, written out."""
    if name == "one-hot":
        return torch.eye(num_colors, dtype=torch.float64)
    width = max(1, len(bin(num_colors - 1)) - 2)
    digits = [f"{color:0{width}b}"[::-1] for color in range(num_colors)]
    return torch.tensor([[1.0 if d == "1" else -1.0 for d in row] for row in digits]).double()


@every_code
@every_size
def test_codes_times_the_weight(name: str, num_colors: int) -> None:
    code = ColorCode(name, num_colors)
    weight = torch.randn(
        3, code.width, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    colors = torch.randint(num_colors, (3, 20), generator=torch.Generator().manual_seed(1))
    rows = code.multiply(colors, weight)
    assert rows.dtype == weight.dtype
    torch.testing.assert_close(rows, code_matrix(name, num_colors)[colors] @ weight)


@every_code
@every_size
def test_codes_are_distinct(name: str, num_colors: int) -> None:
    code = ColorCode(name, num_colors)
    rows = code.multiply(torch.arange(num_colors)[None], torch.eye(code.width)[None])[0]
    assert rows.shape == (num_colors, code.width)
    assert len(torch.unique(rows, dim=0)) == num_colors


@pytest.mark.parametrize(
    ("num_colors", "width"),
    [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (64, 6), (65, 7), (1000, 10)],
)
def test_width_of_the_binary_code(num_colors: int, width: int) -> None:
    assert ColorCode("binary", num_colors).width == width
    assert ColorCode("one-hot", num_colors).width == num_colors


class LargestResult(TorchDispatchMode):
    """Record the number of elements of the largest tensor that an operator returned."""

    numel = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.numel = max(self.numel, result.numel())
        return result


def test_one_hot_columns_are_never_made() -> None:
    """No intermediate result is larger than the output, which has 2 columns and not 439."""
    weight = torch.randn(1, 439, 2)
    colors = torch.arange(100_000)[None] % 439
    with LargestResult() as largest:
        output = ColorCode("one-hot", 439).multiply(colors, weight)
    assert largest.numel == output.numel()


def test_binary_digits_of_large_colors() -> None:
    code = ColorCode("binary", 2**40)
    rows = code.multiply(torch.tensor([[2**39 + 1]]), torch.eye(40)[None])[0, 0]
    assert (rows > 0).nonzero().flatten().tolist() == [0, 39]


@every_code
def test_gradients_reach_the_weight(name: str) -> None:
    code = ColorCode(name, 6)
    weight = torch.randn(2, code.width, 3, dtype=torch.float64, requires_grad=True)
    colors = torch.arange(12).view(2, 6) % 6
    assert torch.autograd.gradcheck(lambda given: code.multiply(colors, given).sin(), (weight,))


@every_code
def test_groups_up_to_the_number_of_colors_fit(name: str) -> None:
    code = ColorCode(name, 5)
    code.check(5)
    with pytest.raises(ValueError, match="num_colors=6 or more"):
        code.check(6)
