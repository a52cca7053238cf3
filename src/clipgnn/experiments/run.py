"""The run of an experiment: claims free trials, has them done, keeps what comes back."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from clipgnn.errors import StoreError, StoreLockedError
from clipgnn.experiments.executors import Executor
from clipgnn.experiments.jobs import Job, Outcome, jobs_of
from clipgnn.experiments.recording import Recorder
from clipgnn.experiments.sessions import SIGN_SECONDS, Claimant, Session
from clipgnn.experiments.spec import Spec
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial

ATTEMPTS = 2
"""How often a run attempts a trial that fails."""


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        total: trials of the experiment.
        finished: those with a result, from whichever run or process.
        failed: those that failed in this run and have no result.
        reused: those that had a result before this run.
        last_failure: what went wrong last, if anything did.
        unsaved: finished trials whose results are not written yet, because the store is locked.
        notice: the last thing that the user should know about the run, such as what it waits for.
    """

    total: int
    finished: int
    failed: int
    reused: int
    last_failure: str | None = None
    unsaved: int = 0
    notice: str | None = None


def run_experiment(
    spec: Spec,
    store: Store,
    executor: Executor,
    *,
    together: bool = False,
    command: str = "",
    tell: Callable[[Progress], None] = lambda progress: None,
    pause: float = 1.0,
    take_over: bool = False,
) -> Progress:
    """Run every trial of an experiment that has no result yet.

    Results are in the store as soon as they arrive. While the store is locked they are kept in
    memory, and nothing new is begun. A trial that fails is attempted once more,
    alone; if it fails again, that is written down and the next run attempts it anew. Trials that
    another process is at work on are waited for, and taken over if that process dies.

    Args:
        spec: the experiment.
        store: where results are and go.
        executor: who does the work; it is closed at the end.
        together: whether to train all folds of a configuration in one job.
        command: how the run was asked for, to be written down.
        tell: called with the progress at the beginning and whenever it changes.
        pause: seconds between two looks at what other processes do.
        take_over: whether to begin at once with trials that sessions on other machines have
            claimed, instead of waiting until they have been without a heartbeat for a while.

    Returns:
        How far it came: `finished` is `total`, or there are failures.

    Raises:
        StoreError: if results can no longer be written; those that were are safe.
    """
    try:
        trials = spec.trials()
        session = store.begin(spec.name, spec.content(), command, trials)
        try:
            with _Signing(store.path, session):
                run = _Run(trials, store, session, executor, together, tell)
                try:
                    if take_over:
                        run.take_over()
                    return run.until_done(pause)
                except BaseException:
                    run.save_the_rest()
                    raise
        finally:
            # If this cannot be written either, the claims end with the process.
            with suppress(StoreError):
                store.end(session)
    finally:
        executor.close()


class _Run:
    def __init__(
        self,
        trials: list[Trial],
        store: Store,
        session: Session,
        executor: Executor,
        together: bool,
        tell: Callable[[Progress], None],
    ) -> None:
        self.trials = trials
        self.store = store
        self.session = session
        self.executor = executor
        self.together = together
        self.tell = tell
        self.failures: Counter[str] = Counter()
        self.last_failure: str | None = None
        self.notice: str | None = None
        self.announced: set[str] = set()
        self.recorder = Recorder(store, session, self._notify)
        self.finished = self._finished()
        self.reused = len(self.finished)

    def until_done(self, pause: float) -> Progress:
        self.tell(self.progress())
        while (open_trials := self._open()) or self.recorder.is_locked():
            if self.recorder.is_locked():
                self.recorder.wait()
                self.recorder.write()
                continue
            came = False
            for outcome in self.executor.run(self._claim(open_trials)):
                came = True
                self._keep(outcome)
                self.tell(self.progress())
            if self.recorder.is_locked():
                continue
            with self._noting_locks():
                before, self.finished = len(self.finished), self._finished()
                if len(self.finished) != before:
                    self.tell(self.progress())
                if not came and (left := self._open()):
                    self._announce(left)
                    time.sleep(pause)  # the rest is with other processes
        return self.progress()

    def take_over(self) -> None:
        for claimant in self.store.take_over():
            self._notify(f"Took over {_claims(claimant)}.")

    def save_the_rest(self) -> None:
        """Attempt once more to write what could not be written, and say what is left."""
        with suppress(StoreError):
            self.recorder.write(at_once=True)
        if unsaved := len(self.recorder.unsaved):
            self._notify(
                f"{unsaved} finished results could not be written to {self.store.path}. The next "
                "run trains them again."
            )

    def progress(self) -> Progress:
        failed = sum(identity not in self.finished for identity in self.failures)
        return Progress(
            len(self.trials),
            len(self.finished),
            failed,
            self.reused,
            self.last_failure,
            len(self.recorder.unsaved),
            self.notice,
        )

    def _notify(self, notice: str) -> None:
        self.notice = notice
        self.tell(self.progress())

    def _announce(self, trials: list[Trial]) -> None:
        """Say once for each session that it is waited for, and how long."""
        wanted = {trial.identity for trial in trials}
        for claimant in self.store.claimants():
            if claimant.session.identity not in self.announced and wanted & claimant.trials:
                self.announced.add(claimant.session.identity)
                self._notify(f"Waiting for {_claims(claimant)}. {_prospect(claimant)}")

    @contextmanager
    def _noting_locks(self) -> Iterator[None]:
        """A lock that was met inside is waited for in the next round."""
        try:
            yield
        except StoreLockedError:
            self.recorder.note_lock()

    def _open(self) -> list[Trial]:
        return [
            trial
            for trial in self.trials
            if trial.identity not in self.finished and self.failures[trial.identity] < ATTEMPTS
        ]

    def _claim(self, trials: list[Trial]) -> Iterator[Job]:
        """Jobs that are ours now, each claimed when the executor asks for it."""
        with self._noting_locks():  # the jobs end there, and what is under way goes on
            busy = self.store.claimed()
            free = [trial for trial in trials if trial.identity not in busy]
            fresh = [trial for trial in free if not self.failures[trial.identity]]
            # Those that failed are attempted alone, so that one cannot take others down with it.
            again = [trial for trial in free if self.failures[trial.identity]]
            alone = [Job((trial,)) for trial in again]
            for job in [*jobs_of(fresh, together=self.together), *alone]:
                if claimed := self.store.claim(self.session, job.trials):
                    yield Job(tuple(claimed))

    def _keep(self, outcome: Outcome) -> None:
        self.recorder.keep(outcome)
        if outcome.results is not None:
            self.finished |= {result.trial for result in outcome.results}
            return
        trials = outcome.job.trials
        self.failures.update(trial.identity for trial in trials)
        self.last_failure = f"{trials[0]}: {outcome.error}"

    def _finished(self) -> set[str]:
        done = self.store.finished() | self.recorder.unsaved
        return done & {trial.identity for trial in self.trials}


def _claims(claimant: Claimant) -> str:
    session = claimant.session
    return (
        f"{len(claimant.trials)} trials that {session} has claimed "
        f"(session {session.identity[:8]}, last heartbeat {claimant.silence:.0f} s ago)"
    )


def _prospect(claimant: Claimant) -> str:
    if claimant.here:
        return "They are taken over when it ends."
    return (
        f"Without a heartbeat they are taken over in {claimant.expires_in:.0f} s; --take-over "
        "does not wait."
    )


class _Signing:
    """A thread that writes the heartbeats of a session, with a connection of its own."""

    def __init__(self, path: Path, session: Session) -> None:
        self._path = path
        self._session = session
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sign, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _sign(self) -> None:
        while not self._over.wait(SIGN_SECONDS):
            # A heartbeat may be missed; on this machine the PID is looked at too.
            with suppress(StoreError), Store(self._path, patience=5.0, check=False) as store:
                store.sign(self._session)
