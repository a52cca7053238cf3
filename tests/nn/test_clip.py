"""The model as a torch module: randomness, modes, dtypes, copies."""

import copy
import pickle
from typing import Any

import pytest
import torch
from tests.drawing import drawing
from tests.nn.examples import (
    GROUPS,
    assert_all_close,
    assert_close,
    differ,
    example_batch,
    gradients,
    random_model,
    without_graph_attributes,
)
from torch import Tensor

from clipgnn.nn import CLIP
from clipgnn.nn.features import ColoredAttributes

every_method = pytest.mark.parametrize("method", ["forward", "embed", "embed_nodes"])
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@every_method
@pytest.mark.parametrize("training", [False, True])
def test_same_seed_same_output(method: str, training: bool) -> None:
    model = random_model(num_colorings=2, activation="tanh").train(training)
    apply, arguments = getattr(model, method), example_batch()
    outputs = [apply(**arguments, generator=seeded(seed)) for seed in (1, 1, 2)]
    assert torch.equal(outputs[0], outputs[1])
    assert differ(outputs[0], outputs[2])


@every_method
@pytest.mark.parametrize("num_colorings", [0, 2, "all"])
@pytest.mark.parametrize("at_once", [None, 1])
def test_an_explicit_generator_leaves_the_global_one_alone(
    method: str, num_colorings: Any, at_once: int | None
) -> None:
    model = random_model(**drawing(num_colorings), colorings_at_once=at_once).train()
    before = torch.get_rng_state()
    output = getattr(model, method)(**example_batch(), generator=seeded(0))
    output.sum().backward()
    assert torch.equal(torch.get_rng_state(), before)


def test_without_a_generator_the_global_one_is_used() -> None:
    model = random_model(num_colorings=2, activation="tanh").eval()
    outputs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outputs.append(model(**example_batch()))
    assert torch.equal(outputs[0], outputs[1])
    assert differ(outputs[0], outputs[2])


@pytest.mark.parametrize("num_colorings", [0, "all"])
def test_nothing_is_random_without_colors_or_with_all(num_colorings: Any) -> None:
    model = random_model(**drawing(num_colorings)).eval()
    outputs = [model(**example_batch(), generator=seeded(seed)) for seed in (1, 2)]
    assert torch.equal(*outputs)


def test_members_draw_colorings_of_their_own() -> None:
    """Two members with the same weights are two samples of k-CLIP."""
    model = random_model(2, num_colorings=1, num_members=2, activation="tanh").eval()
    weights = {n: v[:1].expand_as(v).clone() for n, v in model.state_dict().items()}
    model.load_state_dict(weights)
    first, second = model(**example_batch(), generator=seeded(0))
    assert differ(first[0], second[0])
    assert_close(first[1], second[1])  # All its nodes differ: one coloring.


def test_dropout_is_active_in_training_only() -> None:
    model = random_model(coloring="all", dropout=0.5, hidden_channels=32)
    arguments = example_batch()

    def outputs() -> list[Tensor]:
        results = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            results.append(model(**arguments))
        return results

    model.eval()
    assert torch.equal(*outputs())
    model.train()
    assert differ(*outputs())
    assert torch.equal(model.embed(**arguments), model.embed(**arguments))


def test_dropout_keeps_the_expectation() -> None:
    model = random_model(num_colorings=0, dropout=0.5, norm=None, hidden_channels=8)
    arguments = example_batch()
    expected = model.eval()(**arguments).detach()
    model.train()
    torch.manual_seed(0)
    with torch.no_grad():
        drawn = torch.stack([model(**arguments) for _ in range(150)])
    deviation = drawn.std(0) / 150**0.5
    assert bool(((drawn.mean(0) - expected).abs() < 5 * deviation + 1e-12).all())
    assert bool((deviation > 1e-4).any())


@dtypes
@every_method
def test_dtypes(dtype: torch.dtype, method: str) -> None:
    attributes = {"edge_channels": 2, "graph_channels": 2}
    carried: dict[str, Any] = {"weights": True, **attributes}
    parameters: dict[str, Any] = {"directed": True, "coloring": "all", **attributes}
    arguments = example_batch(dtype=dtype, **carried)
    reference = example_batch(**carried)
    if method != "forward":
        arguments, reference = map(without_graph_attributes, (arguments, reference))
    model, exact = random_model(dtype=dtype, **parameters), random_model(**parameters)
    for training in (False, True):
        output = getattr(model.train(training), method)(**arguments)
        assert output.dtype == dtype
        expected = getattr(exact.train(training), method)(**reference)
        # What is equal in one dtype is equal in the other: the colorings are the same.
        assert_close(output.double(), expected, tolerance=1e-3 if dtype == torch.float32 else 1e-12)
        assert all(value.dtype == dtype for value in gradients(model, output).values())


def test_a_copy_has_weights_of_its_own() -> None:
    model = random_model(coloring="all").eval()
    arguments = example_batch()
    before = model(**arguments)
    other = copy.deepcopy(model)
    assert other.config == model.config
    assert torch.equal(other(**arguments), before)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    other.train()(**arguments).square().sum().backward()
    optimizer.step()
    assert differ(other.eval()(**arguments), before)
    assert torch.equal(model(**arguments), before)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_copy_after_training() -> None:
    model = random_model(num_colorings=4, colorings_at_once=2).train()
    model(**example_batch()).sum().backward()
    other = copy.deepcopy(model)
    assert_all_close(other.state_dict(), model.state_dict(), tolerance=0.0)


def test_state_dict_round_trip() -> None:
    parameters: dict[str, Any] = {"coloring": "all", "directed": True}
    model, other = (random_model(seed, **parameters).eval() for seed in (0, 1))
    arguments = example_batch()
    assert differ(model(**arguments), other(**arguments))
    missing = other.load_state_dict(model.state_dict())
    assert not missing.missing_keys
    assert not missing.unexpected_keys
    assert torch.equal(model(**arguments), other(**arguments))


def test_models_go_to_worker_processes() -> None:
    """As a data loader or a pool sends them; model files are another matter and never pickled."""
    model = random_model(coloring="all").eval()
    other = pickle.loads(pickle.dumps(model))
    assert torch.equal(other(**example_batch()), model(**example_batch()))


def test_names_and_shapes_of_the_weights() -> None:
    model = CLIP(
        3,
        2,
        hidden_channels=5,
        num_layers=2,
        num_colors=6,
        directed=True,
        edge_channels=4,
        graph_channels=7,
        num_members=2,
    )
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}

    def mlp(name: str, channels: int, out: int, *, bias: bool) -> dict[str, tuple[int, ...]]:
        norm = {f"{name}.norm.{part}": (2, 5) for part in
                ("weight", "bias", "running_mean", "running_var")}  # fmt: skip
        norm[f"{name}.norm.running_weight"] = (2, 1)
        ends = {f"{name}.first.weight": (2, channels, 5), f"{name}.first.bias": (2, 5),
                f"{name}.second.weight": (2, 5, out)}  # fmt: skip
        return {**norm, **ends, **({f"{name}.second.bias": (2, out)} if bias else {})}

    expected: dict[str, tuple[int, ...]] = mlp("readout", 5 + 7, 2, bias=True)
    for layer, channels in enumerate([3 + 6, 5]):
        for phi in ("phi", "phi_out"):
            expected |= mlp(f"layers.{layer}.{phi}", channels + 4, 5, bias=False)
        expected |= mlp(f"layers.{layer}.psi", channels + 5 + 5, 5, bias=True)
    assert shapes == expected


@pytest.mark.parametrize(
    ("parameters", "rows"),
    [
        ({"num_colorings": 0}, 3),
        ({"num_colors": 439}, 3 + 439),
        ({"num_colors": 439, "color_code": "binary"}, 3 + 9),
    ],
)
def test_rows_of_weights_for_colors(parameters: dict[str, Any], rows: int) -> None:
    weight = CLIP(3, 2, **parameters).get_parameter("layers.0.phi.first.weight")
    assert weight.shape == (1, rows, 64)


def test_the_initialization_of_he() -> None:
    """All maps within the bounds of He's rule, and biases of 0; the default is that of torch."""
    sizes: dict[str, Any] = {"hidden_channels": 100, "num_layers": 2, "norm": None}
    he, usual = (
        dict(CLIP(3, 50, initialization=name, **sizes).named_parameters())
        for name in ("he", "uniform")
    )
    assert he.keys() == usual.keys()
    for name, own in he.items():
        if name.endswith("bias"):
            assert not own.any(), name
            assert usual[name].any(), name
        else:
            bound = (6 / own.shape[1]) ** 0.5
            assert 0.99 * bound < own.abs().max() <= bound, name
            assert own.std().item() == pytest.approx(bound / 3**0.5, rel=0.03)
            assert usual[name].abs().max() <= own.shape[1] ** -0.5, name


def test_every_weight_matters() -> None:
    """In evaluation: batch statistics remove the biases before them."""
    model = random_model(
        coloring="all", activation="tanh", directed=True, edge_channels=2, graph_channels=2
    ).eval()
    arguments = example_batch(weights=True, edge_channels=2, graph_channels=2)
    reached = gradients(model, model(**arguments))
    assert set(reached) == {name for name, _ in model.named_parameters()}
    for name, value in reached.items():
        assert float(value.abs().max()) > 1e-6, name


@pytest.mark.parametrize("num_colorings", [0, 1, 5, "all"])
def test_shapes_of_the_results(num_colorings: Any) -> None:
    model = random_model(**drawing(num_colorings)).eval()
    arguments = example_batch()
    assert model(**arguments).shape == (len(GROUPS), 2)
    assert model.embed(**arguments).shape == (len(GROUPS), 5)
    assert model.embed_nodes(**arguments).shape == (sum(map(len, GROUPS)), 5)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("num_colorings", [0, 3])
def test_distinct_rows_do_not_change_outputs_and_gradients(
    training: bool, directed: bool, num_colorings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    size = {"num_colorings": num_colorings, "num_colors": 12, "hidden_channels": 6}
    model = CLIP(2, 3, num_layers=2, directed=directed, **size).double().train(training)  # type: ignore[arg-type]
    label, batch = torch.randint(2, (24,)), torch.arange(24) // 12
    edge_index = torch.randint(12, (2, 60)) + 12 * (torch.arange(60) % 2)
    colorings = None
    if num_colorings:
        colorings = torch.stack([torch.randperm(12).repeat(2) for _ in range(3)])

    def outputs_and_gradients() -> list[Tensor]:
        copied = copy.deepcopy(model)
        output = copied(label, edge_index, batch, colorings=colorings)
        output.square().sum().backward()
        gradients = [p.grad for p in copied.parameters() if p.grad is not None]
        return [output.detach(), *gradients, *copied.buffers()]

    calls = []
    original = ColoredAttributes.distinct

    def recorded(features: ColoredAttributes, *, counted: bool) -> object:
        calls.append(original(features, counted=counted))
        return calls[-1]

    monkeypatch.setattr(ColoredAttributes, "distinct", recorded)
    found = outputs_and_gradients()
    assert calls
    assert None not in calls
    monkeypatch.setattr(ColoredAttributes, "distinct", lambda features, counted: None)
    torch.testing.assert_close(found, outputs_and_gradients())


def test_redundant_biases_have_a_gradient_of_zero() -> None:
    model = CLIP(2, 2, hidden_channels=4, num_layers=2, num_colorings=2, num_colors=8).double()
    x = torch.rand(8, 2).double()
    edge_index = torch.tensor([[0, 1, 2, 0, 3, 4, 5, 6, 7, 5], [1, 0, 0, 2, 4, 3, 6, 5, 5, 7]])
    batch = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2])
    model(x, edge_index, batch).square().sum().backward()
    redundant = {id(own) for own in model.redundant_biases()}
    for name, own in model.named_parameters():
        assert own.grad is not None
        assert bool((own.grad.abs() < 1e-12).all()) == (id(own) in redundant), name
