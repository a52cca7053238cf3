"""Thread that writes the heartbeats of a session while a run works."""

import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from clipgnn.errors import StoreError
from clipgnn.experiments.sessions import HEARTBEAT_SECONDS, Session
from clipgnn.experiments.store import Store


class HeartbeatThread:
    """Context manager that writes heartbeats of a session, with a connection of its own.

    Args:
        path: file of the store.
        session: session of this process.
    """

    def __init__(self, path: Path, session: Session) -> None:
        self._path = path
        self._session = session
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write_heartbeats, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _write_heartbeats(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            # A heartbeat may be missed: on this machine the PID is checked too, and other
            # machines wait for several missed heartbeats.
            with suppress(StoreError), Store(self._path, patience=5.0, check=False) as store:
                store.record_heartbeat(self._session)
