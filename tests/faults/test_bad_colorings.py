"""Numbers of colorings, groups and colors that cannot be used."""

from typing import Any

import pytest
import torch
from tests.drawing import drawing
from tests.faults.refusals import Case, assert_refused, cases, good, plain_model

from clipgnn import CLIP
from clipgnn.coloring import (
    all_colorings,
    color_groups,
    log_num_colorings,
    num_colorings,
    sample_colorings,
)
from clipgnn.errors import (
    ClipGNNError,
    InvalidColoringError,
    InvalidGraphError,
    InvalidParameterError,
    TooManyColoringsError,
)

pytestmark = pytest.mark.usefixtures("without_shape_checks")

NO_EDGES = torch.zeros(2, 0, dtype=torch.int64)


def equal_nodes(count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=torch.int64)


@pytest.mark.parametrize("k", [-1, 0, 2.5, 3.0, True, "3", None])
def test_numbers_of_colorings(k: Any) -> None:
    said = ("k must be an integer from 1", f"Got {k!r}")
    assert_refused(InvalidColoringError, lambda: sample_colorings(equal_nodes(4), k), said)


@pytest.mark.parametrize("k", [10_000_001, 10**400, 10**6000], ids=["over", "long", "very long"])
def test_more_colorings_than_are_allowed(k: int) -> None:
    got = "Got 10000001" if k < 2**63 else "Got an integer of"
    said = ("from 1 to 10,000,000", got)
    assert_refused(InvalidColoringError, lambda: sample_colorings(equal_nodes(4), k), said)
    said = ("from 0 to 10000000", got)
    assert_refused(InvalidParameterError, lambda: CLIP(1, 2, num_colorings=k), said)
    model = plain_model()
    assert_refused(InvalidParameterError, lambda: model(**good(), num_colorings=k), said)


@pytest.mark.parametrize("k", [-1, -16, 2.5, True, "many", "all", None])
def test_numbers_of_colorings_of_a_model(k: Any) -> None:
    said = ("'num_colorings'", "an integer from 0 to 10000000", f"Got {k!r}")
    assert_refused(InvalidParameterError, lambda: CLIP(1, 2, num_colorings=k), said)


GROUPS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "floats": (torch.zeros(3), ("int64 tensor [nodes]", "color_groups")),
    "int32": (torch.zeros(3).int(), ("int64",)),
    "two axes": (torch.zeros(3, 1).long(), ("int64 tensor [nodes]",)),
    "list": ([0, 0, 1], ("int64 tensor", "[0, 0, 1]")),
    "none": (torch.zeros(0).long(), ("at least one node",)),
    "negative": (torch.tensor([0, -2, 0]), ("not be negative", "-2")),
}
READERS = {
    "num_colorings": num_colorings,
    "log_num_colorings": log_num_colorings,
    "sample_colorings": lambda groups: sample_colorings(groups, 2),
    "all_colorings": lambda groups: next(all_colorings(groups)),
}


@pytest.mark.parametrize(("groups", "said"), GROUPS.values(), ids=GROUPS.keys())
@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_groups(groups: Any, said: tuple[str, ...], read: Any) -> None:
    assert_refused(InvalidColoringError, lambda: read(groups), said)


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        (torch.tensor([0, 0]), ("3 nodes", "2 entries")),
        (torch.tensor([1, 0, 1]), ("sorted",)),
        (torch.tensor([0.0, 0.0, 1.0]), ("int64",)),
    ],
)
def test_groups_of_another_batch(batch: torch.Tensor, said: tuple[str, ...]) -> None:
    groups = equal_nodes(3)
    assert_refused(InvalidGraphError, lambda: num_colorings(groups, batch), said)
    assert_refused(InvalidGraphError, lambda: sample_colorings(groups, 2, batch), said)


def test_decimals_of_labels() -> None:
    said = ("decimals must be None", "integer labels", "Leave it out")
    labels = torch.tensor([0, 1])
    assert_refused(InvalidParameterError, lambda: color_groups(labels, decimals=2), said)


@pytest.mark.parametrize("decimals", [2.5, "2", True, 301, -(2**70)])
def test_decimals_that_are_no_such_integer(decimals: Any) -> None:
    said = ("decimals", "integer from -300 to 300", f"Got {decimals!r}")
    x = torch.ones(3, 1)
    assert_refused(InvalidParameterError, lambda: color_groups(x, decimals=decimals), said)


@pytest.mark.parametrize("chunk_size", [0, -5, 2.5])
def test_chunk_sizes(chunk_size: Any) -> None:
    said = ("chunk_size", "at least 1", f"Got {chunk_size!r}")
    nodes = equal_nodes(3)
    assert_refused(InvalidParameterError, lambda: next(all_colorings(nodes, chunk_size)), said)


MANY = {11: "39,916,800", 20: "2,432,902,008,176,640,000", 40: "about 10^47", 2000: "about 10^5735"}


@pytest.mark.parametrize(("nodes", "count"), MANY.items())
def test_too_many_colorings(nodes: int, count: str) -> None:
    """How many there are, how many there may be, and a scheme and a k to use instead."""
    said = (count, "10,000,000", 'coloring="canonical"', "num_colorings=16")
    equal = equal_nodes(nodes)
    assert_refused(TooManyColoringsError, lambda: next(all_colorings(equal)), said)
    model = plain_model(coloring="all", num_colors=nodes)
    x = torch.ones(nodes, 2)
    assert_refused(TooManyColoringsError, lambda: model(x, NO_EDGES), said)
    assert issubclass(TooManyColoringsError, InvalidColoringError)


def test_the_graph_with_too_many_colorings_is_named() -> None:
    model = plain_model(coloring="all", num_colors=12)
    x, batch = torch.ones(15, 2), torch.tensor([0] * 2 + [1] * 12 + [2])
    said = ("Graph 1", "479,001,600")
    assert_refused(TooManyColoringsError, lambda: model(x, NO_EDGES, batch), said)


def test_the_largest_number_of_colorings() -> None:
    """10! are enumerated: the first chunk comes at once."""
    assert next(all_colorings(equal_nodes(10), chunk_size=3)).shape == (3, 10)


GIVEN = {
    "one axis": Case({"colorings": torch.zeros(5).long()}, ("[colorings, 5]", "[5]")),
    "other nodes": Case({"colorings": torch.zeros(2, 4).long()}, ("[colorings, 5]", "[2, 4]")),
    "transposed": Case({"colorings": torch.zeros(5, 2).long()}, ("[colorings, 5]", "[5, 2]")),
    "none": Case({"colorings": torch.zeros(0, 5).long()}, ("[colorings, 5]", "[0, 5]")),
    "floats": Case({"colorings": torch.zeros(2, 5)}, ("int64", "float32", "sample_colorings")),
    "int32": Case({"colorings": torch.zeros(2, 5).int()}, ("int64", "int32")),
    "list": Case({"colorings": [[0, 1, 0, 0, 0]]}, ("int64 tensor", "list")),
    "negative": Case({"colorings": torch.tensor([[0, 1, -1, 0, 0]])}, ("not be negative", "-1")),
    "beyond": Case(
        {"colorings": torch.tensor([[0, 1, 4, 0, 0]])},
        ("less than num_colors=4", "Got color 4", "num_colors=5 or more"),
    ),
}


@cases(GIVEN)
@pytest.mark.parametrize("members", [1, 2])
def test_given_colorings(case: Case, members: int) -> None:
    model = plain_model(num_members=members)
    assert_refused(InvalidColoringError, lambda: model(**good(), **case.wrong), case.said)


def test_colorings_for_a_model_without_colors() -> None:
    model = plain_model(num_colorings=0)
    said = ("without colors (num_colorings=0)", "no colorings", "Leave them out")
    colorings = torch.zeros(1, 5, dtype=torch.int64)
    assert_refused(InvalidColoringError, lambda: model(**good(), colorings=colorings), said)


@pytest.mark.parametrize("code", ["one-hot", "binary"])
@pytest.mark.parametrize("num_colorings", [1, 3, "all"])
def test_groups_larger_than_the_number_of_colors(code: Any, num_colorings: Any) -> None:
    model = plain_model(**drawing(num_colorings), color_code=code)
    said = (
        "less than num_colors=4",
        "Got color 4",
        "group of 5 nodes with identical attributes",
        "num_colors=5 or more",
        "color_code='binary'",
    )
    assert_refused(InvalidColoringError, lambda: model(torch.ones(5, 2), NO_EDGES), said)
    assert model(torch.ones(4, 2), NO_EDGES).shape == (1, 3)


@pytest.mark.parametrize("code", ["one-hot", "binary"])
@pytest.mark.parametrize("members", [1, 3])
def test_any_color_the_model_knows_may_be_given(code: Any, members: int) -> None:
    """Also one that no group of so few nodes would need."""
    model = plain_model(color_code=code, num_members=members, num_colors=8)
    x = torch.ones(2, 2)
    output = model(x, NO_EDGES, colorings=torch.tensor([[7, 2]]))
    # A batch with enough nodes for all colors cannot change what the first graph gets.
    more = torch.tensor([[7, 2, 0, 1, 2, 3, 4, 5, 6, 7]])
    batch = torch.tensor([0] * 2 + [1] * 8)
    beside = model(torch.ones(10, 2), NO_EDGES, batch, colorings=more)
    torch.testing.assert_close(output, beside[..., :1, :])


@pytest.mark.parametrize(
    "error",
    [InvalidGraphError, InvalidColoringError, TooManyColoringsError, InvalidParameterError],
)
def test_errors_are_clipgnns_and_value_errors(error: type[Exception]) -> None:
    assert issubclass(error, ClipGNNError)
    assert issubclass(error, ValueError)
