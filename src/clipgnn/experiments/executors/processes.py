"""Local processes, one job each at a time and one thread each.

Networks of this size gain little from a second thread; a second process with another fold gains
nearly everything. The pool is our own because the standard library's gives up all its jobs when
one of its processes dies, and does not say which job it was.
"""

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from clipgnn.experiments.jobs import Job, Outcome, Work, attempt, failure
from clipgnn.experiments.machine import available_cores

ONE_THREAD: Mapping[str, str] = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""What makes the libraries underneath use one thread, if set before they are loaded."""


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    job: Job | None = None


class ProcessExecutor:
    """Works on as many jobs at a time as there are processes.

    Processes are spawned, so that nothing is shared by accident, begun when there is work for
    them, and kept for the next job. One that fails is replaced, because a GPU can be left
    unusable for its process.

    Args:
        work: what is done with the trials of a job; it must be picklable.
        workers: number of processes; by default one for each core.
    """

    def __init__(self, work: Work, workers: int | None = None) -> None:
        self.work = work
        self.workers = workers or available_cores()
        self._pool: list[_Worker] = []

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Work on jobs and give each outcome as it arrives."""
        while True:
            while sum(worker.job is not None for worker in self._pool) < self.workers:
                job = next(jobs, None)
                if job is None:
                    break
                self._give(job)
            busy = {worker.connection: worker for worker in self._pool if worker.job is not None}
            if not busy:
                return
            # A connection is also ready when the process at its other end is gone.
            for connection in wait(list(busy)):
                yield self._take(busy[connection])  # type: ignore[index]

    def close(self) -> None:
        """Kill the processes; they hold nothing that must be saved."""
        for worker in self._pool:
            worker.process.kill()
        for worker in self._pool:
            worker.process.join()
            worker.connection.close()
        self._pool.clear()

    def _give(self, job: Job) -> None:
        idle = [worker for worker in self._pool if worker.job is None]
        worker = idle[0] if idle else self._begin()
        worker.job = job
        with suppress(OSError):  # it has died since: reading from it will say so
            worker.connection.send(job)

    def _begin(self) -> _Worker:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self.work), name="clipgnn-worker")
        with _environment(ONE_THREAD), _interrupts_held():
            process.start()
        theirs.close()  # or its end would stay open here when the process dies
        worker = _Worker(process, ours)
        self._pool.append(worker)
        return worker

    def _take(self, worker: _Worker) -> Outcome:
        job, worker.job = worker.job, None
        assert job is not None
        try:
            outcome: Outcome = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            outcome = failure(job, f"its process {_ending(worker.process.exitcode)}")
        if outcome.results is None:
            self._pool.remove(worker)
            worker.process.kill()
            worker.process.join()
            worker.connection.close()
        return outcome


def _serve(connection: Connection, work: Work) -> None:
    """The life of a worker: take a job, do it, send what became of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that began this one
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            job: Job = connection.recv()
        except EOFError:
            return
        with suppress(OSError):  # nobody listens any more
            connection.send(attempt(work, job))


def _die_with_parent() -> None:
    """Do not go on for hours on a result that nobody will read."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"ended by itself with status {code}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits, and never reaches the processes that are begun inside.

    It is meant for this process alone, and would find them in the middle of their imports.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # begun with the first process, it would let Ctrl-C through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """These environment variables, for processes that are begun inside."""
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
