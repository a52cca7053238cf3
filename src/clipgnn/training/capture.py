"""Training steps and evaluations on a GPU, recorded as CUDA graphs and replayed.

A replay launches a whole step, from the assembly of the batch to the optimizer, as one launch.
There is no synchronization with the device until the curves are read at the end.
"""

import gc
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor

from clipgnn.training.engine import Engine, Evaluated, tensors_of
from clipgnn.training.losses import BatchLoss
from clipgnn.training.streams import own_stream

_log = logging.getLogger(__name__)

WORTH_COMPILING = 5e9
"""Smallest `Engine.work` for which compilation, which takes about 20 seconds, saves time."""

WARM_UP_STEPS = 3
"""Number of steps before recording, for compilation, caches and the state of the optimizer."""

MAX_UNUSED = 0.25
"""Largest share of the device's memory that torch may keep without using it."""

_recording = threading.Lock()
"""One training is recorded at a time; the recorded programs of others run meanwhile."""


class Captured:
    """The programs of an engine, recorded, and compiled if that saves time.

    Networks with fused kernels are not compiled by `torch.compile`: their kernels are compiled
    once for all data sets, and kept in Triton's cache.

    Args:
        engine: the engine; its state is restored afterwards.
        deterministic: use only operations with bit-identical results.
        compile: whether to use `torch.compile`; by default if training is long enough for it to
            save time, and the network has no fused kernels.

    Attributes:
        compiled: whether the step was compiled; if compilation fails, it is not.
        compile_seconds: duration of compilation and recording.
    """

    def __init__(
        self, engine: Engine, *, deterministic: bool = False, compile: bool | None = None
    ) -> None:
        self.engine = engine
        is_default = torch.cuda.current_stream(engine.device) == torch.cuda.default_stream(
            engine.device
        )
        # Nothing can be recorded on the default stream.
        with _recording, own_stream(engine.device) if is_default else nullcontext():
            start = time.perf_counter()
            _release_unused(engine.device)
            with _deterministic() if deterministic else nullcontext():
                self._record_all(engine, compile)
            torch.cuda.current_stream(engine.device).synchronize()
            self.compile_seconds = time.perf_counter() - start

    def _record_all(self, engine: Engine, compile: bool | None) -> None:
        state = {name: value.detach().clone() for name, value in tensors_of(engine.network).items()}
        engine.network.train()
        has_kernels = engine.has_kernels()
        if has_kernels:
            _compile_kernels(engine)
        if compile is None:
            compile = engine.work() > WORTH_COMPILING and not has_kernels
        loss = _compiled_loss(engine) if compile else None
        self.compiled = loss is not None
        self._step = _record_step(engine, loss or engine.loss)
        # Programs run one after the other, and none reads what another has computed inside.
        pool = self._step.pool()
        engine.network.eval()
        self._evaluations = {
            part: _record_evaluation(engine, part, pool) for part in engine.evaluated
        }
        with torch.no_grad():
            for name, value in tensors_of(engine.network).items():
                value.copy_(state[name])
        engine.optimizer.reset()

    def steps(self) -> None:
        """Train with all batches of the current portion."""
        for _ in range(self.engine.steps):
            self._step.replay()

    def evaluate(self, part: str) -> Evaluated:
        """Compute scores on a part of the splits. The next call overwrites the tensors."""
        recorded, evaluated = self._evaluations[part]
        recorded.replay()
        return evaluated


def _release_unused(device: torch.device) -> None:
    """Release memory that torch keeps, if it is a large share of the device.

    The memory of a recording is not used again by the next one. Releasing it waits for all work of
    the device, so this is rare.
    """
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if unused > MAX_UNUSED * torch.cuda.get_device_properties(device).total_memory:
        torch.cuda.empty_cache()


@contextmanager
def _deterministic() -> Iterator[None]:
    """Use only deterministic operations inside."""
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    settings: Any = torch.utils.deterministic
    fill = settings.fill_uninitialized_memory
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)  # imports the compiler, which takes seconds
    settings.fill_uninitialized_memory = False  # nothing reads it
    try:
        yield
    finally:
        settings.fill_uninitialized_memory = fill
        torch.use_deterministic_algorithms(before, warn_only=warn_only)


def _compile_kernels(engine: Engine) -> None:
    """Compile the kernels of steps and evaluations at the same time, in several processes."""
    from clipgnn.ops.kernels.compilation import compiling  # requires Triton

    loss_function, metric = engine.loss_function, engine.metric
    # Outputs are any numbers, with which the loss of a user could fail.
    engine.loss_function, engine.metric = _sum_of_outputs, _first_output
    try:
        with compiling():
            engine.step(engine.loss())
            engine.network.eval()
            for part in engine.evaluated:
                engine.evaluate(part)
    finally:
        engine.loss_function, engine.metric = loss_function, metric
    engine.network.train()
    engine.restart_portion()


def _sum_of_outputs(outputs: Tensor, targets: Tensor, mask: Tensor) -> BatchLoss:
    return BatchLoss(outputs.flatten(1).sum(1), torch.ones_like(outputs[:, 0, 0]))


def _first_output(outputs: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    return outputs[:, 0, 0]


def _compiled_loss(engine: Engine) -> Callable[[], BatchLoss] | None:
    """Compile the loss; log a warning and return None if that fails.

    torch.compile stops compiling a function after a few recompilations, which engines of different
    shapes cause. Each engine therefore compiles a copy of the code object. Resetting the compiler
    would also discard the compiled models of the caller.
    """
    method = type(engine).loss
    fresh = FunctionType(
        method.__code__.replace(),
        method.__globals__,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )
    loss: Callable[[], BatchLoss] = torch.compile(MethodType(fresh, engine), dynamic=False)
    try:
        loss().mean.sum().backward()  # the backward pass is compiled when it first runs
        engine.optimizer.zero_grad()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        _log.warning("torch.compile failed; training continues without it, slower: %s", reason)
        return None
    return loss


def _record_step(engine: Engine, loss: Callable[[], BatchLoss]) -> torch.cuda.CUDAGraph:
    def step() -> None:
        engine.step(loss())

    for _ in range(WARM_UP_STEPS):
        engine.restart_portion()
        step()
    engine.restart_portion()
    return _record(step)


def _record_evaluation(
    engine: Engine, part: str, pool: Any
) -> tuple[torch.cuda.CUDAGraph, Evaluated]:
    evaluated = engine.evaluate(part)  # warm-up, and tensors of the right shapes

    def evaluate() -> None:
        found = engine.evaluate(part)
        evaluated.scores.copy_(found.scores)
        evaluated.outputs.copy_(found.outputs)

    return _record(evaluate, pool=pool), evaluated


def _record(program: Callable[[], None], pool: Any = None) -> torch.cuda.CUDAGraph:
    """Record a program on the current stream.

    Args:
        program: the program; it has run before.
        pool: the memory of another recording to use, by default new memory.
    """
    graph = torch.cuda.CUDAGraph()
    with _no_garbage_collection():
        # Other threads may use the device meanwhile. Unlike torch.cuda.graph, this neither waits
        # for their work nor empties the cache of the allocator.
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            program()
        finally:
            graph.capture_end()
    return graph


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Do not collect inside: the recording of another training must not be destroyed meanwhile."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
