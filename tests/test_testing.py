"""The symmetry check that users call: it passes what is invariant and catches what is not."""

import pytest
import torch
from torch import Tensor

from clipgnn import CLIP
from clipgnn.testing import assert_permutation_invariant

PATH = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


def test_all_colorings_and_none_pass() -> None:
    for num_colorings in (0, "all"):
        torch.manual_seed(0)
        model = CLIP(1, 2, num_colorings=num_colorings, num_colors=4).eval()
        assert_permutation_invariant(model, torch.ones(4, 1), PATH)


def test_what_depends_on_the_order_is_caught() -> None:
    def first_attribute(x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        return x[:1]

    with pytest.raises(AssertionError, match="must not depend on the order of the nodes"):
        assert_permutation_invariant(first_attribute, torch.arange(4.0)[:, None], PATH)


def test_nan_does_not_pass() -> None:
    def broken(x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        return torch.full((1, 1), torch.nan)

    with pytest.raises(AssertionError):
        assert_permutation_invariant(broken, torch.ones(4, 1), PATH)
