"""Local processes, one job each at a time and one thread each.

Networks of this size gain little from a second thread; a second process with another fold gains
nearly everything. The pool is our own because the standard library's gives up all its jobs when
one of its processes dies, and does not say which job it was.
"""

import os
import signal
import threading
import time
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

HEARTBEAT_SECONDS = 5.0
"""Seconds between two heartbeats of a process that works on a job, at most."""

HEARTBEAT_TIMEOUT = 900.0
"""Seconds without a heartbeat after which a process is replaced, by default. Generous, because
code that holds Python's interpreter lock for long lets no heartbeat through."""

START_TIMEOUT = 300.0
"""Seconds that a process may take to start, at least; packages on a network disk are slow."""

TICK = 1.0
"""Seconds between two looks at processes that send nothing."""


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    job: Job | None = None
    started: bool = False
    running: float = 0.0
    silence: float = 0.0


class ProcessExecutor:
    """Works on as many jobs at a time as there are processes.

    Processes are spawned, so that nothing is shared by accident, started when there is work for
    them, and kept for the next job. One that fails is replaced, because a GPU can be left
    unusable for its process. So is one that takes too long or does not respond.

    Args:
        work: what is done with the trials of a job; it must be picklable.
        workers: number of processes; by default one for each core.
        job_timeout: seconds that a job may take, without the start of its process; by default a
            job may take any time.
        heartbeat_timeout: seconds that a process may be without a heartbeat. The time during
            which this process itself is stopped does not count, in both cases.
    """

    def __init__(
        self,
        work: Work,
        workers: int | None = None,
        *,
        job_timeout: float | None = None,
        heartbeat_timeout: float = HEARTBEAT_TIMEOUT,
    ) -> None:
        self.work = work
        self.workers = workers or available_cores()
        self.job_timeout = job_timeout
        self.heartbeat_timeout = heartbeat_timeout
        self._tick = min(TICK, heartbeat_timeout, job_timeout or TICK)
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
            began = time.monotonic()
            # A connection is also ready when the process at its other end is gone.
            ready = wait(list(busy), timeout=self._tick)
            passed = min(time.monotonic() - began, self._tick)
            for connection, worker in busy.items():
                worker.running += passed if worker.started else 0.0
                worker.silence += passed
                if connection in ready:
                    worker.silence = 0.0
                    outcome = self._take(worker)
                else:
                    outcome = self._overdue(worker)
                if outcome is not None:
                    yield outcome

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
        worker.job, worker.started, worker.running, worker.silence = job, False, 0.0, 0.0
        with suppress(OSError):  # it has died since: reading from it will say so
            worker.connection.send(job)

    def _begin(self) -> _Worker:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        heartbeat = min(HEARTBEAT_SECONDS, self.heartbeat_timeout / 4)
        process = context.Process(
            target=_serve, args=(theirs, self.work, heartbeat), name="clipgnn-worker"
        )
        with _environment(ONE_THREAD), _interrupts_held():
            process.start()
        theirs.close()  # or its end would stay open here when the process dies
        worker = _Worker(process, ours)
        self._pool.append(worker)
        return worker

    def _take(self, worker: _Worker) -> Outcome | None:
        """What a worker has sent: the outcome of its job, or None for a heartbeat."""
        job = worker.job
        assert job is not None
        try:
            outcome: Outcome | None = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            outcome = failure(job, f"its process {_ending(worker.process.exitcode)}")
        if outcome is None:
            worker.started = True
            return self._overdue(worker)
        worker.job = None
        if outcome.results is None:
            self._remove(worker)
        return outcome

    def _overdue(self, worker: _Worker) -> Outcome | None:
        """The failure of a job whose time is over; its process is killed."""
        job = worker.job
        assert job is not None
        if self.job_timeout is not None and worker.running >= self.job_timeout:
            why = f"it did not finish within {self.job_timeout:g} s (--job-timeout)"
        elif worker.silence >= self._longest_silence(worker):
            why = f"its process sent no heartbeat for {self._longest_silence(worker):g} s"
        else:
            return None
        worker.job = None
        self._remove(worker)
        return failure(job, why)

    def _longest_silence(self, worker: _Worker) -> float:
        if worker.started:
            return self.heartbeat_timeout
        return max(START_TIMEOUT, self.heartbeat_timeout)

    def _remove(self, worker: _Worker) -> None:
        self._pool.remove(worker)
        worker.process.kill()
        worker.process.join()
        worker.connection.close()


def _serve(connection: Connection, work: Work, heartbeat: float) -> None:
    """Take jobs, do them and send their outcomes, with heartbeats in between."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that began this one
    threading.Thread(target=_die_with_parent, daemon=True).start()
    sending, working = threading.Lock(), threading.Event()
    beating = (connection, sending, working, heartbeat)
    threading.Thread(target=_send_heartbeats, args=beating, daemon=True).start()
    while True:
        try:
            job: Job = connection.recv()
        except EOFError:
            return
        with sending, suppress(OSError):
            connection.send(None)  # it has the job, whose time begins
        working.set()
        outcome = attempt(work, job)
        with sending, suppress(OSError):  # nobody listens any more
            working.clear()
            connection.send(outcome)


def _send_heartbeats(
    connection: Connection, sending: threading.Lock, working: threading.Event, seconds: float
) -> None:
    """Send None at intervals, as long as there is a job: nobody reads it when there is none."""
    while True:
        working.wait()
        time.sleep(seconds)
        with sending, suppress(OSError):
            if working.is_set():
                connection.send(None)


def _die_with_parent() -> None:
    """End when the parent has ended, instead of working for hours on a result nobody reads."""
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
