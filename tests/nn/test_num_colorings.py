"""The number of colorings is changed after training, on the model or for one call."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.nn.examples import example_batch, random_model

from clipgnn import InvalidParameterError, load, save
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
@pytest.mark.parametrize(("built", "wanted"), [(1, 7), (7, 1), (3, "all"), ("all", 3)])
def test_a_changed_number_is_that_of_a_model_built_with_it(
    built: Any, wanted: Any, members: int, method: str
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


def test_more_colorings_raise_the_maximum() -> None:
    """All colorings contain those of any draw, so that their maximum is an upper bound."""
    model = random_model(num_colorings=1).eval()
    one, every = output(model, "embed"), output(model, "embed", num_colorings="all")
    assert bool((every >= one - 1e-12).all())
    assert bool((every > one + 1e-6).any())


def test_gradients_with_another_number() -> None:
    model = random_model(num_colorings=2).train()
    output(model, num_colorings="all").sum().backward()
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
    assert load(tmp_path / "model").num_colorings == 9


def test_training_reads_the_number() -> None:
    model = random_model(num_colorings=2)
    model.num_colorings = 9
    assert model.colorings_wanted(training=True) == 9


WRONG: dict[str, tuple[Any, Any, str]] = {
    "negative": (2, -1, "integer of at least 0"),
    "float": (2, 2.0, "integer of at least 0"),
    "boolean": (2, True, "integer of at least 0"),
    "text": (2, "many", 'or "all"'),
    "tensor": (2, torch.tensor(3), "integer of at least 0"),
    "no colors": (2, 0, "built with colors.*Got 0. Build another model with num_colorings=0"),
    "no colors instead of all": ("all", 0, "built with colors"),
    "colors": (0, 2, "built without colors.*Got 2. Build another model with num_colorings=2"),
    "all colors": (0, "all", "built without colors"),
}


@every_method
@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(("built", "wanted", "said"), WRONG.values(), ids=WRONG.keys())
def test_numbers_the_model_cannot_use(built: Any, wanted: Any, said: str, method: str) -> None:
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
def test_no_number_beside_given_colorings(method: str) -> None:
    model = random_model(num_colorings=2).eval()
    nodes = example_batch()["x"].shape[0]
    with pytest.raises(InvalidParameterError, match="Either colorings or num_colorings"):
        output(model, method, colorings=torch.zeros(1, nodes).long(), num_colorings=2)


def test_a_model_without_colors_may_be_told_so() -> None:
    model = random_model(num_colorings=0).eval()
    model.num_colorings = 0
    assert torch.equal(output(model, num_colorings=0), output(model))
