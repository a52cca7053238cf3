"""Sparse, nested, meta, quantized and 8-bit tensors: errors of clipgnn for every argument."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.faults.refusals import good, odd_tensors, plain_model
from torch import Tensor

from clipgnn import CLIP, PackedGraphs, hold_out, stratified_folds
from clipgnn.coloring import all_colorings, color_groups, num_colorings, sample_colorings
from clipgnn.errors import ClipGNNError
from clipgnn.training import Split

pytestmark = [
    pytest.mark.usefixtures("without_shape_checks"),
    pytest.mark.filterwarnings("ignore"),  # of torch, about sparse and quantized tensors
]


def arguments() -> dict[str, Tensor]:
    """Of a model with everything."""
    return {
        **good(),
        "edge_weight": torch.ones(6),
        "edge_attr": torch.ones(6, 2),
        "graph_attr": torch.ones(2, 3),
        "colorings": torch.tensor([[0, 1, 0, 0, 0]]),
    }


def model() -> CLIP:
    return plain_model(edge_channels=2, graph_channels=3)


def forms(values: Tensor) -> dict[str, tuple[Tensor, str]]:
    """Forms of values with one axis too: those that torch has."""
    if values.dim() > 1:
        return odd_tensors(values)
    two_axes = odd_tensors(values[:, None])
    return {
        "sparse": (values.to_sparse(), "sparse"),
        **{
            name: (form[:, 0] if name != "nested" else form, said)
            for name, (form, said) in two_axes.items()
            if "sparse" not in name
        },
    }


CASES = [(name, form) for name, values in arguments().items() for form in forms(values)]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_arguments_of_a_model(name: str, form: str) -> None:
    given = arguments()
    assert model()(**given).shape == (2, 3)
    wrong, said = forms(given[name])[form]
    with pytest.raises(ClipGNNError, match=f"{name}|one device") as caught:
        model()(**{**given, name: wrong})
    assert said in str(caught.value)


def test_everything_on_the_meta_device() -> None:
    given = {name: values.to("meta") for name, values in arguments().items()}
    with pytest.raises(ClipGNNError, match=r"x must be a dense tensor.*meta device"):
        model().to("meta")(**given)


def test_weights_that_can_only_be_stored() -> None:
    labels = {**good(), "x": torch.tensor([0, 1, 0, 1, 0])}
    with pytest.raises(ClipGNNError, match=r"must be floats of 16 to 64 bits.*float8_e5m2"):
        plain_model().to(torch.float8_e5m2)(**labels)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_floats_of_other_widths_are_computed_with(dtype: torch.dtype) -> None:
    given, generators = good(), [torch.Generator().manual_seed(0) for _ in range(2)]
    expected = plain_model().double()
    same = plain_model()
    same.load_state_dict(expected.state_dict())
    output = same.to(dtype)(**{**given, "x": given["x"].to(dtype)}, generator=generators[0])
    reference = expected(**{**given, "x": given["x"].double()}, generator=generators[1])
    torch.testing.assert_close(output.double(), reference, atol=0.05, rtol=0.05)


NUMBERS = torch.tensor([0, 1, 0, 1, 0, 1])
READERS: dict[str, Callable[[Tensor], Any]] = {
    "color_groups": color_groups,
    "num_colorings": num_colorings,
    "sample_colorings": lambda values: sample_colorings(values, 2),
    "all_colorings": lambda values: next(all_colorings(values)),
    "batch": lambda values: num_colorings(NUMBERS, values),
    "stratified_folds": lambda values: stratified_folds(values, 2),
    "hold_out": lambda values: hold_out(values, NUMBERS, 0.5, 0),
    "targets of hold_out": lambda values: hold_out(torch.arange(6), values, 0.5, 0),
    "split": lambda values: Split(values, [0]),
}
ACCEPTED = {
    ("stratified_folds", "boolean"),  # two classes
    ("targets of hold_out", "boolean"),
    ("hold_out", "boolean"),  # a mask
    ("split", "boolean"),
}


@pytest.mark.parametrize("form", forms(NUMBERS))
@pytest.mark.parametrize("reader", READERS)
def test_functions_of_one_tensor(reader: str, form: str) -> None:
    values, said = forms(NUMBERS)[form]
    if (reader, form) in ACCEPTED:
        READERS[reader](values)
        return
    with pytest.raises(ClipGNNError) as caught:
        READERS[reader](values)
    assert said in str(caught.value)


@pytest.mark.parametrize("form", forms(NUMBERS))
def test_chosen_graphs(form: str) -> None:
    graphs = PackedGraphs(
        name="points",
        x=torch.zeros(6, dtype=torch.int64),
        in_channels=1,
        edge_index=torch.zeros(2, 0, dtype=torch.int64),
        node_pointers=torch.arange(7),
        edge_pointers=torch.zeros(7, dtype=torch.int64),
        y=NUMBERS,
    )
    with pytest.raises(ClipGNNError, match=r"[Cc]hosen"):
        graphs.batch(forms(NUMBERS)[form][0])
