"""The run of an experiment: claims free trials, has them done, keeps what comes back."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from clipgnn.errors import InvalidParameterError, StoreError, StoreLockedError, counted
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
        diverged: those whose training diverged; they are settled, and not attempted again.
        unsaved: finished trials whose results are not written yet, because the store is locked.
        notice: the last thing that the user should know about the run, such as what it waits for.
    """

    total: int
    finished: int
    failed: int
    reused: int
    last_failure: str | None = None
    diverged: int = 0
    unsaved: int = 0
    notice: str | None = None

    @property
    def over(self) -> bool:
        """Is every trial finished, failed or diverged?"""
        return self.finished + self.failed + self.diverged == self.total


def run_experiment(
    spec: Spec,
    store: Store,
    executor: Executor,
    *,
    together: bool = False,
    retry_failed: bool = False,
    command: str = "",
    tell: Callable[[Progress], None] = lambda progress: None,
    pause: float = 1.0,
    take_over: bool = False,
) -> Progress:
    """Run every trial of an experiment that has no result yet.

    Results are in the store as soon as they arrive. While the store is locked they are kept in
    memory, and nothing new is begun. Trials of a group (see `jobs`) are trained together whatever
    is finished already, and folds that come with them are kept, too. A job that fails is attempted
    once more; if it fails again, that is written down and the next run attempts it again. A trial
    that diverges is settled, and not attempted again unless that is asked for. Trials that another
    process is at work on are waited for, and taken over if that process dies.

    Args:
        spec: the experiment, with the fingerprint of every data set in its `data`.
        store: where results are and go.
        executor: where jobs run; it is closed at the end.
        together: whether to train all folds of a configuration and seed in one job.
        retry_failed: whether to attempt trials again that diverged in an earlier run; those that
            failed otherwise are always attempted again.
        command: how the run was asked for, to be written down.
        tell: called with the progress at the beginning and whenever it changes.
        pause: seconds between two looks at what other processes do.
        take_over: whether to begin at once with trials that sessions on other machines have
            claimed, instead of waiting until they have been without a heartbeat for a while.

    Returns:
        How far it came: `finished` is `total`, or there are failed or diverged trials.

    Raises:
        InvalidParameterError: if the fingerprint of a data set is missing.
        StoreError: if results can no longer be written; those that were are safe.
    """
    try:
        trials = spec.trials()
        _check_data(trials)
        changes = _changes(spec, store)
        jobs = jobs_of(trials, together=together)
        planned = [trial for job in jobs for trial in job.trials]
        session = store.begin(spec.name, spec.content(), command, planned)
        try:
            with _Signing(store.path, session):
                run = _Run(trials, jobs, store, session, executor, retry_failed, tell)
                try:
                    for change in changes:
                        run.notify(change)
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


def _check_data(trials: list[Trial]) -> None:
    unknown = dict.fromkeys(trial.dataset for trial in trials if not trial.data)
    if unknown:
        raise InvalidParameterError(
            "The data of a spec must have the fingerprint of each data set before it is run. Got "
            f"none for {', '.join(unknown)}; compute them with `clipgnn.experiments.fingerprints`."
        )


def _changes(spec: Spec, store: Store) -> list[str]:
    """What to tell the user about data that are not those of the last run any more."""
    before: dict[str, str] = {}
    for plan in store.plans():
        if plan.name == spec.name:
            before.update(plan.data)
    changes = []
    for dataset, new in spec.data.items():
        old = before.get(dataset, new)
        if old != new:
            count = store.count_finished(dataset, old)
            changes.append(
                f"{dataset} has changed since the last run ({old} → {new}); "
                f"{counted(count, 'result')} on the old data {'is' if count == 1 else 'are'} kept "
                "and not used."
            )
    return changes


class _Run:
    def __init__(
        self,
        trials: list[Trial],
        jobs: list[Job],
        store: Store,
        session: Session,
        executor: Executor,
        retry_failed: bool,
        tell: Callable[[Progress], None],
    ) -> None:
        self.asked = {trial.identity for trial in trials}
        self.jobs = jobs
        self.store = store
        self.session = session
        self.executor = executor
        self.tell = tell
        self.failures: Counter[str] = Counter()
        self.last_failure: str | None = None
        self.notice: str | None = None
        self.announced: set[str] = set()
        self.recorder = Recorder(store, session, self.notify)
        # How often trials were attempted that are to be attempted again although they diverged.
        earlier = store.diverged() if retry_failed else {}
        self.earlier = {trial: failure.attempts for trial, failure in earlier.items()}
        self.finished, self.diverged = self._settled()
        self.reused = len(self.finished)

    def until_done(self, pause: float) -> Progress:
        self.tell(self.progress())
        while (open_jobs := self._open()) or self.recorder.is_locked():
            if self.recorder.is_locked():
                self.recorder.wait()
                self.recorder.write()
                continue
            came = False
            for outcome in self.executor.run(self._claim(open_jobs)):
                came = True
                self._keep(outcome)
                self.tell(self.progress())
            if self.recorder.is_locked():
                continue
            with self._noting_locks():
                before = self.progress()
                self.finished, self.diverged = self._settled()
                if self.progress() != before:
                    self.tell(self.progress())
                if not came and (left := self._open()):
                    self._announce(left)
                    time.sleep(pause)  # the rest is with other processes
        return self.progress()

    def take_over(self) -> None:
        for claimant in self.store.take_over():
            self.notify(f"Took over {_claims(claimant)}.")

    def save_the_rest(self) -> None:
        """Attempt once more to write what could not be written, and say what is left."""
        with suppress(StoreError):
            self.recorder.write(at_once=True)
        if unsaved := len(self.recorder.unsaved):
            self.notify(
                f"{counted(unsaved, 'finished result')} could not be written to "
                f"{self.store.path}. The next run trains {'it' if unsaved == 1 else 'them'} again."
            )

    def progress(self) -> Progress:
        failed = (self.failures.keys() & self.asked) - self.finished - self.diverged
        return Progress(
            total=len(self.asked),
            finished=len(self.finished),
            failed=len(failed),
            reused=self.reused,
            last_failure=self.last_failure,
            diverged=len(self.diverged),
            unsaved=len(self.recorder.unsaved),
            notice=self.notice,
        )

    def notify(self, notice: str) -> None:
        self.notice = notice
        self.tell(self.progress())

    def _announce(self, jobs: list[Job]) -> None:
        """Say once for each session that it is waited for, and how long."""
        wanted = {trial.identity for job in jobs for trial in job.trials}
        for claimant in self.store.claimants():
            if claimant.session.identity not in self.announced and wanted & claimant.trials:
                self.announced.add(claimant.session.identity)
                self.notify(f"Waiting for {_claims(claimant)}. {_prospect(claimant)}")

    @contextmanager
    def _noting_locks(self) -> Iterator[None]:
        """A lock that was met inside is waited for in the next round."""
        try:
            yield
        except StoreLockedError:
            self.recorder.note_lock()

    def _open(self) -> list[Job]:
        """Jobs with a trial that is asked for and not settled; those that failed come last."""
        left = self.asked - self.finished - self.diverged
        jobs = [
            job
            for job in self.jobs
            if self._failures(job) < ATTEMPTS
            and any(trial.identity in left for trial in job.trials)
        ]
        return sorted(jobs, key=self._failures)

    def _failures(self, job: Job) -> int:
        return max(self.failures[trial.identity] for trial in job.trials)

    def _claim(self, jobs: list[Job]) -> Iterator[Job]:
        """Jobs that are ours now, each claimed when the executor asks for it."""
        with self._noting_locks():  # the jobs end there, and what is under way goes on
            busy = self.store.claimed().keys()
            for job in jobs:
                if any(trial.identity in busy for trial in job.trials):
                    continue
                if self.store.claim(self.session, job.trials, diverged=self.earlier):
                    yield job

    def _keep(self, outcome: Outcome) -> None:
        self.recorder.keep(outcome)
        if outcome.results is not None:
            for result in outcome.results:
                if result.trial in self.asked and result.trial not in self.finished:
                    (self.finished if result.diverged is None else self.diverged).add(result.trial)
            return
        trials = outcome.job.trials
        self.failures.update(trial.identity for trial in trials)
        more = f" and {len(trials) - 1} more" if len(trials) > 1 else ""
        self.last_failure = f"{trials[0]}{more}: {outcome.error}"

    def _settled(self) -> tuple[set[str], set[str]]:
        """Which trials are finished and which diverged, in this run or another one."""
        stored = {
            trial
            for trial, failure in self.store.diverged().items()
            if failure.attempts > self.earlier.get(trial, 0)
        }
        diverged = (stored | self.recorder.unsaved_diverged) & self.asked
        finished = (self.store.finished() | self.recorder.unsaved) & self.asked
        return finished - diverged, diverged


def _claims(claimant: Claimant) -> str:
    session = claimant.session
    heard = f"last heartbeat {claimant.silence:.0f} s ago"
    if claimant.ahead >= 1:  # when its last heartbeat was cannot be told
        heard = f"its clock is at least {int(claimant.ahead)} s ahead of this machine's"
    return (
        f"{counted(len(claimant.trials), 'trial')} that {session} has claimed "
        f"(session {session.identity[:8]}, {heard})"
    )


def _prospect(claimant: Claimant) -> str:
    if claimant.here:
        return "Its claims are taken over when it ends."
    return (
        f"Without a heartbeat its claims are taken over in {claimant.expires_in:.0f} s; "
        "--take-over does not wait."
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
