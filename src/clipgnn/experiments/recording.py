"""Outcomes on their way into a store: kept in memory as long as the store is locked."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from clipgnn.errors import StoreLockedError
from clipgnn.experiments.jobs import Outcome
from clipgnn.experiments.lock_holders import lock_holders
from clipgnn.experiments.sessions import Session
from clipgnn.experiments.store import Store

FIRST_PAUSE = 1.0
"""Seconds between the first two attempts to write to a locked store; they double each time."""

LONGEST_PAUSE = 30.0
"""Seconds between two attempts at most."""

RETRY_PATIENCE = 1.0
"""Seconds that an attempt waits for the lock; workers whose jobs end meanwhile wait too."""


class Recorder:
    """Writes outcomes to a store, and keeps those that cannot be written yet.

    Args:
        store: the store.
        session: the session of this process.
        tell: called with a line for the user when the store turns out to be locked, and when it
            is free again.
    """

    def __init__(self, store: Store, session: Session, tell: Callable[[str], None]) -> None:
        self._store = store
        self._session = session
        self._tell = tell
        self._unsaved: list[Outcome] = []
        self._patience = store.patience
        self._locked_since: datetime | None = None
        self._pause = FIRST_PAUSE
        self._next = 0.0

    @property
    def unsaved(self) -> set[str]:
        """Identities of the trials whose results are not written yet."""
        return {result.trial for outcome in self._unsaved for result in outcome.results or ()}

    @property
    def unsaved_diverged(self) -> set[str]:
        """Those of them that diverged."""
        return {
            result.trial
            for outcome in self._unsaved
            for result in outcome.results or ()
            if result.diverged is not None
        }

    def is_locked(self) -> bool:
        """Whether the store was locked at the last attempt."""
        return self._locked_since is not None

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome, now or when the store is free.

        Raises:
            StoreError: if it cannot be written for another reason than a lock.
        """
        self._unsaved.append(outcome)
        self.write()

    def write(self, *, at_once: bool = False) -> None:
        """Write what is not written yet, unless the pause after the last attempt is not over.

        Args:
            at_once: whether to attempt it in any case.

        Raises:
            StoreError: if it cannot be written for another reason than a lock.
        """
        if not at_once and time.monotonic() < self._next:
            return
        try:
            if self.is_locked():
                self._store.sign(self._session)  # also if there is nothing else to write
            while self._unsaved:
                self._write(self._unsaved[0])
                del self._unsaved[0]
        except StoreLockedError:
            self.note_lock()
            return
        if self.is_locked():
            self._locked_since, self._pause, self._next = None, FIRST_PAUSE, 0.0
            self._store.patience = self._patience
            self._tell(f"{self._store.path} is free again; all finished results are written.")

    def wait(self) -> None:
        """Sleep until the next attempt is due."""
        time.sleep(max(0.0, self._next - time.monotonic()))

    def note_lock(self) -> None:
        """Note that the store is locked; the next attempt to write comes after a pause."""
        self._next = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        if self._locked_since is None:
            self._locked_since = datetime.now() - timedelta(seconds=self._patience)
            self._store.patience = min(self._patience, RETRY_PATIENCE)
            holders = ", ".join(lock_holders(self._store.path)) or "a process that is not known"
            self._tell(
                f"{self._store.path} has been locked since {self._locked_since:%H:%M:%S} by "
                f"{holders}. Finished results are kept in memory and written when it is free."
            )

    def _write(self, outcome: Outcome) -> None:
        if outcome.results is not None:
            self._store.record(self._session, outcome.results)
        else:
            self._store.record_failure(
                self._session, outcome.job.trials, outcome.error, outcome.traceback
            )
