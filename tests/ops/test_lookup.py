"""Rows of each member's own table."""

import pytest
import torch

from clipgnn.ops.lookup import look_up


@pytest.mark.parametrize("members", [1, 3])
def test_rows_and_gradients(members: int) -> None:
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(members, 5, 2, generator=generator, dtype=torch.float64)
    index = torch.randint(5, (members, 9), generator=generator)
    expected = torch.stack([own[rows] for own, rows in zip(table, index, strict=True)])
    assert torch.equal(look_up(table, index), expected)
    assert torch.autograd.gradcheck(lambda t: look_up(t, index), table.requires_grad_())


@pytest.mark.usefixtures("without_shape_checks")
def test_the_operator_for_compiled_code() -> None:
    """The operator that compiled code uses in deterministic mode; see compile_checks.py."""
    repeatable = torch.ops.clipgnn.repeatable_rows
    table = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    index = torch.arange(14).view(2, 7) % 5
    torch.testing.assert_close(repeatable(table, index), table[index])
    assert torch.autograd.gradcheck(lambda given: repeatable(given, index).sin(), (table,))
    torch.library.opcheck(repeatable, (table, index))
    sums = torch.ops.clipgnn.repeatable_sums
    torch.library.opcheck(sums, (repeatable(table, index).detach(), index, 6))
