"""Checks of annotations at run time: types, and shapes of tensors where they are annotated.

The import hook of jaxtyping decorates every function with `jaxtyping.jaxtyped`, which binds the
arguments to the signature, and checks all of them before and again after the call. This takes more
time than most of the functions themselves. Here beartype checks arguments and results once, and
only functions with annotated shapes get a context in which equal names of axes have equal sizes.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ForwardRef, get_args

import jaxtyping
import numpy as np
from beartype import BeartypeConf, beartype

_jaxtyped = jaxtyping.jaxtyped
_beartype = beartype(conf=BeartypeConf(violation_type=jaxtyping.TypeCheckError))


@_beartype
def _integer(number: np.integer[Any]) -> None:
    """Show beartype this hint alone; 0.23 rejects it if it has met it in a union before."""


def install(package: str) -> None:
    """Check the annotations of a package whose modules are not loaded yet."""
    jaxtyping.jaxtyped = lambda *, typechecker: checked  # type: ignore[assignment]
    jaxtyping.install_import_hook(package, "beartype.beartype")


def checked(decorated: Any) -> Any:
    """Check calls of a function, or of the constructor of a dataclass."""
    if not inspect.isclass(decorated):
        return _checked_calls(decorated)
    if dataclasses.is_dataclass(decorated) and "__init__" in vars(decorated):
        setattr(decorated, "__init__", _checked_calls(decorated.__init__))  # noqa: B010
    return decorated


def _checked_calls(function: Callable[..., Any]) -> Callable[..., Any]:
    checking: Callable[..., Any] | None = None
    has_shapes = False

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal checking, has_shapes
        if jaxtyping.config.jaxtyping_disable:
            return function(*arguments, **named)
        if checking is None:  # the first call, when all names of its module are defined
            hints = {
                name: _resolved(hint, function) for name, hint in function.__annotations__.items()
            }
            has_shapes = any(map(_is_shape, hints.values()))
            function.__annotations__ = hints
            checking = _beartype(function)
        if not has_shapes:
            return checking(*arguments, **named)
        context: AbstractContextManager[None] = _jaxtyped("context")
        with context:
            return checking(*arguments, **named)

    return call


def _resolved(hint: Any, function: Callable[..., Any]) -> Any:
    """Evaluate a string; anything is valid where a name is known to type checkers only."""
    if isinstance(hint, str):
        try:
            return eval(hint, function.__globals__)
        except NameError:
            return Any
    return Any if _has_names(hint) else hint


def _has_names(hint: Any) -> bool:
    return isinstance(hint, str | ForwardRef) or any(map(_has_names, get_args(hint)))


def _is_shape(hint: Any) -> bool:
    if inspect.isclass(hint) and issubclass(hint, jaxtyping.AbstractArray):
        return True
    return any(map(_is_shape, get_args(hint)))
