"""Canonical labelings and automorphisms of colored graphs, by bliss, which igraph contains."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from clipgnn.coloring.structures import Integers, Structure
from clipgnn.coloring.twins import WithoutTwins
from clipgnn.errors import MissingDependencyError

TWINS_FROM = 100
"""Number of vertices from which twins are merged before a labeling."""

_Result = TypeVar("_Result")


def canonical_order(structure: Structure, seconds: float) -> Integers | None:
    """Nodes in the order of a canonical labeling; None if it takes more CPU time than `seconds`.

    Isomorphic graphs are identical after their nodes are renumbered in this order.

    Raises:
        MissingDependencyError: if igraph is not installed.
    """
    if structure.colors.size >= TWINS_FROM:
        merged = WithoutTwins.of(structure)
        if merged.structure.colors.size < structure.colors.size:
            order = _order(merged.structure, seconds)
            return None if order is None else merged.expanded(order)
    return _order(structure, seconds)


def _order(structure: Structure, seconds: float) -> Integers | None:
    graph, colors = _graph(structure), structure.colors.tolist()
    permutation = _within(seconds, lambda: graph.canonical_permutation(color=colors))
    if permutation is None:
        return None
    # Releases of igraph differ in the direction of the permutation; permute_vertices is right.
    order = np.array(graph.permute_vertices(permutation).vs["number"], dtype=np.int64)
    return order[order < structure.num_nodes]


def automorphisms(structure: Structure, seconds: float) -> list[list[int]] | None:
    """Generators of the automorphism group, as permutations of the nodes.

    None if the computation takes more CPU time than `seconds`.

    Raises:
        MissingDependencyError: if igraph is not installed.
    """
    graph, colors = _graph(structure), structure.colors.tolist()
    generators = _within(seconds, lambda: graph.automorphism_group(color=colors))
    return None if generators is None else [own[: structure.num_nodes] for own in generators]


def has_igraph() -> bool:
    """Whether igraph is installed."""
    try:
        import igraph  # noqa: F401
    except ImportError:
        return False
    return True


def _graph(structure: Structure) -> Any:
    try:
        import igraph
    except ImportError as error:
        raise MissingDependencyError(
            'The colorings "canonical" and "orbits" require igraph. It is not installed. Use '
            "pip install 'clipgnn[canonical]'. Networks with the coloring \"refined\" are trained "
            "without it."
        ) from error
    graph = igraph.Graph(n=structure.colors.size, edges=structure.edges)
    graph.vs["number"] = range(structure.colors.size)
    return graph


class _TimeoutError(Exception):
    """The time limit of a computation has passed."""


def _within(seconds: float, compute: Callable[[], _Result]) -> _Result | None:
    """Compute a result; None if it takes more CPU time than `seconds`."""
    try:
        with _alarm(seconds):
            return compute()
    except _TimeoutError:
        return None
    except SystemError as error:  # of igraph, if a signal interrupts it
        if isinstance(error.__cause__, _TimeoutError):
            return None
        raise error.__cause__ or error from None


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `_TimeoutError` after CPU time of `seconds`, in the main thread, by a signal.

    CPU time is that of the thread, so that the result does not depend on other programs. An alarm
    that the user has set, and its handler, are set again afterwards.
    """
    if not limits_time():
        yield
        return
    used = time.thread_time()

    def stop(number: int, frame: FrameType | None) -> None:
        left = seconds - (time.thread_time() - used)
        if left <= 0:
            raise _TimeoutError
        signal.setitimer(signal.ITIMER_REAL, max(left, 1e-3))

    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, stop)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
        if remaining:
            left = max(remaining - (time.monotonic() - began), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


def limits_time() -> bool:
    """Whether this thread can limit the time of a computation."""
    return threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
