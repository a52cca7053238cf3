"""Preparation of recordings on a GPU; the recordings themselves are in test_gpu.py."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.training.examples import CLIP4, engine_for, folds, some_graphs

from clipgnn.training import Recipe, capture
from clipgnn.training.capture import Captured, _compiled_loss
from clipgnn.training.engine import Engine


@pytest.fixture
def engine() -> Engine:
    recipe = Recipe(epochs=1, batch_size=8)
    return engine_for(some_graphs(), CLIP4, recipe, folds(2, 8)[:1], [0])


def _mode() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("users", [(False, False), (True, False), (True, True)])
def test_deterministic_while_recording_and_the_users_mode_afterwards(
    users: tuple[bool, bool], asked: bool, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def record(self: Captured, engine: Any, compile: bool | None) -> None:
        seen.append(_mode())
        if fails:
            raise RuntimeError("too little memory")

    monkeypatch.setattr(Captured, "_record_all", record)
    stream = SimpleNamespace(synchronize=lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: None)
    monkeypatch.setattr(capture, "_release_unused", lambda device: None)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(users[0], warn_only=users[1])
    try:
        engine: Any = SimpleNamespace(device="cuda", work=lambda: 0.0)
        if fails:
            with pytest.raises(RuntimeError, match="too little memory"):
                Captured(engine, deterministic=asked)
        else:
            Captured(engine, deterministic=asked)
        assert seen == [(True, False) if asked else users]
        assert _mode() == users
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(("reserved", "released"), [(35, 0), (36, 1)])
def test_unused_memory_is_released_if_it_is_a_large_share(
    reserved: int, released: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: reserved)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 10)
    properties = SimpleNamespace(total_memory=100)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: calls.append(1))
    capture._release_unused(torch.device("cuda"))
    assert len(calls) == released


@pytest.mark.needs("triton")
def test_losses_do_not_get_outputs_that_were_not_computed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels are only described in this pass."""
    monkeypatch.setattr("clipgnn.ops.kernels.compilation.compiling", nullcontext)

    def refuse(*given: Any) -> Any:
        pytest.fail("called with any numbers")

    own: Any = engine
    own.loss_function = own.metric = refuse
    capture._compile_kernels(engine)
    assert (own.loss_function, own.metric) == (refuse, refuse)
    assert engine.step_number == 0
    assert engine.network.training


def _refuse(error: Exception) -> Any:
    def compile(program: Any, **options: Any) -> Any:
        def compiled() -> Any:
            raise error

        return compiled

    return compile


def test_training_continues_where_compilation_fails(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch, "compile", _refuse(RuntimeError("no such kernel\nmore")))
    assert _compiled_loss(engine) is None
    [record] = caplog.records
    assert (record.name, record.levelname) == ("clipgnn.training.capture", "WARNING")
    assert record.getMessage().endswith("continues without it, slower: no such kernel")


def test_too_little_memory_is_no_failed_compilation(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", _refuse(torch.OutOfMemoryError("full")))
    with pytest.raises(torch.OutOfMemoryError):
        _compiled_loss(engine)


def test_compiling_leaves_no_gradients_behind(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", lambda program, **options: program)
    engine.network.train()
    assert _compiled_loss(engine) is not None
    assert all(parameter.grad is None for parameter in engine.network.parameters())


def test_compiling_keeps_what_the_caller_has_compiled(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And each engine has a code object of its own, whose recompilations are not limited."""
    compiled = []

    def compile(program: Any, **options: Any) -> Any:
        compiled.append(program.__func__.__code__)
        return program

    monkeypatch.setattr(torch, "compile", compile)
    monkeypatch.setattr(torch.compiler, "reset", lambda: pytest.fail("the caller's are gone"))
    engine.network.train()
    expected = engine.loss()
    for _ in range(2):
        loss = _compiled_loss(engine)
        assert loss is not None
        torch.testing.assert_close(loss(), expected)
    assert len({id(code) for code in (Engine.loss.__code__, *compiled)}) == 3
