"""Executor that runs jobs in local processes of one thread each.

Networks of this size gain little from a second thread and almost a factor of two from a second
process with another fold. The standard library's process pool is not used, because it fails all
jobs when one process dies, and does not report which job that process ran.
"""

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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


JOBS_ON_GPU = 4
"""Default number of jobs that a process runs at the same time on a GPU."""


@dataclass
class _Running:
    """A job of a process, and the number of seconds since it began."""

    job: Job
    started: bool = False
    seconds: float = 0.0


@dataclass
class _Worker:
    """Process of the pool, its jobs by number, and the seconds since its last message."""

    process: SpawnProcess
    connection: Connection
    running: dict[int, _Running] = field(default_factory=dict)
    silence: float = 0.0
    alone: bool = False

    @property
    def started(self) -> bool:
        """Whether the process has started a job."""
        return any(running.started for running in self.running.values())


class ProcessExecutor:
    """Executor that runs jobs in a pool of local processes.

    Processes are spawned, so that they share no state; they are started when there is a job for
    them and kept for the next one. A process whose job failed is replaced, because a GPU error
    can leave it unusable; so is a process that exceeds a timeout. Time during which this process
    itself is stopped does not count towards timeouts.

    On a GPU a process runs several jobs at the same time, in threads whose work overlaps on the
    device. If one of them fails, the others are run again. If the process dies, each of its jobs is
    run again alone.

    Args:
        work: function that runs the trials of a job; it must be picklable.
        workers: number of processes; by default one per core.
        jobs_at_once: number of jobs that a process runs at the same time.
        job_timeout: seconds that a job may take, without the start of its process; by default
            there is no limit.
        heartbeat_timeout: seconds that a process may be without a heartbeat.
    """

    def __init__(
        self,
        work: Work,
        workers: int | None = None,
        *,
        jobs_at_once: int = 1,
        job_timeout: float | None = None,
        heartbeat_timeout: float = HEARTBEAT_TIMEOUT,
    ) -> None:
        self.work = work
        self.workers = workers or available_cores()
        self.jobs_at_once = jobs_at_once
        self.job_timeout = job_timeout
        self.heartbeat_timeout = heartbeat_timeout
        self._poll_seconds = min(POLL_SECONDS, heartbeat_timeout, job_timeout or POLL_SECONDS)
        self._pool: list[_Worker] = []
        self._numbers = itertools.count()
        # Jobs whose process was killed because of another job, and jobs of which one may have
        # killed its process.
        self._again: list[Job] = []
        self._suspects: list[Job] = []

    @classmethod
    def from_options(cls, work: Work, options: RunOptions) -> "ProcessExecutor":
        """Create the executor, with one process by default if jobs train on a GPU."""
        options.check_supported("workers", "jobs_at_once", "job_timeout", "heartbeat_timeout")
        return cls(
            work,
            1 if options.workers is None and options.on_gpu else options.workers,
            jobs_at_once=options.jobs_at_once or (JOBS_ON_GPU if options.on_gpu else 1),
            job_timeout=options.job_timeout,
            heartbeat_timeout=options.heartbeat_timeout or HEARTBEAT_TIMEOUT,
        )

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Run jobs and yield each outcome as it arrives."""
        while True:
            self._assign_all(jobs)
            busy = {worker.connection: worker for worker in self._pool if worker.running}
            if not busy:
                return
            began = time.monotonic()
            # A connection is also ready when the process at its other end has ended.
            ready = wait(list(busy), timeout=self._poll_seconds)
            passed = min(time.monotonic() - began, self._poll_seconds)
            for connection, worker in busy.items():
                for running in worker.running.values():
                    running.seconds += passed if running.started else 0.0
                worker.silence += passed
                if connection in ready:
                    worker.silence = 0.0
                    yield from self._receive(worker)
                yield from self._check_timeouts(worker)

    def close(self) -> None:
        """Kill the processes; unfinished jobs have nothing to save."""
        for worker in self._pool:
            worker.process.kill()
        for worker in self._pool:
            worker.process.join()
            worker.connection.close()
        self._pool.clear()

    def _assign_all(self, jobs: Iterator[Job]) -> None:
        """Assign jobs while there is room: first those that must run again."""
        while self._suspects and self._has_room(1):
            self._assign(self._suspects.pop(), alone=True)
        while not self._suspects and self._has_room(self.jobs_at_once):
            job = self._again.pop() if self._again else next(jobs, None)
            if job is None:
                return
            self._assign(job)

    def _has_room(self, jobs_at_once: int) -> bool:
        """Whether a process has fewer jobs, or can be started."""
        return len(self._pool) < self.workers or any(
            len(worker.running) < jobs_at_once and not (worker.alone and worker.running)
            for worker in self._pool
        )

    def _assign(self, job: Job, *, alone: bool = False) -> None:
        """Assign a job to the process with the fewest jobs, or to a new one if all have some."""
        shared = [worker for worker in self._pool if not (worker.alone and worker.running)]
        worker = min(shared, key=lambda own: len(own.running), default=None)
        if worker is None or (worker.running and len(self._pool) < self.workers):
            worker = self._start_worker()
        if not worker.running:
            worker.silence, worker.alone = 0.0, alone
        number = next(self._numbers)
        worker.running[number] = _Running(job)
        with suppress(OSError):  # the process has ended; `_receive` reports that
            worker.connection.send((number, job))

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

    def _receive(self, worker: _Worker) -> Iterator[Outcome]:
        """Read a message of a worker: a heartbeat, the start of a job, or an outcome."""
        try:
            message: _Message = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            yield from self._remove(worker, f"its process {_exit_text(worker.process.exitcode)}")
            return
        if message is None:
            return
        number, outcome = message
        if outcome is None:
            worker.running[number].started = True
            return
        del worker.running[number]
        yield outcome
        if outcome.results is None:
            self._again += [running.job for running in worker.running.values()]
            worker.running.clear()
            yield from self._remove(worker)

    def _check_timeouts(self, worker: _Worker) -> Iterator[Outcome]:
        """Yield the failures of jobs that exceeded a timeout, and kill their process."""
        limit = self.job_timeout
        late = [own for own in worker.running.values() if limit and own.seconds >= limit]
        if late:
            self._again += [own.job for own in worker.running.values() if own not in late]
            worker.running.clear()
            yield from self._remove(worker)
            for own in late:
                yield failure(own.job, f"it did not finish within {limit:g} s (job_timeout)")
        elif worker.running and worker.silence >= self._silence_limit(worker):
            seconds = self._silence_limit(worker)
            yield from self._remove(worker, f"its process sent no heartbeat for {seconds:g} s")

    def _remove(self, worker: _Worker, why: str = "") -> Iterator[Outcome]:
        """Kill a process. A job that it ran fails; of several, each is run again alone."""
        jobs = [running.job for running in worker.running.values()]
        worker.running.clear()
        self._pool.remove(worker)
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        if len(jobs) == 1:
            yield failure(jobs[0], why)
        else:
            self._suspects += jobs

    def _silence_limit(self, worker: _Worker) -> float:
        if worker.started:
            return self.heartbeat_timeout
        return max(START_TIMEOUT, self.heartbeat_timeout)


_Message = tuple[int, Outcome | None] | None
"""A heartbeat (None); or the number of a job, with its outcome, or with None when it starts."""


def _serve(connection: Connection, work: Work, heartbeat: float) -> None:
    """Receive jobs, run each in a thread and send its outcome, with heartbeats in between."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    sending = threading.Lock()
    running: set[int] = set()
    heartbeats = (connection, sending, running, heartbeat)
    threading.Thread(target=_send_heartbeats, args=heartbeats, daemon=True).start()
    while True:
        try:
            number, job = connection.recv()
        except EOFError:
            return
        arguments = (connection, sending, running, work, number, job)
        threading.Thread(target=_run_job, args=arguments, daemon=True).start()


def _run_job(
    connection: Connection,
    sending: threading.Lock,
    running: set[int],
    work: Work,
    number: int,
    job: Job,
) -> None:
    """Run a job and send its start and its outcome."""
    with sending, suppress(OSError):  # the parent has ended
        running.add(number)
        connection.send((number, None))
    outcome = attempt(work, job)
    with sending, suppress(OSError):
        running.remove(number)
        connection.send((number, outcome))


def _send_heartbeats(
    connection: Connection, sending: threading.Lock, running: set[int], seconds: float
) -> None:
    """Send None at intervals while jobs run; the parent does not read otherwise."""
    while True:
        time.sleep(seconds)
        with sending, suppress(OSError):
            if running:
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
