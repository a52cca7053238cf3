"""Other colorings than those a model was built with, for one call or from then on."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.nn.examples import example_batch, random_model

from clipgnn import load, save
from clipgnn.coloring.precomputed import All
from clipgnn.coloring.schemes import scheme_named
from clipgnn.errors import InvalidParameterError
from clipgnn.nn import CLIP

METHODS = ("forward", "embed", "embed_nodes")
every_method = pytest.mark.parametrize("method", METHODS)


def output(model: CLIP, method: str = "forward", **arguments: Any) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    result: torch.Tensor = getattr(model, method)(
        **example_batch(), generator=generator, **arguments
    )
    return result


def with_weights_of(model: CLIP, **parameters: Any) -> CLIP:
    """A model built with another number of colorings, for comparison."""
    other = random_model(**parameters).eval()
    other.load_state_dict(model.state_dict())
    return other


@every_method
@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize(("built", "wanted"), [(1, 7), (7, 1)])
def test_a_changed_number_is_that_of_a_model_built_with_it(
    built: int, wanted: int, members: int, method: str
) -> None:
    model = random_model(num_colorings=built, num_members=members).eval()
    expected = output(with_weights_of(model, num_colorings=wanted, num_members=members), method)
    before = output(model, method)
    assert not torch.equal(before, expected)
    assert torch.equal(output(model, method, num_colorings=wanted), expected)
    assert torch.equal(output(model, method), before), "one call must not change the model"
    model.num_colorings = wanted
    assert model.num_colorings == model.config.num_colorings == wanted
    assert torch.equal(output(model, method), expected)
    assert torch.equal(output(model, method, num_colorings=built), before)


@every_method
@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("given_as", ["name", "object"])
@pytest.mark.parametrize(("built", "wanted"), [("random", "all"), ("all", "random")])
def test_the_scheme_of_one_call_is_that_of_a_model_built_with_it(
    built: str, wanted: str, given_as: str, members: int, method: str
) -> None:
    model = random_model(num_colorings=3, coloring=built, num_members=members).eval()
    other = with_weights_of(model, num_colorings=3, coloring=wanted, num_members=members)
    expected, before = output(other, method), output(model, method)
    assert not torch.equal(before, expected)
    scheme = wanted if given_as == "name" else scheme_named(wanted)
    assert torch.equal(output(model, method, coloring=scheme), expected)
    assert torch.equal(output(model, method), before), "one call must not change the model"


@every_method
def test_a_model_without_colors_ignores_the_scheme(method: str) -> None:
    model = random_model(num_colorings=0).eval()
    assert torch.equal(output(model, method, coloring="all"), output(model, method))


def test_more_colorings_raise_the_maximum() -> None:
    """All colorings contain those of any draw, so that their maximum is an upper bound."""
    model = random_model(num_colorings=1).eval()
    one, every = output(model, "embed"), output(model, "embed", coloring="all")
    assert bool((every >= one - 1e-12).all())
    assert bool((every > one + 1e-6).any())


def test_gradients_with_another_number() -> None:
    model = random_model(num_colorings=2).train()
    output(model, coloring="all").sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_no_second_attribute_appears() -> None:
    model = random_model(num_colorings=2)
    model.num_colorings = 5
    assert "num_colorings" not in vars(model)
    assert "num_colorings=5" in repr(model.config)


def test_the_number_is_saved(tmp_path: Path) -> None:
    model = random_model(num_colorings=2)
    model.num_colorings = 9
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, CLIP)
    assert loaded.num_colorings == 9


def test_training_reads_the_number() -> None:
    model = random_model(num_colorings=2)
    model.num_colorings = 9
    assert model.num_colorings_for(training=True) == 9
    assert model.num_colorings_for(training=False) == 9


WRONG: dict[str, tuple[int, Any, str]] = {
    "negative": (2, -1, "must be an integer from 0 to 10000000. Got -1"),
    "float": (2, 2.0, "must be an integer"),
    "boolean": (2, True, "must be an integer"),
    "text": (2, "all", "must be an integer .* Got 'all'"),
    "tensor": (2, torch.tensor(3), "must be an integer"),
    "no colors": (2, 0, "built with colors.*Got 0. Build another model with num_colorings=0"),
    "colors": (0, 2, "built without colors.*Got 2. Build another model with num_colorings=2"),
}


@every_method
@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(("built", "wanted", "said"), WRONG.values(), ids=WRONG.keys())
def test_numbers_the_model_cannot_use(built: int, wanted: Any, said: str, method: str) -> None:
    model = random_model(num_colorings=built).eval()
    with pytest.raises(InvalidParameterError, match=said):
        model.num_colorings = wanted
    assert model.num_colorings == built
    with pytest.raises(InvalidParameterError, match=said):
        output(model, method, num_colorings=wanted)


@pytest.mark.usefixtures("without_shape_checks")
def test_none_cannot_be_set() -> None:
    model = random_model(num_colorings=2)
    with pytest.raises(InvalidParameterError, match="Got None"):
        model.num_colorings = None  # type: ignore[assignment]


@every_method
@pytest.mark.parametrize("also", [{"num_colorings": 2}, {"coloring": "random"}], ids=str)
def test_given_colorings_exclude_a_number_and_a_scheme(method: str, also: dict[str, Any]) -> None:
    model = random_model(num_colorings=2).eval()
    nodes = example_batch()["x"].shape[0]
    (name,) = also
    with pytest.raises(InvalidParameterError, match=f"Either colorings or {name}"):
        output(model, method, colorings=torch.zeros(1, nodes).long(), **also)


@every_method
@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("coloring", ["every", 3, All])
def test_an_unknown_scheme(method: str, coloring: Any) -> None:
    model = random_model(num_colorings=2).eval()
    with pytest.raises(InvalidParameterError, match="coloring must be a Scheme or one of 'random'"):
        output(model, method, coloring=coloring)


def test_zero_is_accepted_by_a_model_without_colors() -> None:
    model = random_model(num_colorings=0).eval()
    model.num_colorings = 0
    assert torch.equal(output(model, num_colorings=0), output(model))
