"""Rates of repeated functions, and functions in processes of their own."""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

import torch

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def rate_of(run: Callable[[], object], seconds: float, device: str = "cpu") -> float:
    """Return the calls per second over at least this time, after one warm-up call."""
    run()
    done = 0
    synchronize(device)
    start = time.perf_counter()
    while done == 0 or time.perf_counter() - start < seconds:
        run()
        done += 1
        synchronize(device)
    return done / (time.perf_counter() - start)


def synchronize(device: str) -> None:
    """Wait until a GPU has finished; the CPU always has."""
    if device != "cpu":
        torch.cuda.synchronize(device)


def in_processes(
    run: Callable[[_Task], _Result], tasks: Sequence[_Task], workers: int = 1
) -> list[_Result]:
    """Run each task in a new process, `workers` of them at the same time."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1) as pool:
        return list(pool.map(run, tasks))
