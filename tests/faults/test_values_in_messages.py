"""Values that Python cannot print, or that are long, in the messages about them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.faults.refusals import INFINITY, NAN, assert_refused, good, plain_model
from tests.training.examples import some_graphs

from clipgnn import (
    CLIP,
    ModelSpec,
    Recipe,
    Split,
    fit_kernel,
    hold_out,
    load,
    save,
    stratified_folds,
)
from clipgnn.coloring import all_colorings, sample_colorings
from clipgnn.datasets import circular_skip_links, connectivity
from clipgnn.errors import (
    ClipGNNError,
    InvalidColoringError,
    InvalidGraphError,
    InvalidParameterError,
    shown,
)

pytestmark = pytest.mark.usefixtures("without_shape_checks")

HUGE: Any = 10**5000
LISTED: Any = [HUGE]
Y = torch.tensor([0, 1] * 5)
GROUPS = torch.tensor([0, 0, 1])
INTEGER, LIST = "an integer of 16610 bits", "a value of type list that cannot be printed"


class Unprintable:
    def __repr__(self) -> str:
        raise KeyError("no name")


def test_values_in_messages() -> None:
    assert shown(HUGE) == INTEGER
    assert shown(LISTED) == LIST
    assert shown({"a": HUGE}) == "a value of type dict that cannot be printed"
    assert shown(Unprintable()) == "a value of type Unprintable that cannot be printed"
    assert shown("relu") == "'relu'"
    assert len(shown("a" * 10_000)) < 250


def set_colorings(value: Any) -> None:
    plain_model().num_colorings = value


CALLS: dict[str, tuple[type[ClipGNNError], Callable[[], object], str]] = {
    "folds": (InvalidParameterError, lambda: stratified_folds(Y, HUGE), INTEGER),
    "share": (InvalidParameterError, lambda: hold_out([0, 1], Y, HUGE, 0), INTEGER),
    "colorings": (InvalidParameterError, lambda: set_colorings(LISTED), LIST),
    "colorings of a call": (
        InvalidParameterError,
        lambda: plain_model(num_colorings=0)(**good(), num_colorings=HUGE),
        INTEGER,
    ),
    "both": (
        InvalidParameterError,
        lambda: plain_model()(**good(), colorings=torch.zeros(1, 5).long(), num_colorings=LISTED),
        LIST,
    ),
    "activation": (InvalidParameterError, lambda: CLIP(1, 2, activation=HUGE), INTEGER),
    "color code": (InvalidParameterError, lambda: CLIP(1, 2, color_code=HUGE), INTEGER),
    "batch size": (
        InvalidGraphError,
        lambda: plain_model()(**{**good(), "batch_size": HUGE}),
        INTEGER,
    ),
    "batch size without a batch": (
        InvalidGraphError,
        lambda: plain_model()(**{**good(), "batch": None, "batch_size": HUGE}),
        INTEGER,
    ),
    "rate": (InvalidParameterError, lambda: Recipe(learning_rate=HUGE), INTEGER),
    "epochs": (InvalidParameterError, lambda: Recipe(epochs=LISTED), LIST),
    "loss": (InvalidParameterError, lambda: Recipe(loss=HUGE), INTEGER),
    "kernel": (
        InvalidParameterError,
        lambda: fit_kernel(some_graphs(), ModelSpec(HUGE), [Split([0, 1], [2])]),
        INTEGER,
    ),
    "pairs": (InvalidParameterError, lambda: connectivity(num_pairs=-HUGE), INTEGER),
    "probability": (InvalidParameterError, lambda: connectivity(probability=HUGE), INTEGER),
    "skips": (InvalidParameterError, lambda: circular_skip_links(skip_lengths=LISTED), INTEGER),
    "no skip": (
        InvalidParameterError,
        lambda: circular_skip_links(num_nodes=HUGE, skip_lengths=[1]),
        INTEGER,
    ),
    "generator": (
        InvalidColoringError,
        lambda: sample_colorings(GROUPS, 2, generator=HUGE),
        INTEGER,
    ),
    "chunks": (InvalidParameterError, lambda: next(all_colorings(GROUPS, LISTED)), LIST),
}


@pytest.mark.parametrize(("error", "call", "said"), CALLS.values(), ids=CALLS.keys())
def test_values_that_cannot_be_printed(
    error: type[ClipGNNError], call: Callable[[], object], said: str
) -> None:
    assert_refused(error, call, (said,))


@pytest.mark.parametrize(
    "rate", [10**400, INFINITY, -INFINITY, NAN, True, False, 0, -1.0, "0.1"], ids=shown
)
def test_learning_rates(rate: Any) -> None:
    said = ("'learning_rate'", "a finite number above 0", f"Got {shown(rate)}")
    assert_refused(InvalidParameterError, lambda: Recipe(learning_rate=rate), said)


@pytest.mark.parametrize("rate", [1, 1e-300, 1e300])
def test_learning_rates_on_the_right_side_of_the_border(rate: float) -> None:
    assert Recipe(learning_rate=rate).rate(0) == rate


@pytest.mark.parametrize("path", [None, 3, b"model", LISTED])
def test_paths_of_another_type(path: Any) -> None:
    said = ("path must be a str or a pathlib.Path", shown(path), type(path).__name__)
    assert_refused(InvalidParameterError, lambda: load(path), said)
    assert_refused(InvalidParameterError, lambda: save(plain_model(), path), said)


def test_paths_of_both_types(tmp_path: Path) -> None:
    for path in (tmp_path / "a", str(tmp_path / "b")):
        save(plain_model(), path)
        load(path)
