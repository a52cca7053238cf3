"""The schema: every parameter of every model has a rule, a default it accepts, documentation."""

import inspect
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from clipgnn.errors import InvalidParameterError
from clipgnn.parameters import (
    MODELS,
    NONE,
    CLIPParameters,
    DGCNNParameters,
    NetworkParameters,
    Parameters,
    Recipe,
    RingGNNParameters,
    SVMParameters,
    WLParameters,
    documented,
)

pytestmark = pytest.mark.usefixtures("without_shape_checks")

CHANNELS: dict[str, Any] = {"in_channels": 2, "out_channels": 3}
SCHEMAS = [*(model.parameters for model in MODELS.values()), Recipe, SVMParameters]


@pytest.fixture(params=SCHEMAS, ids=lambda schema: schema.__name__)
def schema(request: pytest.FixtureRequest) -> type[Parameters]:
    found: type[Parameters] = request.param
    return found


def test_defaults_are_class_attributes_that_their_rules_accept(schema: type[Parameters]) -> None:
    defaults = schema.defaults()
    for name, default in defaults.items():
        assert getattr(schema, name) == default
        assert schema.check(name, default) == default
        assert type(schema.check(name, default)) is type(default)
    required = set(schema.names()) - set(defaults)
    assert required == ({*CHANNELS} if issubclass(schema, NetworkParameters) else set())


def test_every_parameter_is_documented_in_one_phrase(schema: type[Parameters]) -> None:
    for item in fields(schema):
        text = item.metadata["documentation"]
        assert text
        assert text.isprintable()
        assert not text.endswith(".")
        assert f"    {item.name}: " in schema.documentation()
    assert max(map(len, schema.documentation(80).splitlines())) <= 80


def test_every_number_is_bounded(schema: type[Parameters]) -> None:
    for name, rule in schema.rules().items():
        for huge in (2**63 if rule.kind is int else 10**400, float("inf")):
            assert not rule.accepts(huge), name


def test_no_word_stands_for_none(schema: type[Parameters]) -> None:
    for rule in schema.rules().values():
        assert NONE not in rule.words


@pytest.mark.parametrize("name", MODELS)
def test_names_are_unambiguous_in_a_file(name: str) -> None:
    model = MODELS[name]
    assert not set(model.parameters.names()) & set(model.learner.names())
    assert not model.rules.keys() & {"name", "model", "datasets", "only"}
    assert model.rules.keys() == {*model.parameters.chosen(), *model.learner.names()}


def test_values_are_checked_and_stored_in_canonical_form() -> None:
    size: Any = np.int64(8)
    given = CLIPParameters(**CHANNELS, hidden_channels=size, dropout=0, activation="ReLU")
    assert (given.hidden_channels, given.dropout, given.activation) == (8, 0.0, "relu")
    assert [type(value) for value in (given.hidden_channels, given.dropout)] == [int, float]
    assert given == CLIPParameters(**CHANNELS, hidden_channels=8, activation="relu")
    assert hash(given) == hash(replace(given))
    with pytest.raises(FrozenInstanceError):
        given.dropout = 0.5  # type: ignore[misc]
    message = r"^The 'hidden_channels' parameter of CLIP must be an integer from 1 to 65536. Got 0 "
    with pytest.raises(InvalidParameterError, match=message):
        CLIPParameters(**CHANNELS, hidden_channels=0)
    with pytest.raises(InvalidParameterError, match=r"'k' parameter of DGCNN must .* from 10 to"):
        DGCNNParameters(**CHANNELS, k=9)


def test_parameters_from_a_dictionary() -> None:
    values = {**CHANNELS, "num_layers": 2}
    assert CLIPParameters.from_dict(values) == CLIPParameters(**values)
    cases: list[tuple[dict[Any, Any], str]] = [
        ({**CHANNELS, "num_layer": 1}, r"^CLIP has no parameter 'num_layer'. .* 'num_layers'\?$"),
        ({**CHANNELS, 3: 1}, "^CLIP has no parameter 3. Its parameters are in_channels, out_"),
        ({"in_channels": 1}, "^The 'out_channels' parameter of CLIP must be given.$"),
    ]
    for wrong, message in cases:
        with pytest.raises(InvalidParameterError, match=message):
            CLIPParameters.from_dict(wrong)


def test_toml_values() -> None:
    values = RingGNNParameters.from_toml({"norm": "none", "num_layers": 2})
    assert values == {"norm": None, "num_layers": 2}
    assert WLParameters.from_toml({"height": 2, "C": 1.0}) == {"height": 2, "C": 1.0}


def test_an_args_block_in_a_docstring() -> None:
    @documented(WLParameters)
    class Kernel:
        """A kernel.

        {parameters}

        Raises:
            ValueError: never.
        """

    assert Kernel.__doc__ is not None
    assert "{parameters}" not in Kernel.__doc__
    lines = inspect.cleandoc(Kernel.__doc__).splitlines()
    assert lines[2] == "Args:"
    assert lines[3].startswith("    height: number h of refinements")
    assert lines[-2] == "Raises:"


def test_the_schema_needs_no_torch() -> None:
    code = "import sys, clipgnn.parameters; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
