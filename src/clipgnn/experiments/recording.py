"""Writing outcomes to a store; they are kept in memory while the store is locked."""

import logging
import time
from datetime import datetime, timedelta

from clipgnn.errors import StoreLockedError
from clipgnn.experiments.jobs import Outcome
from clipgnn.experiments.lock_holders import lock_holders
from clipgnn.experiments.sessions import Session
from clipgnn.experiments.store import Store

logger = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
"""Seconds between the first two attempts to write to a locked store; doubled each time."""

LONGEST_PAUSE = 30.0
"""Maximum number of seconds between two attempts."""

RETRY_PATIENCE = 1.0
"""Seconds that an attempt waits for the lock; workers with finished jobs are idle meanwhile."""


class Recorder:
    """Writer of outcomes that keeps those which cannot be written yet.

    Args:
        store: the store.
        session: the session of this process.
    """

    def __init__(self, store: Store, session: Session) -> None:
        self._store = store
        self._session = session
        self._unsaved: list[Outcome] = []
        self._patience = store.patience
        self._locked_since: datetime | None = None
        self._pause = FIRST_PAUSE
        self._next_attempt = 0.0

    @property
    def unsaved(self) -> set[str]:
        """Identities of the trials whose results are not written yet."""
        return {result.trial for outcome in self._unsaved for result in outcome.results or ()}

    def is_locked(self) -> bool:
        """Whether the store was locked at the last attempt."""
        return self._locked_since is not None

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome, now or when the lock is released.

        Raises:
            StoreError: if it cannot be written for another reason than a lock.
        """
        self._unsaved.append(outcome)
        self.write()

    def write(self, *, ignore_pause: bool = False) -> None:
        """Write unsaved outcomes, unless the pause after the last attempt has not ended.

        Args:
            ignore_pause: whether to attempt it in any case.

        Raises:
            StoreError: if it cannot be written for another reason than a lock.
        """
        if not ignore_pause and time.monotonic() < self._next_attempt:
            return
        try:
            if self.is_locked():
                self._store.record_heartbeat(self._session)  # tests the lock if nothing is unsaved
            while self._unsaved:
                self._write(self._unsaved[0])
                del self._unsaved[0]
        except StoreLockedError:
            self.note_lock()
            return
        if self.is_locked():
            self._locked_since, self._pause, self._next_attempt = None, FIRST_PAUSE, 0.0
            self._store.patience = self._patience
            logger.info(
                "%s is no longer locked; all finished results are written.", self._store.path
            )

    def wait(self) -> None:
        """Sleep until the next attempt."""
        time.sleep(max(0.0, self._next_attempt - time.monotonic()))

    def note_lock(self) -> None:
        """Note that the store is locked; the next attempt to write comes after a pause."""
        self._next_attempt = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        if self._locked_since is None:
            self._locked_since = datetime.now() - timedelta(seconds=self._patience)
            self._store.patience = min(self._patience, RETRY_PATIENCE)
            holders = ", ".join(lock_holders(self._store.path)) or "an unknown process"
            logger.warning(
                "%s has been locked since %s by %s. Finished results are kept in memory and "
                "written when the lock is released.",
                self._store.path,
                f"{self._locked_since:%H:%M:%S}",
                holders,
            )

    def _write(self, outcome: Outcome) -> None:
        if outcome.results is not None:
            self._store.record(self._session, outcome.results)
        else:
            self._store.record_failure(
                self._session, outcome.job.trials, outcome.error, outcome.traceback
            )
