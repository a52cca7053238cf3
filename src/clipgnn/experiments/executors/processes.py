"""Executor that runs jobs in local processes of one thread each.

Networks of this size gain little from a second thread and almost a factor of two from a second
process with another fold. The standard library's process pool is not used, because it fails all
jobs when one process dies, and does not report which job that process ran.
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
from clipgnn.experiments.options import RunOptions

ONE_THREAD: Mapping[str, str] = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment variables that limit numeric libraries to one thread, read when they are loaded."""

HEARTBEAT_SECONDS = 5.0
"""Maximum number of seconds between two heartbeats of a process that runs a job."""

HEARTBEAT_TIMEOUT = 900.0
"""Default number of seconds without a heartbeat after which a process is replaced. It is long
because code that holds Python's interpreter lock delays heartbeats."""

START_TIMEOUT = 300.0
"""Minimum number of seconds that a process may take to start; imports from a network disk are
slow."""

POLL_SECONDS = 1.0
"""Maximum number of seconds between two checks of the timeouts."""


@dataclass
class _Worker:
    """Process of the pool, its job, and the seconds since the job and its last message began."""

    process: SpawnProcess
    connection: Connection
    job: Job | None = None
    started: bool = False
    running: float = 0.0
    silence: float = 0.0


class ProcessExecutor:
    """Executor that runs jobs in a pool of local processes.

    Processes are spawned, so that they share no state; they are started when there is a job for
    them and kept for the next one. A process whose job failed is replaced, because a GPU error
    can leave it unusable; so is a process that exceeds a timeout. Time during which this process
    itself is stopped does not count towards timeouts.

    Args:
        work: function that runs the trials of a job; it must be picklable.
        workers: number of processes; by default one per core.
        job_timeout: seconds that a job may take, without the start of its process; by default
            there is no limit.
        heartbeat_timeout: seconds that a process may be without a heartbeat.
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
        self._poll_seconds = min(POLL_SECONDS, heartbeat_timeout, job_timeout or POLL_SECONDS)
        self._pool: list[_Worker] = []

    @classmethod
    def from_options(cls, work: Work, options: RunOptions) -> "ProcessExecutor":
        """Create the executor, with one process by default if jobs train on a GPU."""
        options.check_supported("workers", "job_timeout", "heartbeat_timeout")
        return cls(
            work,
            1 if options.workers is None and options.on_gpu else options.workers,
            job_timeout=options.job_timeout,
            heartbeat_timeout=options.heartbeat_timeout or HEARTBEAT_TIMEOUT,
        )

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Run jobs and yield each outcome as it arrives."""
        while True:
            while sum(worker.job is not None for worker in self._pool) < self.workers:
                job = next(jobs, None)
                if job is None:
                    break
                self._assign(job)
            busy = {worker.connection: worker for worker in self._pool if worker.job is not None}
            if not busy:
                return
            began = time.monotonic()
            # A connection is also ready when the process at its other end has ended.
            ready = wait(list(busy), timeout=self._poll_seconds)
            passed = min(time.monotonic() - began, self._poll_seconds)
            for connection, worker in busy.items():
                worker.running += passed if worker.started else 0.0
                worker.silence += passed
                if connection in ready:
                    worker.silence = 0.0
                    outcome = self._receive(worker)
                else:
                    outcome = self._check_timeouts(worker)
                if outcome is not None:
                    yield outcome

    def close(self) -> None:
        """Kill the processes; unfinished jobs have nothing to save."""
        for worker in self._pool:
            worker.process.kill()
        for worker in self._pool:
            worker.process.join()
            worker.connection.close()
        self._pool.clear()

    def _assign(self, job: Job) -> None:
        idle = [worker for worker in self._pool if worker.job is None]
        worker = idle[0] if idle else self._start_worker()
        worker.job, worker.started, worker.running, worker.silence = job, False, 0.0, 0.0
        with suppress(OSError):  # the process has ended; `_receive` reports that
            worker.connection.send(job)

    def _start_worker(self) -> _Worker:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        heartbeat = min(HEARTBEAT_SECONDS, self.heartbeat_timeout / 4)
        process = context.Process(
            target=_serve, args=(theirs, self.work, heartbeat), name="clipgnn-worker"
        )
        with _environment(ONE_THREAD), _interrupts_blocked():
            process.start()
        theirs.close()  # otherwise the connection would stay open when the process ends
        worker = _Worker(process, ours)
        self._pool.append(worker)
        return worker

    def _receive(self, worker: _Worker) -> Outcome | None:
        """Return the outcome that a worker sent, or None for a heartbeat."""
        job = worker.job
        assert job is not None
        try:
            outcome: Outcome | None = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            outcome = failure(job, f"its process {_exit_text(worker.process.exitcode)}")
        if outcome is None:
            worker.started = True
            return self._check_timeouts(worker)
        worker.job = None
        if outcome.results is None:
            self._remove(worker)
        return outcome

    def _check_timeouts(self, worker: _Worker) -> Outcome | None:
        """Return the failure of a job that exceeded a timeout, after killing its process."""
        job = worker.job
        assert job is not None
        if self.job_timeout is not None and worker.running >= self.job_timeout:
            why = f"it did not finish within {self.job_timeout:g} s (job_timeout)"
        elif worker.silence >= self._silence_limit(worker):
            why = f"its process sent no heartbeat for {self._silence_limit(worker):g} s"
        else:
            return None
        worker.job = None
        self._remove(worker)
        return failure(job, why)

    def _silence_limit(self, worker: _Worker) -> float:
        if worker.started:
            return self.heartbeat_timeout
        return max(START_TIMEOUT, self.heartbeat_timeout)

    def _remove(self, worker: _Worker) -> None:
        self._pool.remove(worker)
        worker.process.kill()
        worker.process.join()
        worker.connection.close()


def _serve(connection: Connection, work: Work, heartbeat: float) -> None:
    """Receive jobs, run them and send their outcomes, with heartbeats in between."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    sending, working = threading.Lock(), threading.Event()
    arguments = (connection, sending, working, heartbeat)
    threading.Thread(target=_send_heartbeats, args=arguments, daemon=True).start()
    while True:
        try:
            job: Job = connection.recv()
        except EOFError:
            return
        with sending, suppress(OSError):
            connection.send(None)  # the job has arrived and its time starts
        working.set()
        outcome = attempt(work, job)
        with sending, suppress(OSError):  # the parent has ended
            working.clear()
            connection.send(outcome)


def _send_heartbeats(
    connection: Connection, sending: threading.Lock, working: threading.Event, seconds: float
) -> None:
    """Send None at intervals while a job runs; the parent does not read otherwise."""
    while True:
        working.wait()
        time.sleep(seconds)
        with sending, suppress(OSError):
            if working.is_set():
                connection.send(None)


def _exit_with_parent() -> None:
    """Exit when the parent has ended, because no process would read the result."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _exit_text(code: int | None) -> str:
    if code is None or code >= 0:
        return f"ended by itself with status {code}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT, also for the processes that are started inside.

    Only this process handles Ctrl-C; a child would be interrupted in the middle of its imports.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # if started with the first process, it would unblock SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for processes that are started inside."""
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
