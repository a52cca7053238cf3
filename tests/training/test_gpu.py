"""On a GPU: the same training, recorded and replayed."""

import math

import pytest
import torch
import torch._dynamo.utils
from tests.training.examples import rings, some_graphs
from tests.training.test_padded import _assembler, _chosen
from tests.training.test_train import CLIP4, _curves, _folds

from clipgnn.nn.gather_sum import sum_in_place, sum_members
from clipgnn.training import ModelSpec, Recipe, capture, train
from clipgnn.training.capture import Captured
from clipgnn.training.engine import Engine
from clipgnn.training.models import NETWORKS

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("without_shape_checks")]

compiles = pytest.mark.filterwarnings(
    "default",  # torch's compiler warns of what it does itself
    "error:torch.compile failed",
)


def _dropping(name: str) -> ModelSpec:
    """A small network of this name, with dropout."""
    if name == "patchy-san":
        pytest.importorskip("igraph")
    own = CLIP4.parameters if name == "clip" else {}
    return ModelSpec(name, {"dropout": 0.3, **own})


def test_the_kernel_sums_as_the_cpu_does() -> None:
    graphs = some_graphs()
    here, there = _assembler(graphs), _assembler(graphs.to("cuda"))
    chosen = _chosen(here)
    room = here.room_for(chosen) + 3
    one, other = here.batch(chosen, room), there.batch(chosen.cuda(), room)
    for channels in (1, 7, 512, 1500):
        x = torch.randn(one.num_nodes, channels, dtype=torch.float64)
        for add, part in (
            (sum_in_place, lambda b: b.edges.pattern),
            (sum_members, lambda b: b.nodes),
        ):
            ours = x.cuda().requires_grad_()
            theirs = x.clone().requires_grad_()
            total, expected = add(part(other), ours), add(part(one), theirs)
            torch.testing.assert_close(total.cpu(), expected)
            total.square().sum().backward()
            expected.square().sum().backward()
            torch.testing.assert_close(ours.grad.cpu(), theirs.grad)


@compiles
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_replayed_steps_are_the_cpus_steps(name: str, compiled: bool) -> None:
    spec = _dropping(name)
    torch.set_default_dtype(torch.float64)
    try:
        graphs = some_graphs(40)
        # A GPU has the rate in float32: this one is the same there.
        recipe = Recipe(epochs=3, batch_size=8, learning_rate=2**-10)
        splits, seeds = _folds(5, 40), [1, 2, 3, 4, 5]
        expected = train(graphs, spec, recipe, splits, seeds)
        engine = Engine(graphs, spec, recipe, splits, seeds, torch.device("cuda"))
        captured = Captured(engine, compile=compiled)
        assert captured.compiled == compiled
        for epoch in range(3):
            engine.set_rate(epoch)
            engine.shuffle(epoch)
            captured.epoch()
            losses, scores = engine.train_loss().tolist(), captured.test().tolist()
            assert losses == pytest.approx([h.train_loss[epoch] for h in expected], abs=1e-8)
            assert scores == pytest.approx([h.test_score[epoch] for h in expected], abs=1e-8)
    finally:
        torch.set_default_dtype(torch.float32)


@compiles
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_deterministic_training_repeats_to_the_last_bit(
    name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "WORTH_COMPILING", 0.0 if compiled else math.inf)
    spec, graphs, recipe = _dropping(name), some_graphs(60), Recipe(epochs=5, batch_size=8)
    first, second = (
        train(graphs, spec, recipe, _folds(5, 60), list(range(5)), "cuda", deterministic=True)
        for _ in range(2)
    )
    assert [_curves(history) for history in first] == [_curves(history) for history in second]


def test_it_learns() -> None:
    recipe = Recipe(epochs=30, batch_size=16, learning_rate=0.01)
    spec = ModelSpec("clip", CLIP4.parameters)
    histories = train(rings(), spec, recipe, _folds(5, 60), list(range(5)), "cuda")
    assert all(max(history.test_score[-10:]) == 1.0 for history in histories)


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
        engine = Engine(
            some_graphs(), spec, Recipe(epochs=1, batch_size=4), _folds(2, 8), [0, 1], x.device
        )
        before = counters["unique_graphs"]
        assert Captured(engine, compile=True).compiled
        assert counters["unique_graphs"] == before + 1
    before = counters["unique_graphs"]
    callers(x)
    assert counters["unique_graphs"] == before
