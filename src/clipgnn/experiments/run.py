"""The run of an experiment: claims free trials, has them done, keeps what comes back."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from clipgnn.errors import InvalidParameterError, StoreError
from clipgnn.experiments.executors import Executor
from clipgnn.experiments.jobs import Job, Outcome, jobs_of
from clipgnn.experiments.sessions import SIGN_SECONDS, Session
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
    """

    total: int
    finished: int
    failed: int
    reused: int
    last_failure: str | None = None
    diverged: int = 0

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
) -> Progress:
    """Run every trial of an experiment that has no result yet.

    Results are in the store as soon as they arrive. Trials of a group (see `jobs`) are trained
    together whatever is finished already, and folds that come with them are kept, too. A job that
    fails is attempted once more; if it fails again, that is written down and the next run attempts
    it again. A trial that diverges is settled, and not attempted again unless that is asked for.
    Trials that another process is at work on are waited for, and taken over if that process dies.

    Args:
        spec: the experiment, with the fingerprint of every data set in its `data`.
        store: where results are and go.
        executor: who does the work; it is closed at the end.
        together: whether to train all folds of a configuration and seed in one job.
        retry_failed: whether to attempt trials again that diverged in an earlier run; those that
            failed otherwise are always attempted again.
        command: how the run was asked for, to be written down.
        tell: called with the progress at the beginning and whenever it changes.
        pause: seconds between two looks at what other processes do.

    Returns:
        How far it came: `finished` is `total`, or there are failed or diverged trials.

    Raises:
        InvalidParameterError: if the fingerprint of a data set is missing.
        StoreError: if results can no longer be written; those that were are safe.
    """
    try:
        trials = spec.trials()
        _check_data(trials)
        jobs = jobs_of(trials, together=together)
        planned = [trial for job in jobs for trial in job.trials]
        session = store.begin(spec.name, spec.content(), command, planned)
        try:
            with _Signing(store.path, session):
                running = _Run(trials, jobs, store, session, executor, retry_failed, tell)
                return running.until_done(pause)
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
        # How often trials were attempted that are to be attempted again although they diverged.
        earlier = store.diverged() if retry_failed else {}
        self.earlier = {trial: failure.attempts for trial, failure in earlier.items()}
        self.finished, self.diverged = self._settled()
        self.reused = len(self.finished)

    def until_done(self, pause: float) -> Progress:
        self.tell(self.progress())
        while open_jobs := self._open():
            came = False
            for outcome in self.executor.run(self._claim(open_jobs)):
                came = True
                self._keep(outcome)
                self.tell(self.progress())
            before = self.progress()
            self.finished, self.diverged = self._settled()
            if self.progress() != before:
                self.tell(self.progress())
            if not came and self._open():
                time.sleep(pause)  # the rest is with other processes
        return self.progress()

    def progress(self) -> Progress:
        failed = (self.failures.keys() & self.asked) - self.finished - self.diverged
        return Progress(
            total=len(self.asked),
            finished=len(self.finished),
            failed=len(failed),
            reused=self.reused,
            last_failure=self.last_failure,
            diverged=len(self.diverged),
        )

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
        busy = self.store.claimed().keys()
        for job in jobs:
            if any(trial.identity in busy for trial in job.trials):
                continue
            if self.store.claim(self.session, job.trials, diverged=self.earlier):
                yield job

    def _keep(self, outcome: Outcome) -> None:
        if outcome.results is not None:
            self.store.record(self.session, outcome.results)
            for result in outcome.results:
                if result.trial in self.asked and result.trial not in self.finished:
                    (self.finished if result.diverged is None else self.diverged).add(result.trial)
            return
        trials = outcome.job.trials
        self.store.record_failure(self.session, trials, outcome.error, outcome.traceback)
        self.failures.update(trial.identity for trial in trials)
        more = f" and {len(trials) - 1} more" if len(trials) > 1 else ""
        self.last_failure = f"{trials[0]}{more}: {outcome.error}"

    def _settled(self) -> tuple[set[str], set[str]]:
        """Which trials are finished and which diverged, in this run or another one."""
        diverged = {
            trial
            for trial, failure in self.store.diverged().items()
            if failure.attempts > self.earlier.get(trial, 0)
        }
        return self.store.finished() & self.asked, diverged & self.asked


class _Signing:
    """A thread that signs a session, with a connection of its own."""

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
            # On this machine the process number speaks too; a signature may be missed.
            with suppress(StoreError), Store(self._path, patience=5.0, check=False) as store:
                store.sign(self._session)
