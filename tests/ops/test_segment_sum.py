"""Sums over segments of consecutive rows, with padding rows between them."""

import pytest
import torch
from torch import Tensor

from clipgnn.ops.segment_sum import segment_sum

BEGIN = torch.tensor([0, 2, 2, 5])
COUNT = torch.tensor([2, 0, 2, 3])
SEGMENT = torch.tensor([0, 0, 2, 2, 1, 3, 3, 3, 0])
MASK = torch.tensor([True, True, True, True, False, True, True, True, False])
"""Rows 4 and 8 are padding; segment 1 has no rows."""


def rows() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(9, 3, generator=generator, dtype=torch.float64, requires_grad=True)


def test_each_segment_is_summed() -> None:
    x = rows()
    expected = torch.stack([x[:2].sum(0), torch.zeros(3).double(), x[2:4].sum(0), x[5:8].sum(0)])
    torch.testing.assert_close(segment_sum(x, BEGIN, COUNT, SEGMENT, MASK), expected)


def test_gradients_with_padding() -> None:
    x = rows()
    assert torch.autograd.gradcheck(lambda x: segment_sum(x.sin(), BEGIN, COUNT, SEGMENT, MASK), x)


def test_gradients_without_padding() -> None:
    x = rows().detach()[:5].requires_grad_()
    begin, count = torch.tensor([0, 2]), torch.tensor([2, 3])
    segment = torch.tensor([0, 0, 1, 1, 1])
    assert torch.autograd.gradcheck(lambda x: segment_sum(x, begin, count, segment, None), x)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_it_is_a_valid_operator(requires_grad: bool) -> None:
    """Schema, fake tensors and autograd registration, as torch itself checks them."""
    arguments = (rows().detach().requires_grad_(requires_grad), BEGIN, COUNT, SEGMENT, MASK)
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    results = torch.library.opcheck(
        torch.ops.clipgnn.segment_sum.default, arguments, test_utils=checks
    )
    assert set(results.values()) == {"SUCCESS"}


@pytest.mark.gpu
def test_the_sum_on_a_gpu() -> None:
    x = rows()
    moved = x.detach().cuda().requires_grad_()
    others = [part.cuda() for part in (BEGIN, COUNT, SEGMENT, MASK)]
    total = segment_sum(moved, *others)
    expected = segment_sum(x, BEGIN, COUNT, SEGMENT, MASK)
    torch.testing.assert_close(total.cpu(), expected)
    total.square().sum().backward()
    expected.square().sum().backward()
    assert x.grad is not None
    assert moved.grad is not None
    torch.testing.assert_close(moved.grad.cpu(), x.grad)
