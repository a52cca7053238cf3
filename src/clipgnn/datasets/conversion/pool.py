"""Worker processes that compute the results of tasks, in the order of the tasks."""

import gc
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Protocol, TypeVar, runtime_checkable

from clipgnn.errors import WorkerError

_T = TypeVar("_T")
_R = TypeVar("_R")

_WAITING = 2
"""Number of tasks in memory for each worker."""


@runtime_checkable
class Run(Protocol):
    """A function that computes the results of tasks."""

    def __call__(self, compute: Callable[[_T], _R], tasks: Iterable[_T]) -> Iterator[_R]:
        """Compute the result of each task, in their order. Tasks are taken when they are needed."""


@contextmanager
def workers(number: int) -> Iterator[Run]:
    """Start worker processes; one worker is this process.

    Raises:
        WorkerError: if a worker was killed.
    """
    if number == 1:
        yield lambda compute, tasks: map(compute, tasks)
        return
    # A server process imports the modules once, and then each worker is a copy of it.
    context = get_context("forkserver")
    context.set_forkserver_preload(["clipgnn.datasets.conversion.all_chunks", "rdkit.Chem"])
    pool = ProcessPoolExecutor(number, context, initializer=_begin)
    try:
        yield lambda compute, tasks: _in_order(pool, compute, tasks, _WAITING * number)
    except BrokenProcessPool as error:
        raise WorkerError(
            "Workers must run to the end. One was killed, perhaps because memory was full. "
            "Finished parts are kept: run the same command again to continue, with fewer workers."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(
    pool: ProcessPoolExecutor, compute: Callable[[_T], _R], tasks: Iterable[_T], most: int
) -> Iterator[_R]:
    waiting: deque[Future[_R]] = deque()
    for task in tasks:
        waiting.append(pool.submit(compute, task))
        if len(waiting) >= most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _begin() -> None:
    """Prepare a worker: one thread, and an end with the process that started it."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process ends its workers
    torch.set_num_threads(1)
    gc.freeze()  # objects of modules are not looked at again
    gc.set_threshold(200_000)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
