"""Batched affine maps against torch's own product."""

import pytest
import torch
from torch import Tensor

from clipgnn.ops.product import add_product, affine


def example(rows: int = 32) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, rows, 3), (2, 3, 4), (2, 4), (2, rows, 4))
    x, weight, bias, plus = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes
    )
    return x, weight, bias, plus


def test_values() -> None:
    x, weight, bias, plus = example()
    torch.testing.assert_close(affine(x, weight, None), x @ weight)
    torch.testing.assert_close(affine(x, weight, bias), x @ weight + bias[:, None])
    torch.testing.assert_close(add_product(plus.clone(), x, weight), x @ weight + plus)
    with torch.no_grad():
        torch.testing.assert_close(affine(x, weight, bias), x @ weight + bias[:, None])
        torch.testing.assert_close(add_product(plus.clone(), x, weight), x @ weight + plus)


def test_gradients() -> None:
    inputs = [part.requires_grad_() for part in example(rows=4)]
    assert torch.autograd.gradcheck(lambda x, weight, bias, _: affine(x, weight, bias), inputs)
    assert torch.autograd.gradcheck(lambda x, weight, _, plus: add_product(plus, x, weight), inputs)


@pytest.mark.gpu
@pytest.mark.parametrize("rows", [64, 33])
def test_gradients_on_a_gpu(rows: int) -> None:
    """Summed over parts of the rows, where they can be divided into equal parts."""
    inputs = example(rows)
    gradients = []
    for device in ("cpu", "cuda"):
        x, weight, bias, plus = (part.detach().to(device).requires_grad_() for part in inputs)
        (affine(x, weight, bias) * plus).sum().backward()
        gradients.append([part.grad.cpu() for part in (x, weight, bias)])  # type: ignore[union-attr]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs)
