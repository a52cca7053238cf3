"""The 2-layer MLP as a whole, and its parts."""

import pytest
import torch
from tests.nn.examples import randomize
from torch import Tensor

from clipgnn.nn.mlp import MLP
from clipgnn.nn.norm import Moments

MEMBERS, ROWS = 2, 7


def example(**parameters: object) -> tuple[MLP, Tensor]:
    settings = {"activation": "tanh", "norm": "batch", **parameters}
    mlp = MLP(MEMBERS, 3, 5, 4, **settings).double()  # type: ignore[arg-type]
    randomize(mlp)
    generator = torch.Generator().manual_seed(1)
    return mlp, torch.randn(MEMBERS, ROWS, 3, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("norm", ["batch", None])
@pytest.mark.parametrize("out_bias", [True, False])
def test_it_is_the_composition_of_its_parts(norm: str | None, out_bias: bool) -> None:
    mlp, x = example(norm=norm, out_bias=out_bias)
    mlp.eval()
    rows = x @ mlp.first.weight + mlp.first.bias[:, None]  # type: ignore[index]
    if mlp.norm is not None:
        mean, variance = mlp.norm.statistics()
        rows = (rows - mean[:, None]) / (variance[:, None] + 1e-5).sqrt()
        rows = rows * mlp.norm.weight[:, None] + mlp.norm.bias[:, None]
    expected = rows.tanh() @ mlp.second.weight
    if mlp.second.bias is not None:
        expected = expected + mlp.second.bias[:, None]
    assert (mlp.second.bias is not None) is out_bias
    assert mlp(x).shape == (MEMBERS, ROWS, 4)
    torch.testing.assert_close(mlp(x), expected)


def test_padding_does_not_change_other_rows() -> None:
    mlp, x = example()
    mask = torch.ones(MEMBERS, ROWS, dtype=torch.bool)
    mask[0, 4:] = False
    spoiled = torch.where(mask[:, :, None], x, 1e6)
    output = mlp.train()(spoiled, None, mask)
    whole, _ = example()
    torch.testing.assert_close(output[1], whole.train()(x)[1])
    alone, _ = example()
    expected = alone.train()(x[:, :4])[0]
    torch.testing.assert_close(output[0, :4], expected)


def test_moments_are_measured_once_and_used_again() -> None:
    mlp, x = example()
    moments: Moments = {}
    first = mlp.train()(x, moments)
    assert list(moments) == [mlp.norm]
    torch.testing.assert_close(mlp(x[:, :3], moments), first[:, :3])


def test_gradients() -> None:
    mlp, x = example()
    assert torch.autograd.gradcheck(mlp.eval(), x.requires_grad_())
