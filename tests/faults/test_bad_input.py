"""Tensors that are not a batch of graphs, or not one that the model can read.

Each has an error of its own, which states the requirement, the received value and the fix.
"""

from typing import Any

import jaxtyping
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

from clipgnn.coloring import color_groups
from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.exact import ExactBatch

# clipgnn's own errors are what users see; the checks of annotations are for its developers.
pytestmark = pytest.mark.usefixtures("without_shape_checks")

LABELS = torch.tensor([0, 1, 0, 1, 1])
NO_EDGES = torch.zeros(2, 0, dtype=torch.int64)
SPLIT = torch.tensor([[0, 2], [1, 3]])
GRAPHS = {
    "negative edge": Case(
        {"edge_index": torch.tensor([[0, -1], [1, 0]])},
        ("nodes from 0 to 4", "x has 5 rows", "Got node -1"),
    ),
    "edge too large": Case(
        {"edge_index": torch.tensor([[0, 1], [5, 0]])},
        ("nodes from 0 to 4", "x has 5 rows", "Got node 5"),
    ),
    "int32 edges": Case({"edge_index": torch.zeros(2, 3).int()}, ("int64", "int32", ".long()")),
    "float edges": Case({"edge_index": torch.zeros(2, 3)}, ("int64", "float32", ".long()")),
    "list of edges": Case({"edge_index": [[0, 1], [1, 0]]}, ("int64 tensor", "list")),
    "no edges given": Case({"edge_index": None}, ("int64 tensor", "NoneType")),
    "edges by row": Case({"edge_index": torch.zeros(6, 2).long()}, ("[2, edges]", "[6, 2]")),
    "three rows of edges": Case({"edge_index": torch.zeros(3, 2).long()}, ("[2, edges]", "[3, 2]")),
    "flat edges": Case({"edge_index": torch.zeros(4).long()}, ("[2, edges]", "[4]")),
    "dense adjacency": Case(
        {"edge_index": torch.zeros(5, 5).long()}, ("[2, edges]", "[5, 5]", "nonzero()")
    ),
    "edge between graphs": Case({"edge_index": SPLIT}, ("nodes of one graph", "between two")),
    "unsorted batch": Case(
        {"batch": torch.tensor([0, 1, 0, 1, 1])}, ("must be sorted", "by graph")
    ),
    "short batch": Case({"batch": torch.tensor([0, 0, 1, 1])}, ("5 nodes", "4 entries")),
    "long batch": Case({"batch": torch.tensor([0, 0, 0, 1, 1, 1])}, ("5 nodes", "6 entries")),
    "negative batch": Case({"batch": torch.tensor([-1, 0, 0, 1, 1])}, ("not be negative", "-1")),
    "int32 batch": Case({"batch": torch.zeros(5).int()}, ("int64", "int32")),
    "float batch": Case({"batch": torch.zeros(5)}, ("int64", "float32")),
    "batch with two axes": Case({"batch": torch.zeros(5, 1).long()}, ("one axis", "[5, 1]")),
    "list as batch": Case({"batch": [0, 0, 0, 1, 1]}, ("int64 tensor", "list")),
    "batch_size too small": Case({"batch_size": 1}, ("batch_size 1", "graph 1")),
    "batch_size zero": Case({"batch_size": 0}, ("batch_size 0", "graph 1")),
    "batch_size without batch": Case(
        {"batch": None, "batch_size": 2}, ("batch must be given", "batch_size 2")
    ),
    "batch_size not an integer": Case({"batch_size": 2.0}, ("batch_size", "integer", "2.0")),
    "x is None": Case({"x": None}, ("torch.Tensor", "NoneType", "torch.ones(num_nodes, 1)")),
    "x is a list": Case({"x": [[1.0], [2.0]]}, ("torch.Tensor", "list")),
    "integer attributes": Case(
        {"x": torch.ones(5, 2).long()}, ("floating-point", "int64 of shape [5, 2]", "x.float()")
    ),
    "float labels": Case({"x": torch.ones(5)}, ("[nodes, channels]", "float32 of shape [5]")),
    "int32 labels": Case({"x": LABELS.int()}, ("int64 labels", "int32", "x.long()")),
    "boolean attributes": Case({"x": torch.ones(5, 2).bool()}, ("floating-point", "bool")),
    "complex attributes": Case({"x": torch.ones(5, 2) * 1j}, ("floating-point", "complex64")),
    "three axes": Case({"x": torch.ones(5, 2, 1)}, ("[nodes, channels]", "[5, 2, 1]")),
    "NaN": Case({"x": changed(good()["x"], (2, 1), NAN)}, ("x must be finite", "NaN in row 2")),
    "infinite": Case(
        {"x": changed(good()["x"], (3, 0), INFINITY)}, ("x must be finite", "infinite", "row 3")
    ),
    "minus infinite": Case({"x": changed(good()["x"], (0, 0), -INFINITY)}, ("finite", "row 0")),
    "negative label": Case({"x": LABELS - 1}, ("must not be negative", "-1")),
    "label too large": Case({"x": LABELS + 1}, ("in_channels=2", "Got 2", "in_channels=3 or more")),
    "too few channels": Case({"x": torch.ones(5, 1)}, ("in_channels=2", "Got 1")),
    "too many channels": Case({"x": torch.ones(5, 3)}, ("in_channels=2", "Got 3")),
    "double attributes": Case(
        {"x": good()["x"].double()},
        ("dtype of the model", "float64", "x.to(torch.float32)"),
    ),
    "half attributes": Case({"x": good()["x"].half()}, ("dtype of the model", "float16")),
    "another device": Case(
        {"edge_index": good()["edge_index"].to("meta")}, ("one device", "cpu and meta")
    ),
    "no nodes": Case(
        {"x": torch.ones(0, 2), "edge_index": NO_EDGES, "batch": torch.zeros(0).long()},
        ("at least one node", "no rows"),
    ),
    "no nodes, no batch": Case(
        {"x": torch.ones(0, 2), "edge_index": NO_EDGES, "batch": None},
        ("at least one node",),
    ),
}

every_method = pytest.mark.parametrize("method", ["forward", "embed", "embed_nodes"])


@cases(GRAPHS)
@every_method
def test_not_a_batch_of_graphs(case: Case, method: str) -> None:
    apply = getattr(plain_model(), method)
    apply(**good())
    assert_refused(InvalidGraphError, lambda: apply(**{**good(), **case.wrong}), case.said)


def test_a_model_in_double_precision() -> None:
    model = plain_model().double()
    assert_refused(
        InvalidGraphError, lambda: model(**good()), ("torch.float64", "torch.float32", "x.to(")
    )
    labels = {**good(), "x": LABELS}
    assert model(**labels).dtype == torch.float64


def test_a_model_on_another_device() -> None:
    said = ("device of the model, meta", "Got cpu", ".to(")
    assert_refused(InvalidGraphError, lambda: plain_model().to("meta")(**good()), said)


def test_training_on_a_single_graph_with_batch_norm() -> None:
    one = {"x": good()["x"][:3], "edge_index": good()["edge_index"][:, :4]}
    said = ("at least two rows", "one graph", "norm=None", "model.eval()", "drop_last=True")
    model, two = plain_model().train(), plain_model(num_members=2).train()
    assert_refused(InvalidGraphError, lambda: model(**one), said)
    assert_refused(InvalidGraphError, lambda: two(**one), said)
    assert plain_model()(**one).shape == (1, 3)
    assert plain_model(norm=None).train()(**one).shape == (1, 3)
    assert plain_model().train().embed(**one).shape == (1, 4)


@pytest.mark.parametrize(
    "name",
    [
        "NaN",
        "infinite",
        "x is None",
        "integer attributes",
        "float labels",
        "three axes",
        "negative label",
        "unsorted batch",
        "short batch",
        "negative batch",
        "float batch",
        "list as batch",
    ],
)
def test_groups_of_what_is_not_a_batch(name: str) -> None:
    case = GRAPHS[name]
    given = {"x": good()["x"], "batch": good()["batch"], **case.wrong}
    assert_refused(InvalidGraphError, lambda: color_groups(**given), case.said)


def test_a_refused_batch_leaves_the_model_as_it_was() -> None:
    model = plain_model().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert_refused(InvalidGraphError, lambda: model(**{**good(), "edge_index": SPLIT}), ())
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.needs("beartype")
def test_annotations_are_checked_in_all_other_tests() -> None:
    """And not in these: the fixture does what it is for."""
    broken: Any = {**good(), "x": "no tensor"}
    assert_refused(
        InvalidGraphError, lambda: ExactBatch.from_tensors(**broken), ("torch.Tensor", "str")
    )
    jaxtyping.config.update("jaxtyping_disable", False)
    with pytest.raises(jaxtyping.TypeCheckError):
        ExactBatch.from_tensors(**broken)
