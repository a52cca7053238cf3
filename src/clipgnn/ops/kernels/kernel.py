"""Kernels that can be launched, or collected to be compiled first."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import torch
import triton

SIZES = (
    "all_nodes",
    "capacity",
    "colorings",
    "first_row",
    "graphs",
    "in_channels",
    "largest",
    "nodes",
    "num_colors",
    "num_rows",
    "out_channels",
    "padding",
    "phi_rows",
    "psi_rows",
    "size",
    "threshold",
    "tiles",
)
"""Arguments for whose values a kernel is not compiled again, as Triton does for 1 and for multiples
of 16. Kernels are compiled for each number of channels only."""

OPTIONS = {"enable_fp_fusion": True}
"""Options of every kernel; the default depends on the version of Triton."""

LARGE = 2**31
"""Smallest size that is not a 32-bit integer; kernels are compiled for both kinds."""

_collected: dict[torch.cuda.Stream, list[str]] = {}


class Kernel:
    """A Triton kernel, launched by `kernel[grid](*arguments, **options)`.

    Inside `collecting` it is not launched, and what it should compute is any numbers.

    Args:
        function: the function that Triton compiles.
        is_index: whether it computes indices, with which other operations read; then it is launched
            inside `collecting` too.
    """

    def __init__(self, function: Callable[..., None], *, is_index: bool = False) -> None:
        self.function = triton.jit(function, do_not_specialize=SIZES)
        self.is_index = is_index

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        """Return the function that launches the kernel."""

        def launch(*arguments: Any, **given: Any) -> None:
            options = {**OPTIONS, **given}
            descriptions = _collected.get(torch.cuda.current_stream()) if _collected else None
            if descriptions is None or self.is_index:
                self.function[grid](*arguments, **options)
            else:
                descriptions.append(self._describe(arguments, options))

        return launch

    def _describe(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
        """Describe what has to be compiled, equally for all sizes of batches."""
        names = self.function.arg_names
        described = [_described(*own) for own in zip(names, arguments, strict=False)]
        return json.dumps([self.function.__module__, self.function.__name__, described, options])


def _described(name: str, value: torch.Tensor | float) -> dict[str, Any] | float:
    if isinstance(value, torch.Tensor):
        return {"dtype": str(value.dtype).removeprefix("torch."), "offset": value.data_ptr() % 16}
    if name in SIZES:
        return LARGE if abs(value) >= LARGE else 2
    return 0.5 if isinstance(value, float) else value


def compile_described(description: str) -> None:
    """Compile a kernel for the current device, and the function that launches it."""
    _, _, described, options = json.loads(description)
    arguments = [_argument(**own) if isinstance(own, dict) else own for own in described]
    compiled = kernel_of(description).function.warmup(*arguments, grid=(1,), **options)
    triton.runtime.driver.active.launcher_cls(compiled.src, compiled.metadata)


def kernel_of(description: str) -> Kernel:
    """Return the kernel that is described."""
    module, name, _, _ = json.loads(description)
    return getattr(import_module(module), name)


def _argument(dtype: str, offset: int) -> torch.Tensor:
    """A tensor with an alignment; Triton compiles for each."""
    space = torch.empty(64, dtype=torch.int8)
    begin = -space.data_ptr() % 16 + offset
    return space[begin : begin + 16].view(getattr(torch, dtype))


@contextmanager
def collecting() -> Iterator[list[str]]:
    """Collect descriptions of the kernels of the current stream instead of launching them.

    A backward pass runs in a thread of its own, but on the stream of its forward pass.
    """
    stream = torch.cuda.current_stream()
    descriptions: list[str] = []
    _collected[stream] = descriptions
    try:
        yield descriptions
    finally:
        del _collected[stream]


kernel = Kernel
"""Decorator of kernels."""

index_kernel = partial(Kernel, is_index=True)
"""Decorator of kernels that compute indices."""


def helper(function: Callable[..., Any]) -> Any:
    """Decorator of functions that kernels call.

    Their keys are computed at once. The key of a kernel in Triton's cache contains the constants of
    such a function only if the key of the function was computed before, so that it would depend on
    the order in which kernels are launched, and compiled kernels would not be found.
    """
    compiled = triton.jit(function)
    getattr(compiled, "cache_key", None)  # the interpreter has no keys
    return compiled
