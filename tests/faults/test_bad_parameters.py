"""Parameters with values they cannot have, each refused by name, rule and value."""

import inspect
from typing import Any

import numpy as np
import pytest
import torch
from tests.faults.refusals import assert_refused, good, plain_model

from clipgnn import CLIP
from clipgnn.errors import InvalidParameterError
from clipgnn.nn.activation import ACTIVATIONS
from clipgnn.parameters import CLIPParameters

pytestmark = pytest.mark.usefixtures("without_shape_checks")

NO_COUNTS = [0, -1, 2.0, "3", True, None]
"""Values of what counts from one."""

WRONG: dict[str, tuple[str, list[Any]]] = {
    "in_channels": ("an integer from 1 to 10000000", NO_COUNTS),
    "out_channels": ("an integer from 1 to 10000000", NO_COUNTS),
    "hidden_channels": ("an integer from 1 to 65536", [*NO_COUNTS, 65_537]),
    "num_layers": ("an integer from 1 to 1000", [*NO_COUNTS, 1001]),
    "num_colors": ("an integer from 1 to 10000000", NO_COUNTS),
    "num_members": ("an integer from 1 to 10000000", NO_COUNTS),
    "edge_channels": ("an integer from 0 to 10000000", [-1, 1.0, False, None]),
    "graph_channels": ("an integer from 0 to 10000000", [-1, 1.0, False, None]),
    "coloring": ("one of", ["every", "ALL", None, 16, True]),
    "num_colorings": ("an integer from 0 to 10000000", [-1, 1.5, True, None, "all", "16"]),
    "colorings_at_once": ("an integer from 1 to 10000000 or None", [0, -1, 1.5, True, "all"]),
    "norm": ('"batch" or None', ["layer", "Batch", True, 0]),
    "initialization": ('one of "uniform", "he"', ["He", "glorot", None, 0]),
    "dropout": (
        "a number of at least 0 and below 1",
        [-0.1, 1, 1.0, 7, float("nan"), "0.5", None],
    ),
    "directed": ("True or False", [0, 1, None, "yes"]),
    "color_code": ('one of "one-hot", "binary"', ["onehot", "unary", None, 3]),
    "activation": ('one of "relu"', ["no such", None, 3, torch.relu]),
}


def test_every_parameter_is_here() -> None:
    assert set(WRONG) == set(inspect.signature(CLIP).parameters)


@pytest.mark.parametrize(
    ("name", "rule", "value"),
    [
        (name, rule, value)
        for name, (rule, values) in WRONG.items()
        for value in [*values, np.array([0, 1]), np.array(["all"])]
    ],
)
def test_wrong_values(name: str, rule: str, value: Any) -> None:
    parameters = {"in_channels": 2, "out_channels": 3, name: value}
    said = (name, rule, f"Got {value!r}")
    assert_refused(InvalidParameterError, lambda: CLIP(**parameters), said)
    assert_refused(InvalidParameterError, lambda: CLIPParameters(**parameters), said)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden_channels", 1),
        ("num_layers", 1),
        ("num_colors", 2),
        ("num_members", 1),
        ("edge_channels", 0),
        ("graph_channels", 0),
        ("num_colorings", 0),
        ("num_colorings", 1),
        ("coloring", "all"),
        ("colorings_at_once", 1),
        ("norm", None),
        ("initialization", "he"),
        ("dropout", 0),
        ("dropout", 0.999),
        ("directed", True),
        ("color_code", "binary"),
    ],
)
def test_values_at_the_bounds(name: str, value: Any) -> None:
    assert plain_model(**{name: value})(**good()).shape == (2, 3)


POLYNOMIAL = ["identity", "linear", "none", "square", "cube", "Identity"]
DISCONTINUOUS = ["sign", "step", "heaviside", "threshold", "hardshrink", "round", "STEP"]


@pytest.mark.parametrize("name", POLYNOMIAL)
def test_polynomial_activations(name: str) -> None:
    said = (
        "continuous and non-polynomial",
        "not universal",
        repr(name),
        "polynomial, and",
        '"relu"',
    )
    assert_refused(InvalidParameterError, lambda: CLIP(1, 2, activation=name), said)


@pytest.mark.parametrize("name", DISCONTINUOUS)
def test_discontinuous_activations(name: str) -> None:
    said = (
        "continuous and non-polynomial",
        "not universal",
        repr(name),
        "not continuous",
        '"relu"',
    )
    assert_refused(InvalidParameterError, lambda: CLIP(1, 2, activation=name), said)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("rellu", "relu"), ("RELU6", "relu"), ("sigmod", "sigmoid"), ("soft_plus", "softplus")],
)
def test_activations_with_a_slip(typed: str, meant: str) -> None:
    said = (f"Got {typed!r}", f"Did you mean {meant!r}?", *(f'"{name}"' for name in ACTIVATIONS))
    assert_refused(InvalidParameterError, lambda: CLIP(1, 2, activation=typed), said)


def test_no_guess_where_nothing_is_close() -> None:
    with pytest.raises(InvalidParameterError) as caught:
        CLIP(1, 2, activation="xyzzy")
    assert "Did you mean" not in str(caught.value)


def test_color_codes_with_a_slip() -> None:
    said = ("Got 'one_hot'", "Did you mean 'one-hot'?")
    code: Any = "one_hot"
    assert_refused(InvalidParameterError, lambda: CLIP(1, 2, color_code=code), said)


@pytest.mark.parametrize("name", [*ACTIVATIONS, "ReLU", "GELU"])
def test_activations_that_may_be_used(name: str) -> None:
    """Each is continuous on a grid, and no polynomial of low degree fits it."""
    model = plain_model(activation=name)
    assert bool(torch.isfinite(model(**good())).all())
    grid = torch.linspace(-3, 3, 601, dtype=torch.float64)
    values = ACTIVATIONS[name.lower()](grid)
    assert float(values.diff().abs().max()) < 0.05
    powers = grid[:, None] ** torch.arange(4)
    fitted = powers @ torch.linalg.lstsq(powers, values[:, None]).solution
    assert float((fitted[:, 0] - values).abs().max()) > 1e-3


def test_parameters_from_a_dictionary() -> None:
    sizes = {"in_channels": 2, "out_channels": 3}
    assert CLIPParameters.from_dict(sizes) == CLIP(2, 3).config
    said = ("'num_colouring'", "Did you mean 'num_coloring")
    wrong = {**sizes, "num_colouring": 4}
    assert_refused(InvalidParameterError, lambda: CLIPParameters.from_dict(wrong), said)
    missing = {"in_channels": 2}
    said = ("'out_channels'", "must be given")
    assert_refused(InvalidParameterError, lambda: CLIPParameters.from_dict(missing), said)
