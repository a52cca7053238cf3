"""The SQLite file of a store: opening, schema, transactions, and errors that say what to do.

The file keeps SQLite's rollback journal, not a write-ahead log: between two transactions all of it
is one file that can be copied, it needs no shared memory, and a process that is killed leaves at
most a journal that the next one rolls back. Writes are rare and small here, which is where a
write-ahead log would help.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from clipgnn.errors import StoreError

APPLICATION = 0x434C4950
"""Marks the file as ours: "CLIP" in ASCII."""

SCHEMA_VERSION = 2

_SCHEMA = """
CREATE TABLE plans (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    content TEXT NOT NULL,            -- JSON in the structure of the TOML file
    data TEXT NOT NULL,               -- JSON: fingerprint of each data set by name
    command TEXT NOT NULL,
    begun TEXT NOT NULL
);
CREATE TABLE sessions (
    identity TEXT PRIMARY KEY,
    machine TEXT NOT NULL,
    process INTEGER NOT NULL,
    started TEXT NOT NULL,            -- of the process, in ticks since boot
    signed REAL NOT NULL,             -- seconds since 1970
    command TEXT NOT NULL,
    begun TEXT NOT NULL,
    ended TEXT
);
CREATE TABLE trials (
    identity TEXT PRIMARY KEY,
    content TEXT NOT NULL             -- canonical JSON, of which the identity is a hash
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
    traceback TEXT
);
CREATE INDEX attempts_of_trial ON attempts (trial);
CREATE TABLE environments (
    number INTEGER PRIMARY KEY,
    content TEXT NOT NULL UNIQUE      -- JSON: device, versions, machine
);
CREATE TABLE results (
    trial TEXT PRIMARY KEY REFERENCES trials,
    train_loss BLOB NOT NULL,         -- curves: a little-endian float64 for each epoch
    test_score BLOB NOT NULL,
    validation_score BLOB NOT NULL,
    seconds REAL NOT NULL,
    epoch_seconds REAL NOT NULL,
    compile_seconds REAL NOT NULL,
    environment INTEGER NOT NULL REFERENCES environments,
    finished TEXT NOT NULL
);
"""


class Database:
    """A connection to the file of a store, with transactions.

    Args:
        path: the file.
        create: whether to make it if it is not there.
        patience: seconds to wait for another process's transaction.
        check: whether to look for damage.

    Raises:
        StoreError: if the file is not there, damaged, locked, or not a store.
    """

    def __init__(
        self, path: Path, *, create: bool = False, patience: float = 30.0, check: bool = True
    ) -> None:
        self.path = path
        self.patience = patience
        if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
            raise StoreError(
                f"A store must be a regular file, and {path} is not. Choose another file with "
                "--store."
            )
        if not create and not path.exists():
            raise StoreError(f"There is no store {path}.")
        if create:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"The folder of {path} cannot be made: {error}.") from error
        mode = "rwc" if create else "rw"
        with self.errors():
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=patience,
                isolation_level=None,  # transactions are begun here, by hand
            )
        try:
            self._prepare(create)
            if check:
                self._check()
        except BaseException:
            self._connection.close()
            raise

    def read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self.errors():
            return self._connection.execute(query, values).fetchall()

    def write(self, query: str, *values: object) -> None:
        """One statement of the transaction that is open."""
        with self.errors():
            self._connection.execute(query, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is read and written inside happens at once, or not at all."""
        with self.errors():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self.errors():
                self._connection.execute("COMMIT")
        finally:
            # Still open: something failed. SQLite has ended it itself when the disk was full.
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """SQLite's errors as ours, which say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(self._explain(error)) from error

    def _prepare(self, create: bool) -> None:
        with self.errors():
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA foreign_keys = ON")
        if create and not self.read("SELECT name FROM sqlite_schema"):
            with self.transaction():  # which another process may have won
                if not self.read("SELECT name FROM sqlite_schema"):
                    for statement in _SCHEMA.split(";\n"):
                        self.write(statement)
                    self.write(f"PRAGMA application_id = {APPLICATION}")
                    self.write(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _check(self) -> None:
        [(application,)] = self.read("PRAGMA application_id")
        if not application and not self.read("SELECT name FROM sqlite_schema"):
            raise StoreError(f"{self.path} is empty: nothing has been run into it yet.")
        if application != APPLICATION:
            raise StoreError(
                f"{self.path} is a database of another program, not a store of clipgnn. "
                "It was left as it is; choose another file with --store."
            )
        [(version,)] = self.read("PRAGMA user_version")
        if version == 1:
            raise StoreError(
                f"{self.path} has schema version 1, and this clipgnn needs version "
                f"{SCHEMA_VERSION}. The trials in it do not say on which data they were measured, "
                "and normalization has changed since, so that its results cannot stand beside new "
                f"ones. It was left as it is; read it with {self._source()}, or choose a new file "
                "with --store."
            )
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} has schema version {version}, and this clipgnn knows version "
                f"{SCHEMA_VERSION}. It was left as it is; use the clipgnn that wrote it, or "
                "choose another file with --store."
            )
        checked = self.read("PRAGMA quick_check(1)")
        if checked != [("ok",)]:
            raise StoreError(self._damaged(str(checked[0][0])))

    def _source(self) -> str:
        """Which source wrote the results, as far as the store says."""
        rows = self.read(
            "SELECT DISTINCT json_extract(content, '$.versions.clipgnn-source') "
            "FROM environments WHERE json_valid(content)"
        )
        sources = sorted(str(source) for (source,) in rows if source)
        return f"the clipgnn of source {', '.join(sources)}" if sources else "the clipgnn before it"

    def _explain(self, error: sqlite3.Error) -> str:
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return (
                f"{self.path} has been locked by another process for over {self.patience:g} s. "
                "Nothing is lost; run the command again once it is free."
            )
        if primary == sqlite3.SQLITE_FULL:
            return (
                f"The disk of {self.path} is full. All results recorded so far are safe; make "
                "room and run the same command to go on."
            )
        if primary == sqlite3.SQLITE_IOERR:
            return (
                f"{self.path} could not be read or written ({error}). All results recorded so "
                "far are safe; check the disk and run the same command to go on."
            )
        if primary == sqlite3.SQLITE_READONLY:
            return f"{self.path} cannot be written; check its permissions and its folder's."
        if primary == sqlite3.SQLITE_CANTOPEN:
            return f"{self.path} cannot be opened; check that its folder is there and writable."
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return self._damaged(str(error))
        return f"{self.path}: {error}."

    def _damaged(self, what: str) -> str:
        return (
            f"{self.path} is damaged or not a store ({what}). It was left as it is: restore a "
            "copy, save what can be saved with the sqlite3 program's .recover, or choose another "
            "file with --store."
        )
