"""Weights and attributes of edges and graphs that are wrong, missing, or not expected."""

from typing import Any

import pytest
import torch
from tests.faults.refusals import (
    INFINITY,
    NAN,
    Case,
    assert_refused,
    cases,
    changed,
    good,
    plain_model,
)

from clipgnn.errors import InvalidGraphError

pytestmark = pytest.mark.usefixtures("without_shape_checks")


def carried() -> dict[str, Any]:
    """Good graphs with a weight and attributes for each edge, and attributes for each graph."""
    return {
        **good(),
        "edge_weight": torch.ones(6),
        "edge_attr": torch.ones(6, 3),
        "graph_attr": torch.ones(2, 4),
    }


def rows_of(name: str, shape: tuple[int, ...], per: str) -> dict[str, Case]:
    """The ways in which rows for edges or graphs can be wrong."""
    right = torch.ones(shape)
    rest, count = shape[1:], shape[0]
    wanted = "[" + ", ".join([str(count), *["channels" for _ in rest]]) + "]"
    return {
        f"{name}: integers": Case({name: right.long()}, (name, "floating-point", "int64")),
        f"{name}: a list": Case({name: right.tolist()}, (name, "floating-point tensor", "list")),
        f"{name}: too few": Case(
            {name: right[1:]}, (name, wanted, f"row for each {per}", str([count - 1, *rest]))
        ),
        f"{name}: too many": Case(
            {name: torch.ones(count + 1, *rest)}, (name, wanted, str([count + 1, *rest]))
        ),
        f"{name}: an axis too many": Case(
            {name: right[..., None].expand(*shape, shape[-1])}, (name, wanted, "Got")
        ),
        f"{name}: no axis": Case({name: torch.tensor(1.0)}, (name, wanted, "[]")),
        f"{name}: NaN": Case(
            {name: changed(right, (1, *[0 for _ in rest]), NAN)}, (name, "finite", "NaN in row 1")
        ),
        f"{name}: infinite": Case(
            {name: changed(right, (0, *[0 for _ in rest]), INFINITY)},
            (name, "finite", "infinite value in row 0"),
        ),
        f"{name}: double": Case(
            {name: right.double()},
            (name, "dtype of the model", "float64", f"{name}.to("),
        ),
    }


CARRIED = {
    **rows_of("edge_weight", (6,), "edge"),
    **rows_of("edge_attr", (6, 3), "edge"),
    **rows_of("graph_attr", (2, 4), "graph"),
    "edge_attr: not given": Case(
        {"edge_attr": None}, ("edge_attr must be given", "edge_channels=3")
    ),
    "edge_attr: other channels": Case(
        {"edge_attr": torch.ones(6, 2)}, ("edge_channels=3", "Got 2", "edge_channels=2")
    ),
    "edge_attr: one axis": Case({"edge_attr": torch.ones(6)}, ("[6, channels]", "[6]")),
    "graph_attr: not given": Case(
        {"graph_attr": None}, ("graph_attr must be given", "graph_channels=4")
    ),
    "graph_attr: other channels": Case(
        {"graph_attr": torch.ones(2, 5)}, ("graph_channels=4", "Got 5", "graph_channels=5")
    ),
}


@cases(CARRIED)
def test_what_edges_and_graphs_carry(case: Case) -> None:
    model = plain_model(edge_channels=3, graph_channels=4)
    model(**carried())
    assert_refused(InvalidGraphError, lambda: model(**{**carried(), **case.wrong}), case.said)


@pytest.mark.parametrize(
    ("name", "parameter"), [("edge_attr", "edge_channels"), ("graph_attr", "graph_channels")]
)
def test_attributes_the_model_has_no_channels_for(name: str, parameter: str) -> None:
    given = {**good(), name: carried()[name]}
    channels = given[name].shape[1]
    said = (
        name,
        f"{parameter}=0",
        f"Got {channels}",
        f"Build the model with {parameter}={channels}",
    )
    assert_refused(InvalidGraphError, lambda: plain_model()(**given), said)
