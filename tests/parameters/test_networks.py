"""Parameters of networks: which of them are chosen, and refused activations."""

from typing import Any

import pytest

from clipgnn.errors import InvalidParameterError
from clipgnn.parameters import (
    CLIPParameters,
    DGCNNParameters,
    GINParameters,
    PatchySANParameters,
    RingGNNParameters,
)

pytestmark = pytest.mark.usefixtures("without_shape_checks")

CHANNELS: dict[str, Any] = {"in_channels": 2, "out_channels": 3}


def test_what_the_data_and_training_give_cannot_be_chosen() -> None:
    assert set(CLIPParameters.names()) - set(CLIPParameters.chosen()) == {
        *("in_channels", "out_channels", "num_members"),
        *("directed", "edge_channels", "graph_channels", "colorings_at_once"),
    }
    assert set(GINParameters.names()) - set(GINParameters.chosen()) == {
        *("in_channels", "out_channels", "num_members"),
    }
    assert CLIPParameters.names()[:3] == ("in_channels", "out_channels", "num_members")


def test_what_is_computed_from_the_data_can_also_be_chosen() -> None:
    found = {
        schema: schema.from_data()
        for schema in (CLIPParameters, DGCNNParameters, PatchySANParameters, RingGNNParameters)
    }
    assert [*found.values()] == [("num_colors",), ("k",), ("width",), ("product_weight",)]
    for schema, names in found.items():
        assert set(names) <= set(schema.chosen())


@pytest.mark.parametrize("name", ["square", "Identity", "STEP", "round"])
def test_activations_outside_the_theorem_are_refused_with_the_reason(name: str) -> None:
    message = rf"Got {name!r} instead. The activation must be continuous and non-polynomial, or CLI"
    with pytest.raises(InvalidParameterError, match=message):
        CLIPParameters(**CHANNELS, activation=name)
