"""The run of an experiment: claim free trials, run them with an executor, record the results."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from clipgnn.errors import InvalidParameterError, StoreError, StoreLockedError, counted
from clipgnn.experiments.executors import Executor
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.heartbeat import HeartbeatThread
from clipgnn.experiments.jobs import Job, Outcome, jobs_of
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.recording import Recorder
from clipgnn.experiments.sessions import Claimant, Session
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial

logger = logging.getLogger(__name__)

ATTEMPTS = 2
"""Number of times that a run attempts a trial that fails."""


@dataclass(frozen=True)
class RunProgress:
    """Progress of a run, as numbers of trials.

    Attributes:
        total: trials of the experiment.
        finished: trials with a result, from any run or process.
        failed: trials that failed in this run and have no result.
        reused: trials that had a result before this run.
        last_failure: the last failure of this run, or None.
        diverged: trials whose training diverged; they are not attempted again.
        unsaved: finished trials whose results are not written yet, because the store is locked.
    """

    total: int
    finished: int
    failed: int
    reused: int
    last_failure: str | None = None
    diverged: int = 0
    unsaved: int = 0

    @property
    def ended(self) -> bool:
        """Whether every trial is finished, failed or diverged."""
        return self.finished + self.failed + self.diverged == self.total


def run_experiment(
    experiment: Experiment,
    store: Store,
    executor: Executor,
    options: RunOptions | None = None,
    *,
    command: str = "",
    on_progress: Callable[[RunProgress], None] = lambda progress: None,
    pause: float = 1.0,
) -> RunProgress:
    """Run every trial of an experiment that has no result yet.

    Results are written to the store as they arrive. While the store is locked they are kept in
    memory, and no new job starts. A group of trials (see `jobs`) is always trained as a whole, even
    if some of its trials are finished or not part of the experiment. A job that fails is attempted
    once more; if it fails again, the failure is recorded and the next run attempts it again. A
    trial that diverges is recorded and not attempted again unless `options.retry_failed` is set.
    The run waits for trials that other processes have claimed, and runs those whose process ended.

    Args:
        experiment: the experiment, made ready by `prepare_experiment`.
        store: store of the results.
        executor: executor made from these options by `make_executor`; it is closed at the end.
        options: options of the run; on a GPU, all folds of a configuration and seed are one job.
        command: command line of the run, recorded in the store.
        on_progress: called with the progress at the beginning and whenever it changes.
        pause: seconds between two checks of what other processes have finished.

    Returns:
        The progress at the end: every trial is finished, failed or diverged.

    Raises:
        InvalidParameterError: if the fingerprint of a data set is missing.
        StoreError: if results can no longer be written; recorded results are safe.
    """
    options = options or RunOptions()
    try:
        trials = experiment.trials()
        _check_data(experiment)
        changes = _changes(experiment, store)
        jobs = jobs_of(trials, together=options.on_gpu)
        planned = [trial for job in jobs for trial in job.trials]
        session = store.begin(experiment.name, experiment.content(), command, planned)
        try:
            with HeartbeatThread(store.path, session):
                run = _Run(experiment, trials, jobs, store, session, executor, options, on_progress)
                try:
                    for change in changes:
                        logger.warning(change)
                    if options.take_over:
                        run.take_over()
                    return run.run_all(pause)
                except BaseException:
                    run.write_unsaved()
                    raise
        finally:
            # If this cannot be written either, the claims expire with the process.
            with suppress(StoreError):
                store.end(session)
    finally:
        executor.close()


def _check_data(experiment: Experiment) -> None:
    unknown = [name for name in experiment.data_names if not experiment.data.get(name)]
    if unknown:
        raise InvalidParameterError(
            "The `data` of an experiment must have the fingerprint of each data set and of each "
            f"network of your own. Got none for {', '.join(unknown)}. Compute them with "
            "`clipgnn.experiments.prepare_experiment`."
        )


def _changes(experiment: Experiment, store: Store) -> list[str]:
    """Describe data sets and networks of users that have changed since the last run."""
    before: dict[str, str] = {}
    for plan in store.plans():
        if plan.name == experiment.name:
            before.update(plan.data)
    changes = []
    for name, new in experiment.data.items():
        old = before.get(name, new)
        if old != new:
            count = store.count_finished(name, old)
            kind = "of the old source" if name in experiment.own_models else "on the old data"
            changes.append(
                f"{name} has changed since the last run ({old} → {new}); "
                f"{counted(count, 'result')} {kind} {'is' if count == 1 else 'are'} kept and not "
                "used."
            )
    return changes


class _Run:
    """State of a run: which trials are finished, diverged or failed."""

    def __init__(
        self,
        experiment: Experiment,
        trials: list[Trial],
        jobs: list[Job],
        store: Store,
        session: Session,
        executor: Executor,
        options: RunOptions,
        on_progress: Callable[[RunProgress], None],
    ) -> None:
        self.experiment = experiment
        self.trials = trials
        self.requested = {trial.identity for trial in trials}
        self.jobs = jobs
        self.store = store
        self.session = session
        self.executor = executor
        self.on_progress = on_progress
        self.failures: Counter[str] = Counter()
        self.last_failure: str | None = None
        self.diverged_here: set[str] = set()
        self.logged_sessions: set[str] = set()
        self.recorder = Recorder(store, session)
        # Attempts of diverged trials before this run, which attempts them again.
        diverged = store.diverged() if options.retry_failed else {}
        self.earlier_attempts = {trial: own.attempts for trial, own in diverged.items()}
        self.finished, self.diverged = self._settled()
        self.reused = len(self.finished)

    def run_all(self, pause: float) -> RunProgress:
        self.on_progress(self.progress())
        while (jobs := self._unsettled_jobs()) or self.recorder.is_locked():
            if self.recorder.is_locked():
                self.recorder.wait()
                self.recorder.write()
                continue
            any_outcome = False
            for outcome in self.executor.run(self._claim(jobs)):
                any_outcome = True
                self._keep(outcome)
                self.on_progress(self.progress())
            if self.recorder.is_locked():
                continue
            with self._noting_locks():
                before = self.progress()
                self.finished, self.diverged = self._settled()
                if self.progress() != before:
                    self.on_progress(self.progress())
                if not any_outcome and (left := self._unsettled_jobs()):
                    self._log_waiting(left)
                    time.sleep(pause)  # other processes have claimed the rest
        return self.progress()

    def take_over(self) -> None:
        for claimant in self.store.take_over():
            logger.info("Took over %s.", _claims(claimant))

    def write_unsaved(self) -> None:
        """Attempt once more to write unsaved results, and log the number of lost ones."""
        with suppress(StoreError):
            self.recorder.write(ignore_pause=True)
        if unsaved := len(self.recorder.unsaved):
            logger.warning(
                "%s could not be written to %s. The next run trains %s again.",
                counted(unsaved, "finished result"),
                self.store.path,
                "it" if unsaved == 1 else "them",
            )

    def progress(self) -> RunProgress:
        failed = (self.failures.keys() & self.requested) - self.finished - self.diverged
        return RunProgress(
            total=len(self.requested),
            finished=len(self.finished),
            failed=len(failed),
            reused=self.reused,
            last_failure=self.last_failure,
            diverged=len(self.diverged),
            unsaved=len(self.recorder.unsaved),
        )

    def _log_waiting(self, jobs: list[Job]) -> None:
        """Log, once for each session, that the run waits for its claims, and how long."""
        wanted = {trial.identity for job in jobs for trial in job.trials}
        for claimant in self.store.claimants():
            if claimant.session.identity not in self.logged_sessions and wanted & claimant.trials:
                self.logged_sessions.add(claimant.session.identity)
                logger.info(
                    "Waiting for %s. %s",
                    _claims(claimant),
                    _expiry(claimant),
                    extra={"parameter": "take_over"},
                )

    @contextmanager
    def _noting_locks(self) -> Iterator[None]:
        """Note a lock that is met inside; the next iteration waits for it."""
        try:
            yield
        except StoreLockedError:
            self.recorder.note_lock()

    def _unsettled_jobs(self) -> list[Job]:
        """Return jobs with requested trials that are not settled, failed jobs last."""
        left = self.requested - self.finished - self.diverged
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
        """Yield jobs, each claimed when the executor takes it."""
        with self._noting_locks():  # a lock ends the jobs; running ones continue
            busy = self.store.claimed().keys()
            for job in jobs:
                if any(trial.identity in busy for trial in job.trials):
                    continue
                if self.store.claim(self.session, job.trials, diverged=self.earlier_attempts):
                    yield job

    def _keep(self, outcome: Outcome) -> None:
        self.recorder.keep(outcome)
        if outcome.results is not None:
            for result in outcome.results:
                if result.curves.diverged is not None:
                    self.diverged_here.add(result.trial)
                if result.trial in self.requested and result.trial not in self.finished:
                    diverged = result.trial in self.diverged_here
                    (self.diverged if diverged else self.finished).add(result.trial)
            return
        trials = outcome.job.trials
        self.failures.update(trial.identity for trial in trials)
        more = f" and {len(trials) - 1} more" if len(trials) > 1 else ""
        row = self.experiment.row_of(trials[0])
        name = f"{row}: " * (row not in ("", trials[0].model))
        self.last_failure = f"{name}{trials[0]}{more}: {outcome.error}"

    def _settled(self) -> tuple[set[str], set[str]]:
        """Return which trials are finished and which diverged, in this run or another one."""
        stored = {
            trial
            for trial, failure in self.store.diverged().items()
            if failure.attempts > self.earlier_attempts.get(trial, 0)
        }
        finished = self.store.finished_among(self.trials)
        diverged = ((stored | self.diverged_here) & self.requested) - finished
        return (finished | (self.recorder.unsaved & self.requested)) - diverged, diverged


def _claims(claimant: Claimant) -> str:
    session = claimant.session
    heartbeat = f"last heartbeat {claimant.silence:.0f} s ago"
    if claimant.ahead >= 1:  # the time of its last heartbeat is unknown
        heartbeat = f"its clock is at least {int(claimant.ahead)} s ahead of this machine's"
    return (
        f"{counted(len(claimant.trials), 'trial')} that {session} has claimed "
        f"(session {session.identity[:8]}, {heartbeat})"
    )


def _expiry(claimant: Claimant) -> str:
    if claimant.here:
        return "Its claims are taken over when it ends."
    return (
        f"Without a heartbeat its claims are taken over in {claimant.expires_in:.0f} s; "
        "take_over skips this wait."
    )
