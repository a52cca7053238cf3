"""A GPU's way through an epoch: steps and evaluations recorded once, then replayed.

A replay launches a whole step, assembly of the batch and optimizer included, at the cost of one
launch, and nothing waits for the device until the curves are read at the end.
"""

import os
import time
import warnings
from collections.abc import Callable
from types import FunctionType, MethodType

import torch
from torch import Tensor

from clipgnn.training.engine import Engine

WORTH_COMPILING = 5e9
"""Numbers that a training passes through a layer's worth of activations, from which on compiling
(about 20 seconds) saves more than it takes."""

WARM_UP_STEPS = 3
"""Steps run before recording: compilation, caches, and the optimizer's first state."""


class Captured:
    """The programs of an engine, compiled and recorded.

    Args:
        engine: the engine; its state is as new afterwards.
        deterministic: use only operations whose result repeats to the last bit.
        compile: let `torch.compile` fuse what can be fused; by default where the training is long
            enough to repay the time it takes.

    Attributes:
        compiled: whether it was compiled; where compilation fails, training does without it.
        compile_seconds: what compiling and recording took.
    """

    def __init__(
        self, engine: Engine, *, deterministic: bool = False, compile: bool | None = None
    ) -> None:
        start = time.perf_counter()
        self.engine = engine
        before = torch.are_deterministic_algorithms_enabled()
        warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
        if deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        try:
            self._record_all(
                engine, engine.work() > WORTH_COMPILING if compile is None else compile
            )
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warn_only)
        torch.cuda.synchronize(engine.device)
        self.compile_seconds = time.perf_counter() - start

    def _record_all(self, engine: Engine, compile: bool) -> None:
        state = {name: value.detach().clone() for name, value in _tensors(engine)}
        engine.model.train()
        loss = _compiled_loss(engine) if compile else None
        self.compiled = loss is not None
        self._step = _record_step(engine, loss or engine.loss)
        engine.model.eval()
        self._test, self.tested = _record_score(engine, engine.test_parts)
        self._validate, self.validated = _record_score(engine, engine.validation_parts)
        with torch.no_grad():
            for name, value in _tensors(engine):
                value.copy_(state[name])
        for values in engine.optimizer.state.values():
            for value in values.values():
                value.zero_()

    def epoch(self) -> None:
        """All steps of an epoch."""
        for _ in range(self.engine.steps):
            self._step.replay()

    def test(self) -> Tensor:
        """Scores on the test graphs."""
        self._test.replay()
        return self.tested

    def validate(self) -> Tensor:
        """Scores on the validation graphs."""
        self._validate.replay()
        return self.validated


def _tensors(engine: Engine) -> list[tuple[str, Tensor]]:
    """All weights and buffers, also those that are not saved with a model."""
    return [*engine.model.named_parameters(), *engine.model.named_buffers()]


def _compiled_loss(engine: Engine) -> Callable[[], Tensor] | None:
    """The loss compiled, or None and a warning where that fails.

    torch.compile gives up on a function after a few engines of different shapes. A copy of its
    code object has no such history; resetting the compiler would discard the caller's models too.
    """
    method = type(engine).loss
    fresh = FunctionType(
        method.__code__.replace(),
        method.__globals__,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )
    loss: Callable[[], Tensor] = torch.compile(MethodType(fresh, engine), dynamic=False)
    try:
        loss().sum().backward()  # the backward pass is compiled when it first runs
        engine.optimizer.zero_grad(set_to_none=True)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        warnings.warn(
            f"torch.compile failed, and training goes on without it, slower: {reason}", stacklevel=2
        )
        return None
    return loss


def _record_step(engine: Engine, loss: Callable[[], Tensor]) -> torch.cuda.CUDAGraph:
    def step() -> None:
        engine.step(loss())

    return _record(step, WARM_UP_STEPS, before=engine.step_number.zero_)


def _record_score(
    engine: Engine, parts: list[tuple[Tensor, int]]
) -> tuple[torch.cuda.CUDAGraph, Tensor]:
    scores = torch.zeros(engine.num_members, device=engine.device)

    def evaluate() -> None:
        scores.copy_(engine.score(parts))

    return _record(evaluate, 1), scores


def _record(
    program: Callable[[], None], warm_up: int, before: Callable[[], object] = lambda: None
) -> torch.cuda.CUDAGraph:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_up):
            before()
            program()
        before()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        program()
    return graph
