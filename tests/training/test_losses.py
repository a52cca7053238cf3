"""Losses of many members against torch's own, one member at a time."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from tests.training.examples import every_network, folds, multitask, regressed, some_graphs
from torch import Tensor
from torch.nn import functional

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training import ModelSpec, Recipe, Split, train
from clipgnn.training.losses import Loss, class_counts, class_weights_for, targets_for

GIN = ModelSpec("gin", {"hidden_channels": 4, "num_layers": 1})
MEMBERS, GRAPHS = 3, 12
pytestmark = pytest.mark.usefixtures("double")


def _graphs(y: Tensor) -> PackedGraphs:
    return replace(some_graphs(GRAPHS), y=y)


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _mask() -> Tensor:
    """Members with 12, 7 and 1 graphs that are not padding."""
    return torch.arange(GRAPHS) < torch.tensor([12, 7, 1])[:, None]


class _OfGraphs(Loss):
    """The loss of members with the same graphs, and their targets."""

    def __init__(self, recipe: Recipe, graphs: PackedGraphs, train: list[Tensor]) -> None:
        self.targets = targets_for(recipe, graphs)
        weights = None
        if recipe.class_weights is not None:
            classes = 2 if recipe.loss == "binary-cross-entropy" else graphs.num_classes
            counts = [class_counts(self.targets[own], classes) for own in train]
            weights = class_weights_for(recipe, classes, counts)
        super().__init__(recipe, weights)


def _loss(recipe: Recipe, y: Tensor, train: list[Tensor] | None = None) -> _OfGraphs:
    return _OfGraphs(recipe, _graphs(y), train or [torch.arange(GRAPHS)] * MEMBERS)


def _rows(loss: "_OfGraphs") -> Tensor:
    """Targets of all graphs for each member."""
    return loss.targets.expand(MEMBERS, *loss.targets.shape)


CLASSES = torch.arange(GRAPHS) % 3
BINARY = (torch.arange(GRAPHS) % 3 == 0).long()
ONE, SEVERAL = _random(GRAPHS, seed=1), _random(GRAPHS, 4, seed=2)
BINARIES = (SEVERAL > 0).to(torch.float64)
TORCH: dict[str, tuple[str, Tensor, int, Callable[..., Tensor]]] = {
    "classes": ("cross-entropy", CLASSES, 3, functional.cross_entropy),
    "binary classes": (
        "binary-cross-entropy",
        BINARY,
        1,
        lambda outputs, targets: functional.binary_cross_entropy_with_logits(
            outputs[:, 0], targets.double()
        ),
    ),
    "binary targets": (
        "binary-cross-entropy",
        BINARIES,
        4,
        functional.binary_cross_entropy_with_logits,
    ),
    "one number": (
        "squared-error",
        ONE.double(),
        1,
        lambda outputs, targets: functional.mse_loss(outputs[:, 0], targets),
    ),
    "numbers": ("squared-error", SEVERAL.double(), 4, functional.mse_loss),
    "absolute errors": ("absolute-error", SEVERAL.double(), 4, functional.l1_loss),
}
every_loss = pytest.mark.parametrize(
    ("name", "y", "channels", "expected"), TORCH.values(), ids=TORCH.keys()
)


@every_loss
def test_each_member_has_torchs_mean(
    name: str, y: Tensor, channels: int, expected: Callable[..., Tensor]
) -> None:
    loss, mask = _loss(Recipe(loss=name), y), _mask()
    outputs = _random(MEMBERS, GRAPHS, channels).requires_grad_()
    found = loss(outputs, _rows(loss), mask).mean
    assert found.shape == (MEMBERS,)
    same = torch.stack([expected(outputs[member, own], y[own]) for member, own in enumerate(mask)])
    torch.testing.assert_close(found, same)
    torch.testing.assert_close(*(torch.autograd.grad(v.sum(), outputs)[0] for v in (found, same)))


@every_loss
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf, 1e300])
def test_padding_has_no_influence(
    name: str, y: Tensor, channels: int, expected: Callable[..., Tensor], value: float
) -> None:
    loss, mask = _loss(Recipe(loss=name), y), _mask()
    outputs = _random(MEMBERS, GRAPHS, channels)
    other = outputs.masked_fill(~mask[:, :, None], value).requires_grad_()
    found = loss(other, _rows(loss), mask).mean
    assert torch.equal(found, loss(outputs, _rows(loss), mask).mean)


@pytest.mark.parametrize("name", ["binary-cross-entropy", "squared-error", "absolute-error"])
def test_missing_targets_do_not_count(name: str) -> None:
    missing = _random(GRAPHS, 4, seed=3) > 0.5
    assert 0 < missing.sum() < missing.numel()
    y = BINARIES.masked_fill(missing, torch.nan)
    loss, mask = _loss(Recipe(loss=name), y), _mask()
    outputs = _random(MEMBERS, GRAPHS, 4).requires_grad_()
    found = loss(outputs, _rows(loss), mask).mean
    losses: dict[str, Callable[..., Tensor]] = {
        "binary-cross-entropy": functional.binary_cross_entropy_with_logits,
        "squared-error": functional.mse_loss,
        "absolute-error": functional.l1_loss,
    }
    for member in range(MEMBERS):
        known = mask[member, :, None] & ~missing
        expected = losses[name](outputs[member][known], y[known])
        torch.testing.assert_close(found[member], expected)
    [gradient] = torch.autograd.grad(found.sum(), outputs)
    assert bool(gradient.isfinite().all())
    assert bool((gradient[:, missing] == 0).all())


def test_a_batch_without_known_targets_has_no_loss_and_no_gradient() -> None:
    y = ONE.double().clone()
    y[:7] = torch.nan
    loss = _loss(Recipe(loss="squared-error"), y)
    mask = torch.arange(GRAPHS).expand(MEMBERS, -1) < torch.tensor([[7], [12], [0]])
    outputs = _random(MEMBERS, GRAPHS, 1).requires_grad_()
    found = loss(outputs, _rows(loss), mask).mean
    assert found[0] == found[2] == 0
    assert found[1] > 0
    [gradient] = torch.autograd.grad(found.sum(), outputs)
    assert bool((gradient[[0, 2]] == 0).all())


def test_class_weights_are_those_of_torch() -> None:
    weights = (0.5, 3.0, 1.25)
    loss, mask = _loss(Recipe(class_weights=weights), CLASSES), _mask()
    outputs = _random(MEMBERS, GRAPHS, 3)
    found = loss(outputs, _rows(loss), mask).mean
    for member, own in enumerate(mask):
        expected = functional.cross_entropy(
            outputs[member, own], CLASSES[own], weight=torch.tensor(weights)
        )
        torch.testing.assert_close(found[member], expected)


def test_balanced_weights_come_from_the_training_graphs_of_each_member() -> None:
    train = [torch.arange(GRAPHS), torch.tensor([0, 1, 2, 3, 6, 9]), torch.tensor([2, 5, 0, 1])]
    loss = _loss(Recipe(class_weights="balanced"), CLASSES, train)
    assert loss.class_weights is not None
    for member, own in enumerate(train):
        expected = compute_class_weight("balanced", classes=np.arange(3), y=CLASSES[own].numpy())
        assert loss.class_weights[member].tolist() == pytest.approx(expected.tolist())


def test_balanced_binary_targets() -> None:
    """Both kinds of targets have the same total weight, and missing ones have none."""
    y = torch.tensor([1.0] * 2 + [0.0] * 6 + [torch.nan] * 4)
    loss = _loss(Recipe(loss="binary-cross-entropy", class_weights="balanced"), y)
    outputs = torch.zeros(MEMBERS, GRAPHS, 1).requires_grad_()
    mask = torch.ones(MEMBERS, GRAPHS, dtype=torch.bool)
    found = loss(outputs, _rows(loss), mask).mean
    torch.testing.assert_close(found, torch.full((MEMBERS,), 2.0).log())
    [gradient] = torch.autograd.grad(found.sum(), outputs)
    positive, negative = gradient[:, :2].sum(), gradient[:, 2:8].sum()
    torch.testing.assert_close(positive, -negative)


def _focal(outputs: Tensor, targets: Tensor) -> Tensor:
    likelihood = functional.cross_entropy(outputs, targets, reduction="none").neg().exp()
    return -((1 - likelihood) ** 2) * likelihood.log()


def _huber(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.huber_loss(outputs, targets, reduction="none")


def test_a_loss_function_for_classes() -> None:
    loss, mask = _loss(Recipe(loss=_focal, metric="accuracy"), CLASSES), _mask()
    outputs = _random(MEMBERS, GRAPHS, 3)
    found = loss(outputs, _rows(loss), mask).mean
    for member, own in enumerate(mask):
        expected = _focal(outputs[member, own], CLASSES[own]).mean()
        torch.testing.assert_close(found[member], expected)


@pytest.mark.parametrize("y", [ONE.double(), SEVERAL.double()], ids=["one", "several"])
def test_a_loss_function_for_numbers(y: Tensor) -> None:
    """Outputs and targets have the same shape, as torch's functions expect."""
    loss, mask = _loss(Recipe(loss=_huber, metric="rmse"), y), _mask()
    rows = y.view(GRAPHS, -1)
    outputs = _random(MEMBERS, GRAPHS, rows.shape[1])
    found = loss(outputs, _rows(loss), mask).mean
    for member, own in enumerate(mask):
        expected = functional.huber_loss(outputs[member, own], rows[own])
        torch.testing.assert_close(found[member], expected)


def test_a_loss_for_each_graph_counts_graphs_with_all_targets() -> None:
    y = SEVERAL.double().clone()
    y[2, 1] = torch.nan
    recipe = Recipe(loss=lambda outputs, targets: (outputs - targets).norm(dim=1), metric="mae")
    loss, mask = _loss(recipe, y), _mask()
    outputs = _random(MEMBERS, GRAPHS, 4)
    found = loss(outputs, _rows(loss), mask).mean
    for member, own in enumerate(mask):
        complete = own & ~y.isnan().any(1)
        expected = (outputs[member, complete] - y[complete]).norm(dim=1).mean()
        torch.testing.assert_close(found[member], expected)


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (functional.mse_loss, r"Got \[\] for 36 graphs"),
        (lambda outputs, targets: outputs[:1, 0], r"Got \[1\] for 36"),
        (lambda outputs, targets: outputs[:, 0] - targets, r"Got \[36, 36\] for 36"),
        (lambda outputs, targets: 1.0, "Got float for 36"),
    ],
)
def test_loss_functions_that_return_something_else(function: Any, got: str) -> None:
    loss = _loss(Recipe(loss=function, metric="rmse"), ONE.double())
    with pytest.raises(InvalidParameterError, match=got + ".*reduction="):
        loss(_random(MEMBERS, GRAPHS, 1), _rows(loss), _mask())


@pytest.mark.parametrize(
    ("parameters", "y", "words"),
    [
        ({}, ONE, '"cross-entropy" needs classes'),
        ({"loss": "squared-error"}, CLASSES, '"squared-error" .* needs floats'),
        ({"loss": "absolute-error"}, CLASSES, '"absolute-error" .* needs floats'),
        ({"loss": "binary-cross-entropy"}, CLASSES, "0 or 1, or NaN .* Got 2"),
        ({"loss": "binary-cross-entropy"}, BINARIES - 0.5, "0 or 1, or NaN .* Got -0.5"),
        ({"loss": _focal, "metric": "rmse"}, CLASSES, "function .* needs floats"),
        ({"loss": _focal, "metric": "roc-auc"}, BINARIES + 0.5, "0 or 1, or NaN .* Got"),
        ({"class_weights": (1.0, 2.0)}, CLASSES, "each of the 3 classes. Got 2"),
        (
            {"loss": "binary-cross-entropy", "class_weights": (1.0, 2.0, 3.0)},
            BINARIES,
            "each of the 2 classes. Got 3",
        ),
    ],
)
def test_targets_that_do_not_fit(parameters: dict[str, Any], y: Tensor, words: str) -> None:
    split = Split(range(8), range(8, GRAPHS))
    with pytest.raises(InvalidParameterError, match=words):
        train(_graphs(y), GIN, Recipe(epochs=1, **parameters), [split], [0])


def test_parts_without_known_targets_are_refused() -> None:
    y = torch.arange(GRAPHS).double()
    y[:4] = torch.nan
    recipe = Recipe(epochs=1, loss="squared-error")
    for part, split in {
        "train": Split(range(4), range(4, 8)),
        "test": Split(range(4, 8), range(4)),
        "validation": Split(range(4, 8), range(8, 12), range(4)),
    }.items():
        with pytest.raises(InvalidParameterError, match=f"Split 0: {part} must have .* known"):
            train(_graphs(y), GIN, recipe, [split], [0])


def _tasks() -> dict[str, tuple[Recipe, Callable[[PackedGraphs], PackedGraphs], int]]:
    """Recipes, data sets, and the channels of the output."""
    short: dict[str, Any] = {"epochs": 2, "batch_size": 8}
    return {
        "classes": (Recipe(**short, metric="roc-auc"), lambda graphs: graphs, 2),
        "balanced": (Recipe(**short, class_weights="balanced"), lambda graphs: graphs, 2),
        "binary": (
            Recipe(**short, loss="binary-cross-entropy", metric="average-precision"),
            lambda graphs: graphs,
            1,
        ),
        "multitask": (
            Recipe(
                **short, loss="binary-cross-entropy", metric="roc-auc", class_weights="balanced"
            ),
            multitask,
            3,
        ),
        "number": (Recipe(**short, loss="squared-error"), regressed, 1),
        "numbers": (
            Recipe(**short, loss="absolute-error", metric="rmse"),
            lambda graphs: regressed(graphs, 2),
            2,
        ),
        "focal": (Recipe(**short, loss=_focal, metric="accuracy"), lambda graphs: graphs, 2),
        "huber": (
            Recipe(**short, loss=_huber, metric="mae"),
            lambda graphs: regressed(graphs, 2),
            2,
        ),
    }


@every_network
@pytest.mark.parametrize("task", _tasks())
def test_every_network_is_trained_with_every_loss(spec: ModelSpec, task: str) -> None:
    """Together as one by one; the score is computed from the outputs that are returned."""
    recipe, given, channels = _tasks()[task]
    graphs, splits = given(some_graphs(24)), folds(3, 24)[:2]
    alone = train(graphs, spec, recipe, splits, [1, 2])
    together = train(graphs, spec, recipe, splits, [1, 2], together=True)
    for one, other in zip(alone, together, strict=True):
        assert one.test_outputs.shape == (8, channels)
        assert one.history.diverged is None
        assert one.history.metric == recipe.score
        assert one.history.train_loss == pytest.approx(other.history.train_loss, rel=1e-6)
        torch.testing.assert_close(one.test_outputs, other.test_outputs, rtol=1e-3, atol=1e-3)
        assert one.predict(graphs).isfinite().all()


@pytest.mark.parametrize("task", ["classes", "multitask", "number", "numbers"])
def test_every_loss_is_learned(task: str) -> None:
    recipe, given, _ = _tasks()[task]
    recipe = replace(recipe, epochs=20, learning_rate=0.02)
    split = Split(range(20), range(20, 24))
    spec = ModelSpec("gin", {"hidden_channels": 16, "num_layers": 2})
    history = train(given(some_graphs(24)), spec, recipe, [split], [1])[0].history
    assert history.train_loss[-1] < 0.6 * history.train_loss[0]


def test_the_training_loss_is_the_mean_over_known_targets() -> None:
    graphs = regressed(some_graphs(8))
    known = torch.tensor([0, 3])
    y = torch.full_like(graphs.targets, torch.nan).index_copy(0, known, torch.tensor([9.0, 11.0]))
    recipe = Recipe(epochs=1, batch_size=2, loss="squared-error", learning_rate=1e-12)
    split = Split(range(8), [0, 3])
    spec = ModelSpec("gin", {"hidden_channels": 4, "num_layers": 1})
    [trained] = train(replace(graphs, y=y), spec, recipe, [split], [0], allow_overlap=True)
    # Outputs are small numbers; batches without known targets must not count as 0.
    assert 60 < trained.history.train_loss[0] < 140


def test_predictions_of_a_loss_function_follow_the_targets() -> None:
    def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, targets, reduction="none")

    recipe = Recipe(epochs=1, batch_size=4, loss=cross_entropy, metric="accuracy")
    graphs = some_graphs(8)
    spec = ModelSpec("gin", {"hidden_channels": 4, "num_layers": 1})
    [trained] = train(graphs, spec, recipe, [Split(range(6), [6, 7])], [0])
    assert trained.predict(graphs).shape == (8,)
    torch.testing.assert_close(trained.predict_proba(graphs).sum(1), torch.ones(8))
