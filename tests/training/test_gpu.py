"""On a GPU: the same training, recorded and replayed."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch._dynamo.utils
from tests.contracts.graph_sets import graph_set
from tests.training.examples import (
    CLIP4,
    curves,
    engine_for,
    every_network,
    folds,
    multitask,
    regressed,
    rings,
    some_graphs,
)
from torch import Tensor

from clipgnn.training import Epoch, ModelSpec, Recipe, capture, train
from clipgnn.training.capture import Captured

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("without_shape_checks")]

compiles = pytest.mark.filterwarnings("default")  # torch's compiler warns of what it does itself


def _assert_near(found: Tensor, expected: Tensor) -> None:
    """Compare outputs after a few epochs, in which Adam enlarges rounding."""
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-3, atol=1e-3)


def _dropping(spec: ModelSpec) -> ModelSpec:
    return ModelSpec(spec.name, {"dropout": 0.3, **spec.parameters})


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_fused_steps_are_near_those_of_the_cpu(dropout: float) -> None:
    spec = ModelSpec(CLIP4.name, {**CLIP4.parameters, "dropout": dropout})
    recipe = Recipe(epochs=3, batch_size=8)
    splits, seeds = folds(5, 40), [1, 2, 3, 4, 5]
    expected = train(some_graphs(40), spec, recipe, splits, seeds).histories
    found = train(some_graphs(40), spec, recipe, splits, seeds, "cuda").histories
    for own, other in zip(found, expected, strict=True):
        assert own.train_loss == pytest.approx(other.train_loss, rel=1e-3)


def test_trainings_in_threads_are_those_alone() -> None:
    recipe, splits = Recipe(epochs=4, batch_size=8), folds(4, 40)

    def losses(seed: int, layers: int) -> list[list[float]]:
        spec = ModelSpec(CLIP4.name, {**CLIP4.parameters, "num_layers": layers})
        seeds = list(range(seed, seed + 4))
        trained = train(some_graphs(40), spec, recipe, splits, seeds, "cuda")
        return [own.history.train_loss for own in trained]

    tasks = [(10 * number, 1 + number % 3) for number in range(6)]
    alone = [losses(*task) for task in tasks]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda task: losses(*task), tasks))
    assert together == alone


@compiles
@pytest.mark.parametrize("compiled", [False, True])
@every_network
@pytest.mark.usefixtures("double")
def test_replayed_steps_are_those_of_the_cpu(spec: ModelSpec, compiled: bool) -> None:
    spec, graphs = _dropping(spec), some_graphs(40)
    # A GPU has the rate in float32: this one is the same there.
    recipe = Recipe(epochs=3, batch_size=8, learning_rate=2**-10)
    splits, seeds = folds(5, 40), [1, 2, 3, 4, 5]
    expected = train(graphs, spec, recipe, splits, seeds).histories
    engine = engine_for(graphs, spec, recipe, splits, seeds, "cuda")
    captured = Captured(engine, compile=compiled)
    assert captured.compiled == compiled
    for epoch in range(3):
        engine.begin(epoch)
        for _ in engine.portions(epoch):
            captured.steps()
        losses, scores = engine.train_loss().tolist(), captured.evaluate("test").scores.tolist()
        assert losses == pytest.approx([h.train_loss[epoch] for h in expected], abs=1e-8)
        assert scores == pytest.approx([h.test_score[epoch] for h in expected], abs=1e-8)


@compiles
@pytest.mark.parametrize("compiled", [False, True])
@every_network
def test_deterministic_training_repeats_to_the_last_bit(
    spec: ModelSpec, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "WORTH_COMPILING", 0.0 if compiled else math.inf)
    spec, graphs, recipe = _dropping(spec), some_graphs(60), Recipe(epochs=5, batch_size=8)
    first, second = (
        train(graphs, spec, recipe, folds(5, 60), list(range(5)), "cuda", deterministic=True)
        for _ in range(2)
    )
    for one, other in zip(first, second, strict=True):
        assert curves(one.history) == curves(other.history)
        assert torch.equal(one.test_outputs, other.test_outputs)


def test_it_learns() -> None:
    recipe = Recipe(epochs=30, batch_size=16, learning_rate=0.01)
    models = train(rings(), CLIP4, recipe, folds(5, 60), list(range(5)), "cuda")
    assert all(max(history.test_score[-10:]) == 1.0 for history in models.histories)


@every_network
@pytest.mark.usefixtures("double")
def test_trained_models_are_those_of_the_cpu(spec: ModelSpec) -> None:
    """Outputs, restored weights and callbacks; early stopping ends members one by one."""
    graphs, splits, seeds = some_graphs(40), folds(5, 40), [1, 2, 3, 4, 5]
    recipe = Recipe(epochs=8, batch_size=8, learning_rate=2**-10, patience=2)
    epochs: list[Epoch] = []
    expected = train(graphs, spec, recipe, splits, seeds)
    found = train(graphs, spec, recipe, splits, seeds, "cuda", callback=epochs.append)
    for one, other in zip(expected, found, strict=True):
        assert one.history.best_epoch == other.history.best_epoch
        assert one.history.train_loss == pytest.approx(other.history.train_loss, abs=1e-6)
        assert next(other.model.parameters()).is_cuda
        _assert_near(other.test_outputs, one.test_outputs)
        assert one.best_test_outputs is not None
        assert other.best_test_outputs is not None
        _assert_near(other.best_test_outputs, one.best_test_outputs)
    longest = max(len(trained.history.train_loss) for trained in found)
    assert [epoch.number for epoch in epochs] == list(range(1, longest + 1))
    assert all(list(epoch.members) == [0, 1, 2, 3, 4] for epoch in epochs)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("metric", ["accuracy", "roc-auc", "average-precision", "rmse", "mae"])
def test_metrics_and_losses_are_those_of_the_cpu(metric: str) -> None:
    numbers = metric in ("rmse", "mae")
    graphs = regressed(some_graphs(40), 2) if numbers else multitask(some_graphs(40))
    loss = "absolute-error" if numbers else "binary-cross-entropy"
    recipe = Recipe(epochs=2, batch_size=8, learning_rate=2**-10, loss=loss, metric=metric)
    splits, seeds = folds(5, 40), [1, 2, 3, 4, 5]
    expected, found = (
        train(graphs, CLIP4, recipe, splits, seeds, device).histories for device in ("cpu", "cuda")
    )
    for one, other in zip(expected, found, strict=True):
        for curve, same in zip(curves(one), curves(other), strict=True):
            assert curve == pytest.approx(same, abs=1e-6)


@compiles
def test_attributed_graphs_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "WORTH_COMPILING", 0.0)
    kinds = frozenset({"weights", "edge attributes", "direction", "graph attributes"})
    graphs = graph_set(kinds).with_floats(torch.float32)
    engine = engine_for(
        graphs, CLIP4, Recipe(epochs=1, batch_size=4), folds(2, len(graphs)), [0, 1], "cuda"
    )
    assert Captured(engine).compiled


@compiles
@pytest.mark.slow
def test_every_engine_is_compiled_and_the_callers_models_stay_so() -> None:
    """torch.compile gives up on a function after eight shapes; ten seconds each."""
    counters = torch._dynamo.utils.counters["stats"]
    callers = torch.compile(torch.nn.Linear(3, 3).cuda())
    x = torch.ones(2, 3, device="cuda")
    callers(x)
    for extra in range(9):
        spec = ModelSpec("clip", {**CLIP4.parameters, "hidden_channels": 8 + extra})
        engine = engine_for(
            some_graphs(), spec, Recipe(epochs=1, batch_size=4), folds(2, 8), [0, 1], "cuda"
        )
        before = counters["unique_graphs"]
        assert Captured(engine, compile=True).compiled
        assert counters["unique_graphs"] == before + 1
    before = counters["unique_graphs"]
    callers(x)
    assert counters["unique_graphs"] == before
