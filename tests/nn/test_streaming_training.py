"""Training with streamed colorings: the function that `CLIP` documents, and its gradient.

Batch statistics are those of 16 colorings, measured first, used for all alike and entered into the
running averages once; gradients flow through them and through the winning colorings.
"""

import copy
from typing import Any

import pytest
import torch
from tests.nn.examples import (
    assert_all_close,
    assert_close,
    differ,
    example_batch,
    random_model,
    without_graph_attributes,
)
from torch import Tensor

from clipgnn.coloring import color_groups, sample_colorings
from clipgnn.nn import CLIP
from clipgnn.nn.iterations import NUM_MEASURED_COLORINGS, LocalIterations
from clipgnn.nn.norm import BatchNorm

K = 20
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "no norm": ({"norm": None}, {}),
    "two members": ({"num_members": 2}, {}),
    "everything": (
        {"directed": True, "edge_channels": 2, "graph_channels": 2},
        {"weights": True, "edge_channels": 2, "graph_channels": 2},
    ),
}
every_case = pytest.mark.parametrize(("parameters", "carried"), CASES.values(), ids=CASES.keys())
every_method = pytest.mark.parametrize("method", ["forward", "embed", "embed_nodes"])


def streaming_model(**parameters: Any) -> CLIP:
    settings = {"num_colorings": K, "colorings_at_once": 3, "activation": "tanh"}
    return random_model(**{**settings, **parameters}).train()


def prepared(carried: dict[str, Any], method: str = "forward") -> dict[str, Any]:
    arguments = example_batch(**carried)
    groups = color_groups(arguments["x"], arguments["batch"])
    generator = torch.Generator().manual_seed(0)
    arguments["colorings"] = sample_colorings(groups, K, arguments["batch"], generator)
    return arguments if method == "forward" else without_graph_attributes(arguments)


def without_streaming(model: CLIP) -> CLIP:
    """The same network, which holds all colorings at once."""
    whole = CLIP(**{**vars(model.config), "colorings_at_once": None}).double()
    whole.load_state_dict(model.state_dict())
    return whole


def norms(model: CLIP) -> dict[str, BatchNorm]:
    return {name: part for name, part in model.named_modules() if isinstance(part, BatchNorm)}


def described_in_the_docstring(model: CLIP, arguments: dict[str, Any], method: str) -> Tensor:
    """The function written with the parts of another mode: statistics of 16 colorings, measured by
    a forward pass over those alone, then an evaluation of all colorings with them."""
    whole = without_streaming(model)
    rows: dict[str, int] = {}
    for name, norm in norms(whole).items():
        norm.momentum = 1.0
        norm.register_forward_hook(
            lambda _, inputs, __, name=name: rows.update({name: inputs[0].shape[1]})
        )
    sixteen = {**arguments, "colorings": arguments["colorings"][:NUM_MEASURED_COLORINGS]}
    whole.train().embed(**without_graph_attributes(sixteen))
    for name, norm in norms(whole).items():
        if name in rows:
            norm.running_var *= (rows[name] - 1) / rows[name]
    for layer in whole.layers:
        layer.eval()
    result: Tensor = getattr(whole, method)(**arguments)
    return result


@every_case
@every_method
def test_it_is_the_function_of_the_docstring(
    parameters: dict[str, Any], carried: dict[str, Any], method: str
) -> None:
    model, arguments = streaming_model(**parameters), prepared(carried, method)
    expected = described_in_the_docstring(model, arguments, method)
    assert_close(getattr(model, method)(**arguments), expected)


def test_statistics_of_all_colorings_would_be_another_function() -> None:
    """So the test above can fail."""
    model, arguments = streaming_model(), prepared({})
    assert differ(without_streaming(model).train()(**arguments), model(**arguments))


@every_case
@every_method
def test_its_gradient_is_exact(
    parameters: dict[str, Any], carried: dict[str, Any], method: str
) -> None:
    """Against central differences along random directions through all parameters at once.

    tanh is smooth, and a step of 1e-6 crosses no kink of the maximum here.
    """
    model, arguments = streaming_model(**parameters), prepared(carried, method)
    generator = torch.Generator().manual_seed(2)
    shape = getattr(model, method)(**arguments).shape
    factors = torch.randn(shape, generator=generator, dtype=torch.float64)

    def loss() -> Tensor:
        output: Tensor = getattr(model, method)(**arguments)
        return (output * factors).sum()

    inputs: list[Tensor] = list(model.parameters())
    gradient = torch.autograd.grad(loss(), inputs, allow_unused=True, materialize_grads=True)
    for _ in range(3):
        direction = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in inputs]

        def loss_at(distance: float, direction: list[Tensor] = direction) -> float:
            with torch.no_grad():
                torch._foreach_add_(inputs, direction, alpha=distance)
                value = float(loss())
                torch._foreach_sub_(inputs, direction, alpha=distance)
            return value

        difference = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6
        expected = float(sum((g * d).sum() for g, d in zip(gradient, direction, strict=True)))
        assert abs(expected) > 1e-2
        assert difference == pytest.approx(expected, rel=1e-5)


@every_case
def test_running_statistics_are_entered_once(
    parameters: dict[str, Any], carried: dict[str, Any]
) -> None:
    """Those of the layers are of the 16 colorings, whatever streams by; those of the readout of
    the maximum."""
    model, arguments = streaming_model(**parameters), prepared(carried)
    sixteen = {**arguments, "colorings": arguments["colorings"][:NUM_MEASURED_COLORINGS]}
    whole = without_streaming(model).train()
    whole.embed(**without_graph_attributes(sixteen))
    before = copy.deepcopy(model.state_dict())
    pooled = copy.deepcopy(model).embed(**without_graph_attributes(arguments))
    model(**arguments).sum().backward()
    after = model.state_dict()

    def layers(state: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: value for name, value in state.items() if name.startswith("layers")}

    assert_all_close(layers(after), layers(whole.state_dict()))
    if model.config.norm is not None:
        assert differ(
            after["layers.0.phi.norm.running_mean"], before["layers.0.phi.norm.running_mean"]
        )
        pooled = pooled.view(model.config.num_members, 4, -1)
        if "graph_attr" in arguments:
            pooled = torch.cat([pooled, arguments["graph_attr"][None]], dim=2)
        mean = model.readout.first(pooled).mean(1)
        expected = 0.9 * before["readout.norm.running_mean"] + 0.1 * mean
        assert_close(after["readout.norm.running_mean"], expected.detach())


@every_method
def test_the_backward_pass_does_not_change_statistics(method: str) -> None:
    """Parts that are computed again for their gradients are not entered a second time."""
    model, arguments = streaming_model(), prepared({}, method)
    output = getattr(model, method)(**arguments)
    before = copy.deepcopy(model.state_dict())
    output.sum().backward()
    assert_all_close(model.state_dict(), before, tolerance=0.0)


def test_all_colorings_measure_a_random_sample() -> None:
    """24 colorings of the largest graph, of which 16 are drawn for the statistics."""
    arguments = example_batch()
    model = streaming_model(coloring="all")
    whole = without_streaming(model).train()
    groups = color_groups(arguments["x"], arguments["batch"])
    drawn = sample_colorings(
        groups, NUM_MEASURED_COLORINGS, arguments["batch"], torch.Generator().manual_seed(5)
    )
    whole.embed(**arguments, colorings=drawn)
    model.embed(**arguments, generator=torch.Generator().manual_seed(5))
    assert_all_close(model.state_dict(), whole.state_dict())


def test_fewer_colorings_than_are_measured() -> None:
    """Then the statistics are those of all of them, and streaming makes no difference."""
    arguments = prepared({})
    arguments["colorings"] = arguments["colorings"][:7]
    model = streaming_model(num_colorings=7)
    whole = without_streaming(model).train()
    assert_close(model(**arguments), whole(**arguments))
    assert_all_close(model.state_dict(), whole.state_dict())


def test_it_learns() -> None:
    """A step along the gradient lowers the loss, streamed or not."""
    arguments = prepared({})
    target = torch.tensor([0, 1, 1, 0])
    model = streaming_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(**arguments), target)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("method", ["embed", "embed_nodes"])
@pytest.mark.parametrize("training", [True, False])
def test_the_mode_during_the_backward_pass_does_not_matter(method: str, training: bool) -> None:
    """The backward pass computes the same as the forward pass did."""
    arguments = example_batch()
    found = []
    for switched in (False, True):
        model = random_model(coloring="all", hidden_channels=8, colorings_at_once=3)
        model.train(training)
        generator = torch.Generator().manual_seed(1)
        result = getattr(model, method)(**arguments, generator=generator)
        if switched:
            model.train(not training)
        result.square().sum().backward()
        gradients = [p.grad for p in model.layers.parameters() if p.grad is not None]
        assert len(gradients) == len(list(model.layers.parameters()))
        found.append(gradients)
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
    assert any(gradient.abs().max() > 1e-6 for gradient in found[0])


def test_few_colorings_of_many_nodes_are_not_searched_for_winners(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With at most one coloring for each channel, a search costs more than it saves."""
    model = CLIP(1, 2, hidden_channels=32, num_layers=1, num_colorings=16, num_colors=20)
    passes: list[int] = []
    features = LocalIterations.features

    def counted(iterations: Any, graphs: Any, colorings: Any, *others: Any) -> Any:
        passes.append(colorings.shape[0])
        return features(iterations, graphs, colorings, *others)

    monkeypatch.setattr(LocalIterations, "features", counted)
    nodes = 20 * 1000
    batch = torch.arange(nodes) // 20
    ring = torch.arange(nodes).view(-1, 20)
    edge_index = torch.stack([ring.flatten(), ring.roll(1, 1).flatten()])
    model(torch.ones(nodes, 1), edge_index, batch).sum().backward()
    assert passes == [16]
