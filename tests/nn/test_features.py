"""Node features times a weight, against the dense product of the same features."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.coloring.codes import ColorCode
from clipgnn.nn.features import ColoredAttributes, DenseFeatures, Features

MEMBERS, NODES, COLORINGS, CHANNELS, OUT = 2, 4, 3, 3, 5
GENERATOR = torch.Generator().manual_seed(0)


def randn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=GENERATOR, dtype=torch.float64)


def assert_product(features: Features, x: Tensor) -> None:
    """Check `x @ weight + bias` for `[members, nodes, colorings, channels]`, with gradients."""
    assert features.channels == x.shape[3]
    weight = randn(MEMBERS, x.shape[3], OUT).requires_grad_()
    bias = randn(MEMBERS, OUT).requires_grad_()
    plain = torch.einsum("mnkc,mco->mnko", x, weight)
    torch.testing.assert_close(features.multiply(weight, None), plain)
    product = features.multiply(weight, bias)
    expected = plain + bias[:, None, None]
    torch.testing.assert_close(product, expected)
    factors = randn(*expected.shape)
    for found, wanted in zip(
        torch.autograd.grad((product * factors).sum(), (weight, bias), retain_graph=True),
        torch.autograd.grad((expected * factors).sum(), (weight, bias), retain_graph=True),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted)
    with torch.no_grad():
        torch.testing.assert_close(features.multiply(weight, bias), expected)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("code", ["one-hot", "binary", None])
def test_colored_attributes(labels: bool, code: str | None) -> None:
    label = torch.randint(CHANNELS, (MEMBERS * NODES,), generator=GENERATOR)
    attributes = functional.one_hot(label, CHANNELS).double()
    x = attributes.view(MEMBERS, NODES, 1, CHANNELS)
    colorings = None
    color_code = ColorCode(code or "one-hot", 6)
    if code is not None:
        colorings = torch.randint(6, (COLORINGS, MEMBERS * NODES), generator=GENERATOR)
        codes = torch.eye(6, dtype=torch.float64)
        if code == "binary":
            codes = 2.0 * (torch.arange(6)[:, None] >> torch.arange(3) & 1).double() - 1
        colors = codes[colorings.t()].view(MEMBERS, NODES, COLORINGS, -1)
        x = torch.cat([x.expand(-1, -1, COLORINGS, -1), colors], dim=3)
    features = ColoredAttributes(label if labels else attributes, CHANNELS, colorings, color_code)
    assert_product(features, x)


def test_dense_features() -> None:
    x = randn(MEMBERS, NODES, COLORINGS, CHANNELS)
    assert_product(DenseFeatures(x), x)


def repeated(code: str | None, labels: int = CHANNELS) -> ColoredAttributes:
    """Features of 40 nodes of one member with 3 labels and 4 colors."""
    label = torch.randint(labels, (40,), generator=GENERATOR)
    colorings = torch.randint(4, (COLORINGS, 40), generator=GENERATOR)
    return ColoredAttributes(
        label, labels, None if code is None else colorings, ColorCode(code or "one-hot", 4)
    )


@pytest.mark.parametrize("code", ["one-hot", "binary", None])
@pytest.mark.parametrize("counted", [False, True])
def test_distinct_rows_are_those_of_all_nodes_and_colorings(
    code: str | None, counted: bool
) -> None:
    features = repeated(code)
    distinct = features.distinct(counted=counted)
    assert distinct is not None
    weight, bias = randn(1, features.channels, OUT), randn(1, OUT)
    rows = distinct.rows.multiply(weight, bias).flatten(1, 2)
    assert rows[0].unique(dim=0).shape == rows[0].shape
    torch.testing.assert_close(distinct.expand(rows), features.multiply(weight, bias))
    if counted:
        assert distinct.counts is not None
        assert torch.equal(distinct.counts[0], torch.bincount(distinct.index.flatten()))


@pytest.mark.parametrize("counted", [False, True])
def test_distinct_rows_are_used_only_where_they_are_few_and_known(counted: bool) -> None:
    different = ColoredAttributes(torch.arange(6), 6, None, ColorCode("one-hot", 1))
    attributed = ColoredAttributes(randn(9, 2), 2, None, ColorCode("one-hot", 1))
    dense = DenseFeatures(randn(1, NODES, COLORINGS, CHANNELS))
    for features in (repeated("one-hot", labels=1000), different, attributed, dense):
        assert features.distinct(counted=counted) is None
