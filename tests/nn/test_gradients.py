"""Gradients on every path of the maximum over colorings, and what can happen around them.

Paths: all colorings held; streamed, where the winners are held with their gradients; streamed,
where the backward pass computes every part again.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.nn.examples import example_batch, random_model, without_graph_attributes
from torch import Tensor
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import functional_call

from clipgnn.coloring import color_groups, sample_colorings
from clipgnn.errors import UnsupportedTransformError
from clipgnn.nn import CLIP, streaming

K = 9
HELD, WINNERS, RECOMPUTED = None, 5, 2  # colorings at once; the model has 5 hidden channels
every_path = pytest.mark.parametrize("at_once", [HELD, WINNERS, RECOMPUTED])
streamed_paths = pytest.mark.parametrize("at_once", [WINNERS, RECOMPUTED])
both_rows = pytest.mark.parametrize("method", ["forward", "embed_nodes"])
both_modes = pytest.mark.parametrize("training", [True, False])

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "edge weights, two members, no norm": ({"num_members": 2, "norm": None}, {"weights": True}),
    "everything": (
        {"directed": True, "edge_channels": 2, "graph_channels": 2, "num_members": 2},
        {"weights": True, "edge_channels": 2, "graph_channels": 2},
    ),
}
every_case = pytest.mark.parametrize(("parameters", "carried"), CASES.values(), ids=CASES.keys())


def prepared(
    at_once: int | None,
    *,
    method: str = "embed",
    carried: dict[str, Any] | None = None,
    training: bool = False,
    dtype: torch.dtype = torch.float64,
    **parameters: Any,
) -> tuple[CLIP, dict[str, Any]]:
    """A smooth model on one of the paths, and its arguments with given colorings."""
    settings = {"num_colorings": K, "num_layers": 1, "activation": "tanh"}
    model = random_model(dtype=dtype, colorings_at_once=at_once, **{**settings, **parameters})
    arguments = example_batch(dtype=dtype, **(carried or {}))
    groups = color_groups(arguments["x"], arguments["batch"])
    generator = torch.Generator().manual_seed(0)
    arguments["colorings"] = sample_colorings(groups, K, arguments["batch"], generator)
    if method != "forward":
        arguments = without_graph_attributes(arguments)
    return model.train(training), arguments


class Method(torch.nn.Module):
    """A method of a model as a module, for `functional_call`."""

    def __init__(self, model: CLIP, method: str) -> None:
        super().__init__()
        self.model = model
        self.method = method

    def forward(self, arguments: dict[str, Any]) -> Tensor:
        output: Tensor = getattr(self.model, self.method)(**arguments)
        return output


def as_function_of_one_vector(
    model: CLIP, arguments: dict[str, Any], method: str
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """The output as a function of all weights and all floats that go in, in one vector."""
    module = Method(model, method)
    weights = dict(module.named_parameters())
    floats = {
        name: value
        for name, value in arguments.items()
        if isinstance(value, Tensor) and value.is_floating_point()
    }
    sizes = [value.numel() for value in (*weights.values(), *floats.values())]

    def function(vector: Tensor) -> Tensor:
        chunks = iter(vector.split(sizes))
        other_weights = {name: next(chunks).view(value.shape) for name, value in weights.items()}
        other_floats = {name: next(chunks).view(value.shape) for name, value in floats.items()}
        return functional_call(module, other_weights, ({**arguments, **other_floats},))

    values = [value.detach().flatten() for value in (*weights.values(), *floats.values())]
    return function, torch.cat(values).requires_grad_()


@every_case
@both_rows
@both_modes
@every_path
def test_gradcheck(
    parameters: dict[str, Any],
    carried: dict[str, Any],
    method: str,
    training: bool,
    at_once: int | None,
) -> None:
    model, arguments = prepared(
        at_once, method=method, carried=carried, training=training, **parameters
    )
    function, vector = as_function_of_one_vector(model, arguments, method)
    assert gradcheck(function, vector, fast_mode=True)


def test_every_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above can fail."""
    taken: list[str] = []

    def recorded(path: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            taken.append(path)
            return function(*arguments)

        return call

    maximum = streaming._PartwiseMaximum
    monkeypatch.setattr(streaming, "_winners", recorded("winners", streaming._winners))
    monkeypatch.setattr(maximum, "apply", recorded("recomputed", maximum.apply))
    expected = {
        (HELD, "forward"): [],
        (WINNERS, "forward"): ["winners"],
        (RECOMPUTED, "forward"): ["winners", "recomputed"],
        (HELD, "embed_nodes"): [],
        (RECOMPUTED, "embed_nodes"): ["recomputed"],
    }
    for (at_once, method), names in expected.items():
        taken.clear()
        model, arguments = prepared(at_once)
        getattr(model, method)(**arguments)
        assert taken == names, (at_once, method)


@pytest.mark.parametrize("at_once", [HELD, WINNERS])
@both_modes
def test_second_derivatives(at_once: int | None, training: bool) -> None:
    model, arguments = prepared(at_once, training=training, carried={"weights": True})
    function, vector = as_function_of_one_vector(model, arguments, "embed")
    assert gradgradcheck(function, vector, fast_mode=True)


def test_second_derivatives_of_recomputed_parts_are_refused() -> None:
    model, arguments = prepared(RECOMPUTED)
    output = model.embed(**arguments).square().sum()
    with pytest.raises(UnsupportedTransformError, match="set colorings_at_once"):
        torch.autograd.grad(output, list(model.layers.parameters()), create_graph=True)


def squared_gradients(
    model: CLIP, arguments: dict[str, Any], method: str, weights: dict[str, Tensor]
) -> list[Tensor]:
    output = functional_call(Method(model, method), weights, (arguments,))
    wanted = [tensor for name, tensor in weights.items() if ".layers." in name]
    return list(torch.autograd.grad(output.square().sum(), wanted))


@streamed_paths
@both_rows
@both_modes
def test_weights_replaced_by_functional_call(at_once: int, method: str, training: bool) -> None:
    """The gradients are those of the weights given, as when all colorings are held."""
    found = []
    for size in (HELD, at_once):
        model, arguments = prepared(size, method=method, training=training)
        arguments["colorings"] = arguments["colorings"][:6]  # all are measured in training
        weights = {
            name: (1.5 * value).detach().requires_grad_()
            for name, value in Method(model, method).named_parameters()
        }
        found.append(squared_gradients(model, arguments, method, weights))
    assert any(bool(gradient.abs().max() > 1e-3) for gradient in found[0])
    for held, streamed in zip(*found, strict=True):
        torch.testing.assert_close(streamed, held)


@every_path
@both_rows
@pytest.mark.parametrize("changed", ["weight", "x"])
def test_tensors_changed_between_the_passes(at_once: int | None, method: str, changed: str) -> None:
    """torch's own error: a gradient of neither the old nor the new weights would be wrong."""
    model, arguments = prepared(at_once)
    output = getattr(model, method)(**arguments).sum()
    weight = model.get_parameter("layers.0.phi.second.weight")
    with torch.no_grad():
        (weight if changed == "weight" else arguments[changed]).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.backward()


def test_weights_may_change_after_the_backward_pass() -> None:
    model, arguments = prepared(RECOMPUTED)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model.embed(**arguments).sum().backward()
        optimizer.step()


@every_path
@both_rows
@both_modes
@pytest.mark.parametrize("parameters", [{}, {"norm": None}, {"num_members": 2}])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_autocast(
    at_once: int | None, method: str, training: bool, parameters: dict[str, Any], device: str
) -> None:
    """Outputs and gradients agree with those in float32 to the precision of bfloat16."""
    found = []
    for enabled in (False, True):
        model, arguments = prepared(
            at_once,
            method=method,
            training=training,
            carried={"weights": True},
            dtype=torch.float32,
            **parameters,
        )
        model.to(device)
        arguments = {name: value.to(device) for name, value in arguments.items()}
        with torch.autocast(device, torch.bfloat16, enabled=enabled):
            output = getattr(model, method)(**arguments)
        (output.float() ** 2).sum().backward()
        gradients = [p.grad.flatten() for p in model.layers.parameters() if p.grad is not None]
        assert all(p.grad is not None for p in model.layers.parameters())
        assert all(buffer.dtype == torch.float32 for buffer in model.layers.buffers())
        found.append((output.detach().float(), torch.cat(gradients)))
    for exact, cast in zip(*found, strict=True):
        difference = float((exact - cast).norm() / exact.norm())
        assert 0 < difference < 0.1


@both_rows
@pytest.mark.parametrize("enabled", [False, True])
def test_the_backward_pass_repeats_the_autocast_of_the_forward_pass(
    method: str, enabled: bool
) -> None:
    """Whatever is on around `backward`."""
    model, arguments = prepared(RECOMPUTED, dtype=torch.float32)
    states: list[bool] = []
    model.layers[0].register_forward_hook(
        lambda *_: states.append(torch.is_autocast_enabled("cpu"))
    )
    with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
        output = getattr(model, method)(**arguments).float().sum()
    forward = len(states)
    with torch.autocast("cpu", torch.bfloat16, enabled=not enabled):
        output.backward()
    assert len(states) > forward > 0
    assert set(states) == {enabled}


@every_path
@both_rows
@pytest.mark.parametrize("with_gradients", [False, True])
def test_nan_weights_give_nan(at_once: int | None, method: str, with_gradients: bool) -> None:
    model, arguments = prepared(at_once)
    with torch.no_grad():
        model.get_parameter("layers.0.psi.first.bias")[0, 0] = torch.nan
    with torch.set_grad_enabled(with_gradients):
        assert bool(getattr(model, method)(**arguments).isnan().all())


@every_path
@both_rows
def test_nan_of_one_coloring_is_not_lost(at_once: int | None, method: str) -> None:
    """Neither where it is the first of all, nor where it is the last."""
    for coloring in (0, K - 1):
        model, arguments = prepared(at_once)
        arguments["colorings"][:] = arguments["colorings"].clamp(max=4)
        arguments["colorings"][coloring] = 5
        with torch.no_grad():
            model.get_parameter("layers.0.psi.first.weight")[0, 3 + 5] = torch.nan
        for with_gradients in (False, True):
            with torch.set_grad_enabled(with_gradients):
                assert bool(getattr(model, method)(**arguments).isnan().all()), coloring


@every_path
@pytest.mark.parametrize(
    "transform",
    [
        lambda f, p: torch.func.grad(f)(p),
        lambda f, p: torch.func.vmap(f)({name: value[None] for name, value in p.items()}),
        lambda f, p: torch.func.jvp(f, (p,), (p,)),
    ],
    ids=["grad", "vmap", "jvp"],
)
def test_transforms_are_refused(at_once: int | None, transform: Callable[..., Any]) -> None:
    model, arguments = prepared(at_once)
    weights = {name: value.detach() for name, value in model.named_parameters()}
    with pytest.raises(UnsupportedTransformError, match=r"torch.autograd.grad"):
        transform(lambda p: functional_call(model, p, (), arguments).sum(), weights)


@every_path
@pytest.mark.parametrize("where", ["weight", "x"])
def test_forward_mode_is_refused(at_once: int | None, where: str) -> None:
    """It gave wrong numbers: the sums over neighbors have no rule for it."""
    model, arguments = prepared(at_once)
    weights = {name: value.detach() for name, value in model.named_parameters()}
    with forward_ad.dual_level():
        functional_call(model, weights, (), arguments)  # nothing to differentiate
        if where == "x":
            arguments["x"] = forward_ad.make_dual(arguments["x"], torch.ones_like(arguments["x"]))
        else:
            name = "layers.0.phi.first.weight"
            weights[name] = forward_ad.make_dual(weights[name], torch.ones_like(weights[name]))
        with pytest.raises(UnsupportedTransformError, match=r"torch.autograd.grad"):
            functional_call(model, weights, (), arguments)
