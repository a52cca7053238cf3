"""A model with several members equals separate models."""

from typing import Any

import pytest
import torch
from tests.nn.examples import (
    assert_all_close,
    assert_close,
    differ,
    example_batch,
    gradients,
    random_model,
    without_graph_attributes,
)
from torch import Tensor

from clipgnn.coloring import color_groups, sample_colorings
from clipgnn.nn import CLIP

MEMBERS = 3
K = 6
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "labels": ({}, {"labels": True}),
    "no norm": ({"norm": None}, {}),
    "binary": ({"color_code": "binary"}, {}),
    "everything": (
        {"directed": True, "edge_channels": 2, "graph_channels": 2, "activation": "tanh"},
        {"weights": True, "edge_channels": 2, "graph_channels": 2},
    ),
}
every_case = pytest.mark.parametrize(("parameters", "carried"), CASES.values(), ids=CASES.keys())
streamed_or_not = pytest.mark.parametrize("at_once", [None, 4])


def together_and_apart(**parameters: Any) -> tuple[CLIP, list[CLIP]]:
    """A model with three members, and three models with one of its members each."""
    together = random_model(num_members=MEMBERS, num_colorings=K, **parameters)
    apart = []
    for member in range(MEMBERS):
        single = random_model(num_colorings=K, **parameters)
        single.load_state_dict(
            {name: value[member : member + 1] for name, value in together.state_dict().items()}
        )
        apart.append(single)
    return together, apart


def of_member(values: dict[str, Tensor], member: int) -> dict[str, Tensor]:
    return {name: value[member : member + 1] for name, value in values.items()}


def colorings_for(arguments: dict[str, Any]) -> Tensor:
    groups = color_groups(arguments["x"], arguments["batch"])
    return sample_colorings(groups, K, arguments["batch"], torch.Generator().manual_seed(0))


@every_case
@streamed_or_not
@pytest.mark.parametrize("method", ["forward", "embed", "embed_nodes"])
@pytest.mark.parametrize("training", [True, False])
def test_outputs_gradients_and_statistics(
    parameters: dict[str, Any],
    carried: dict[str, Any],
    at_once: int | None,
    method: str,
    training: bool,
) -> None:
    arguments = example_batch(**carried)
    arguments["colorings"] = colorings_for(arguments)
    if method != "forward":
        arguments = without_graph_attributes(arguments)
    together, apart = together_and_apart(colorings_at_once=at_once, **parameters)
    output = getattr(together.train(training), method)(**arguments)
    factors = torch.randn(output.shape[1:], dtype=output.dtype)
    (output * factors).sum().backward()
    reached = {n: p.grad for n, p in together.named_parameters() if p.grad is not None}
    for member, single in enumerate(apart):
        expected = getattr(single.train(training), method)(**arguments)
        assert_close(output[member], expected)
        (expected * factors).sum().backward()
        alone = {n: p.grad for n, p in single.named_parameters() if p.grad is not None}
        assert_all_close(of_member(reached, member), alone)
        assert_all_close(of_member(together.state_dict(), member), single.state_dict())


def test_members_differ_from_each_other() -> None:
    arguments = example_batch()
    output = random_model(num_members=MEMBERS, num_colorings=2).eval()(
        **arguments, colorings=colorings_for(arguments)
    )
    assert differ(output[0], output[1])
    assert differ(output[1], output[2])


@streamed_or_not
def test_all_colorings(at_once: int | None) -> None:
    """Graphs of all members drop out together when their colorings are used up."""
    arguments = example_batch()
    together, apart = together_and_apart(colorings_at_once=at_once)
    everything = random_model(num_members=MEMBERS, coloring="all", colorings_at_once=at_once).eval()
    everything.load_state_dict(together.state_dict())
    output = everything(**arguments)
    for member, single in enumerate(apart):
        alone = random_model(coloring="all").eval()
        alone.load_state_dict(single.state_dict())
        assert_close(output[member], alone(**arguments))


def test_without_colors() -> None:
    arguments = example_batch()
    together = random_model(num_members=2, num_colorings=0).eval()
    output = together(**arguments)
    for member in range(2):
        single = random_model(num_colorings=0).eval()
        single.load_state_dict(of_member(together.state_dict(), member))
        assert_close(output[member], single(**arguments))


def test_a_loss_of_one_member_reaches_no_other() -> None:
    arguments = example_batch()
    model = random_model(num_members=MEMBERS, num_colorings=K).train()
    output = model(**arguments, colorings=colorings_for(arguments))
    reached = gradients(model, output[1])
    assert len(reached) == len(list(model.parameters()))
    for name, value in reached.items():
        assert not value[[0, 2]].any(), name
    assert any(value[1].any() for value in reached.values())


@pytest.mark.parametrize(("members", "shape"), [(1, (4, 2)), (2, (2, 4, 2))])
def test_one_member_has_no_axis(members: int, shape: tuple[int, ...]) -> None:
    model = random_model(num_members=members, num_colorings=2).eval()
    arguments = example_batch()
    assert model(**arguments).shape == shape
    assert model.embed(**arguments).shape == (*shape[:-1], 5)
    assert model.embed_nodes(**arguments).shape == (*shape[:-2], 13, 5)
