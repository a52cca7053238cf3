"""The SQLite file of a store: opening, schema, transactions, error messages.

The file uses SQLite's rollback journal, not a write-ahead log: between transactions the store is
one file that can be copied, it needs no shared memory, and a killed process leaves at most a
journal that the next process rolls back. Writes are rare and small, so that a write-ahead log would
not make them faster.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from clipgnn.errors import StoreError, StoreLockedError
from clipgnn.experiments.lock_holders import lock_holders

APPLICATION = 0x434C4950
"""SQLite application ID of stores: "CLIP" in ASCII."""

SCHEMA_VERSION = 5

BUSY_SECONDS = 0.1
"""Seconds that SQLite itself waits for a lock; Python handles Ctrl-C between two waits."""

_SCHEMA = """
CREATE TABLE plans (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    content TEXT NOT NULL,            -- JSON in the structure of the TOML file
    data TEXT NOT NULL,               -- JSON: fingerprint of each data set by name
    command TEXT NOT NULL,
    begun TEXT NOT NULL,
    checksum BLOB NOT NULL            -- of the other columns; see checksums.py
);
CREATE TABLE sessions (
    identity TEXT PRIMARY KEY,
    machine TEXT NOT NULL,
    process INTEGER NOT NULL,
    started TEXT NOT NULL,            -- of the process, in ticks since boot
    heartbeat REAL NOT NULL,          -- seconds since 1970
    command TEXT NOT NULL,
    begun TEXT NOT NULL,
    ended TEXT
);
CREATE TABLE trials (
    identity TEXT PRIMARY KEY,
    content TEXT NOT NULL,            -- canonical JSON, of which the identity is a hash
    checksum BLOB NOT NULL
);
CREATE TABLE claims (
    trial TEXT PRIMARY KEY REFERENCES trials,
    session TEXT NOT NULL REFERENCES sessions,
    at TEXT NOT NULL
);
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY,
    trial TEXT NOT NULL REFERENCES trials,
    session TEXT NOT NULL REFERENCES sessions,
    outcome TEXT NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'diverged', 'lost')),
    at TEXT NOT NULL,
    error TEXT,
    traceback TEXT,
    checksum BLOB NOT NULL
);
CREATE INDEX attempts_of_trial ON attempts (trial);
CREATE TABLE environments (
    number INTEGER PRIMARY KEY,
    content TEXT NOT NULL UNIQUE,     -- JSON: device, versions, machine
    checksum BLOB NOT NULL
);
CREATE TABLE results (
    trial TEXT PRIMARY KEY REFERENCES trials,
    train_loss BLOB NOT NULL,         -- curves: compressed float32, see compact.py
    test_score BLOB NOT NULL,
    validation_score BLOB NOT NULL,
    fresh_score BLOB NOT NULL,
    seconds REAL NOT NULL,
    epoch_seconds REAL NOT NULL,
    compile_seconds REAL NOT NULL,
    environment INTEGER NOT NULL REFERENCES environments,
    finished TEXT NOT NULL,
    checksum BLOB NOT NULL
);
"""

_STATEMENTS = [text.strip() for text in _SCHEMA.split(";\n") if text.strip()]


class Database:
    """Connection to the file of a store, with transactions.

    Args:
        path: the file.
        create: whether to create it if it does not exist.
        patience: seconds to wait for another process's transaction.
        check: whether to check that the file is an undamaged store.

    Raises:
        StoreLockedError: if another process keeps the file locked.
        StoreError: if the file does not exist, is damaged, or is not a store.
    """

    def __init__(
        self, path: Path, *, create: bool = False, patience: float = 30.0, check: bool = True
    ) -> None:
        self.path = path
        self.patience = patience
        if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
            raise StoreError(f"A store must be a regular file. Got {path}. Use another file.")
        if not create and not path.exists():
            raise StoreError(f"There is no store {path}.")
        if create:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"The folder of {path} cannot be created: {error.strerror}. Use a file in "
                    "another folder."
                ) from error
        mode = "rwc" if create else "rw"
        with self.errors():
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=min(patience, BUSY_SECONDS),
                isolation_level=None,  # `transaction` starts and ends transactions
            )
        # Damaged text must reach the checksums, which report the row.
        self._connection.text_factory = lambda content: content.decode("utf-8", "replace")
        try:
            self._prepare(create)
            if check:
                self.check_schema()
                self.check_integrity()
        except BaseException:
            self._connection.close()
            raise

    def read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self.errors():
            return self._execute(query, values).fetchall()

    def write(self, query: str, *values: object) -> None:
        """Execute one statement of the open transaction."""
        with self.errors():
            self._execute(query, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run reads and writes inside as one atomic transaction."""
        with self.errors():
            self._execute("BEGIN IMMEDIATE")
        try:
            yield
            with self.errors():
                self._execute("COMMIT")
        finally:
            # An open transaction has failed. SQLite itself ends it when the disk is full.
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of SQLite to `StoreError` with a fix."""
        try:
            yield
        except sqlite3.Error as error:
            kind = StoreLockedError if _is_locked(error) else StoreError
            raise kind(self._explain(error)) from error
        except UnicodeDecodeError as error:  # SQLite's message quotes the damaged part
            raise StoreError(self._damaged("its schema is not text")) from error

    def check_schema(self) -> None:
        """Check that the file is a store of this version.

        Raises:
            StoreError: if it is not.
        """
        [(application,)] = self.read("PRAGMA application_id")
        statements = [sql for (sql,) in self.read("SELECT sql FROM sqlite_schema") if sql]
        if not application and not statements:
            raise StoreError(f"{self.path} is empty. Run an experiment into it first.")
        if application != APPLICATION:
            raise StoreError(
                f"{self.path} is a database of another program, not a store of clipgnn. "
                "It is unchanged. Use another file."
            )
        [(version,)] = self.read("PRAGMA user_version")
        if version == 1:
            raise StoreError(
                f"{self.path} has schema version 1, and this clipgnn needs version "
                f"{SCHEMA_VERSION}. Its trials have no fingerprints of their data, and "
                "normalization has changed since, so that its results cannot be compared with new "
                f"ones. It is unchanged. Read it with {self._source()}, or use a new file."
            )
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} has schema version {version}, and this clipgnn knows version "
                f"{SCHEMA_VERSION}. It is unchanged. Use the clipgnn that wrote it, or another "
                "file."
            )
        if sorted(statements) != sorted(_STATEMENTS):
            raise StoreError(self._damaged("its tables are not those of its version"))

    def check_integrity(self) -> None:
        """Check that the structure of the file is undamaged.

        This is SQLite's full check. The quick check does not compare indexes with their tables, and
        finished trials are read from an index.

        Raises:
            StoreError: if it is damaged.
        """
        checked = self.read("PRAGMA integrity_check(1)")
        if checked != [("ok",)]:
            raise StoreError(self._damaged(str(checked[0][0])))

    def _source(self) -> str:
        """Return which source wrote the results, if the store has it."""
        rows = self.read(
            "SELECT DISTINCT json_extract(content, '$.versions.clipgnn-source') "
            "FROM environments WHERE json_valid(content)"
        )
        sources = sorted(str(source) for (source,) in rows if source)
        return (
            f"the clipgnn of source {', '.join(sources)}"
            if sources
            else "the clipgnn that wrote it"
        )

    def _execute(self, query: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Execute a statement; wait while another process keeps the file locked."""
        end = time.monotonic() + self.patience
        while True:
            try:
                return self._connection.execute(query, values)
            except sqlite3.OperationalError as error:
                if not _is_locked(error) or time.monotonic() >= end:
                    raise

    def _prepare(self, create: bool) -> None:
        with self.errors():
            self._execute("PRAGMA synchronous = FULL")
            self._execute("PRAGMA foreign_keys = ON")
        if create and not self.read("SELECT name FROM sqlite_schema"):
            with self.transaction():  # another process may have created the tables meanwhile
                if not self.read("SELECT name FROM sqlite_schema"):
                    for statement in _STATEMENTS:
                        self.write(statement)
                    self.write(f"PRAGMA application_id = {APPLICATION}")
                    self.write(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _explain(self, error: sqlite3.Error) -> str:
        if _is_locked(error):
            holders = ", ".join(lock_holders(self.path)) or "another process"
            return (
                f"{self.path} has been locked by {holders} for over {self.patience:g} s. It is "
                "unchanged. Try again when the lock is released."
            )
        primary = _primary_code(error)
        if primary == sqlite3.SQLITE_FULL:
            return (
                f"The disk of {self.path} is full. Recorded results are safe. Free some space and "
                "run again."
            )
        if primary == sqlite3.SQLITE_IOERR:
            return (
                f"{self.path} could not be read or written ({error}). Recorded results are safe. "
                "Check the disk and run again."
            )
        if primary == sqlite3.SQLITE_READONLY:
            return f"{self.path} cannot be written. Check its permissions and those of its folder."
        if primary == sqlite3.SQLITE_CANTOPEN:
            return f"{self.path} cannot be opened. Check that its folder exists and is writable."
        if primary == sqlite3.SQLITE_CONSTRAINT:
            return (
                f"{self.path} was changed by another program and is inconsistent with this run "
                f"({error}). Recorded results are safe. Stop the other program and run again."
            )
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return self._damaged(str(error))
        return f"{self.path}: {error}."

    def _damaged(self, what: str) -> str:
        return (
            f"{self.path} is damaged or not a store ({what}). It is unchanged. Restore a copy, "
            "recover rows with the .recover command of the sqlite3 program, or use another file."
        )


def _primary_code(error: sqlite3.Error) -> int | None:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _is_locked(error: sqlite3.Error) -> bool:
    return _primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
