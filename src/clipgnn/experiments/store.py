"""Where results are kept: one SQLite file per run, written as they arrive.

A trial is free, claimed by the session of a living process, or finished. Claims are what lets two
processes share a store: each takes what is free, and neither repeats what the other does.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import time
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from clipgnn.experiments.database import Database
from clipgnn.experiments.sessions import Session
from clipgnn.experiments.trial import Trial, TrialResult, canonical


@dataclass(frozen=True)
class Plan:
    """What a run was asked to do: an experiment's name and content, the command, and when.

    `data` has the fingerprint of each data set that the run used.
    """

    name: str
    content: Mapping[str, object]
    data: Mapping[str, str]
    command: str
    begun: str


@dataclass(frozen=True, eq=False)
class StoredResult:
    """The curves of a finished trial, and how they came about."""

    train_loss: NDArray[np.float64]
    test_score: NDArray[np.float64]
    validation_score: NDArray[np.float64]
    seconds: float
    epoch_seconds: float
    compile_seconds: float
    environment: int
    finished: str


@dataclass(frozen=True)
class Failure:
    """The last attempt at a trial that failed or diverged, and how many of both there were."""

    error: str
    traceback: str
    attempts: int


class Store:
    """The results of a run.

    Args:
        path: its file.
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
        self._database = Database(path, create=create, patience=patience, check=check)

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def begin(
        self, name: str, content: Mapping[str, object], command: str, trials: Iterable[Trial]
    ) -> Session:
        """Write down what is to be run, and open a session of this process."""
        trials = list(trials)
        session = Session.of_this_process()
        now = _now()
        with self._database.transaction():
            self._database.write(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
                session.identity,
                session.machine,
                session.process,
                session.started,
                time(),
                command,
                now,
            )
            self._database.write(
                "INSERT INTO plans (name, content, data, command, begun) VALUES (?, ?, ?, ?, ?)",
                name,
                json.dumps(content),  # in its order: of equal configurations the first wins
                json.dumps({trial.dataset: trial.data for trial in trials}),
                command,
                now,
            )
            for trial in trials:
                self._database.write(
                    "INSERT OR IGNORE INTO trials VALUES (?, ?)", trial.identity, trial.content
                )
        return session

    def sign(self, session: Session) -> None:
        """Say that the process of a session still lives."""
        with self._database.transaction():
            self._database.write(
                "UPDATE sessions SET signed = ? WHERE identity = ?", time(), session.identity
            )

    def end(self, session: Session) -> None:
        """Close a session and free what it has claimed."""
        with self._database.transaction():
            self._database.write("DELETE FROM claims WHERE session = ?", session.identity)
            self._database.write(
                "UPDATE sessions SET ended = ? WHERE identity = ?", _now(), session.identity
            )

    def claim(
        self, session: Session, trials: Sequence[Trial], *, diverged: Collection[str] = ()
    ) -> bool:
        """Take the trials of a job, all or none.

        Those that are finished need no claim, and are trained again with the others. A claim of a
        process that has died is free again, and noted as a lost attempt.

        Args:
            session: who takes them.
            trials: the trials of a job.
            diverged: diverged trials that are to be attempted again.

        Returns:
            Whether this session has them now: none is claimed by another, and not all of them are
            finished or diverged.
        """
        with self._database.transaction():
            for dead in self._dead_sessions():
                self._database.write(
                    "INSERT INTO attempts (trial, session, outcome, at, error) "
                    "SELECT trial, session, 'lost', ?, 'its process ended before it finished' "
                    "FROM claims WHERE session = ?",
                    _now(),
                    dead,
                )
                self._database.write("DELETE FROM claims WHERE session = ?", dead)
            finished = self.finished()
            left = [trial.identity for trial in trials if trial.identity not in finished]
            settled = self.diverged().keys() - diverged
            if settled.issuperset(left) or self._column("SELECT trial FROM claims") & set(left):
                return False
            for identity in left:
                self._database.write(
                    "INSERT INTO claims VALUES (?, ?, ?)", identity, session.identity, _now()
                )
        return True

    def record(self, session: Session, results: Sequence[TrialResult]) -> None:
        """Keep these results and free the claims on their trials; the first result counts.

        Of a diverged trial only the fact is kept, with its reason.
        """
        with self._database.transaction():
            for result in results:
                if result.diverged is not None:
                    self._attempted(session, result.trial, "diverged", result.diverged, None)
                    continue
                environment = canonical(
                    {
                        "device": result.device,
                        "versions": dict(result.versions),
                        "machine": dict(result.machine),
                    }
                )
                self._database.write(
                    "INSERT OR IGNORE INTO environments (content) VALUES (?)", environment
                )
                self._database.write(
                    "INSERT OR IGNORE INTO results SELECT ?, ?, ?, ?, ?, ?, ?, number, ? "
                    "FROM environments WHERE content = ?",
                    result.trial,
                    _blob(result.train_loss),
                    _blob(result.test_score),
                    _blob(result.validation_score),
                    result.seconds,
                    result.epoch_seconds,
                    result.compile_seconds,
                    _now(),
                    environment,
                )
                self._attempted(session, result.trial, "succeeded", None, None)

    def record_failure(
        self, session: Session, trials: Iterable[Trial], error: str, traceback: str
    ) -> None:
        """Note that an attempt at these trials failed, and free them."""
        with self._database.transaction():
            for trial in trials:
                self._attempted(session, trial.identity, "failed", error, traceback)

    def finished(self) -> set[str]:
        """Identities of the trials that have a result."""
        return self._column("SELECT trial FROM results")

    def claimed(self) -> dict[str, str]:
        """Trials that a living process is at work on, each with its session."""
        dead = set(self._dead_sessions())
        rows = self._database.read("SELECT trial, session FROM claims")
        return {trial: session for trial, session in rows if session not in dead}

    def results(self) -> dict[str, StoredResult]:
        """Everything that is finished, by identity of the trial."""
        rows = self._database.read(
            "SELECT trial, train_loss, test_score, validation_score, seconds, epoch_seconds, "
            "compile_seconds, environment, finished FROM results"
        )
        return {
            trial: StoredResult(_curve(loss), _curve(test), _curve(validation), *rest)
            for trial, loss, test, validation, *rest in rows
        }

    def failures(self) -> dict[str, Failure]:
        """Trials that failed and have not succeeded or diverged since."""
        return self._unsuccessful("failed")

    def diverged(self) -> dict[str, Failure]:
        """Trials that diverged when they were last attempted; the error says where."""
        return self._unsuccessful("diverged")

    def plans(self) -> list[Plan]:
        """What has been run into this store, oldest first."""
        rows = self._database.read(
            "SELECT name, content, data, command, begun FROM plans ORDER BY number"
        )
        return [
            Plan(name, json.loads(content), json.loads(data), command, begun)
            for name, content, data, command, begun in rows
        ]

    def environments(self) -> dict[int, Mapping[str, object]]:
        """Device, versions and machine that results were made with, by number."""
        rows = self._database.read("SELECT number, content FROM environments")
        return {number: json.loads(content) for number, content in rows}

    def _unsuccessful(self, outcome: str) -> dict[str, Failure]:
        """Trials without a result whose last attempt, lost ones aside, had this outcome."""
        rows = self._database.read(
            "SELECT trial, outcome, error, traceback FROM attempts "
            "WHERE outcome IN ('failed', 'diverged') "
            "AND trial NOT IN (SELECT trial FROM results) ORDER BY number"
        )
        attempts = Counter(trial for trial, *_ in rows)
        last = {trial: rest for trial, *rest in rows}
        return {
            trial: Failure(error, traceback or error, attempts[trial])
            for trial, (own, error, traceback) in last.items()
            if own == outcome
        }

    def _attempted(
        self, session: Session, trial: str, outcome: str, error: str | None, trace: str | None
    ) -> None:
        self._database.write(
            "INSERT INTO attempts (trial, session, outcome, at, error, traceback) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            trial,
            session.identity,
            outcome,
            _now(),
            error,
            trace,
        )
        self._database.write(
            "DELETE FROM claims WHERE trial = ? AND session = ?", trial, session.identity
        )

    def _dead_sessions(self) -> list[str]:
        """Sessions that hold claims although their process is gone."""
        rows = self._database.read(
            "SELECT identity, machine, process, started, signed FROM sessions "
            "WHERE identity IN (SELECT session FROM claims)"
        )
        return [
            identity
            for identity, machine, process, started, signed in rows
            if not Session(identity, machine, process, started).is_alive(signed)
        ]

    def _column(self, query: str) -> set[str]:
        return {value for (value,) in self._database.read(query)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _blob(curve: Sequence[float]) -> bytes:
    return np.asarray(curve, dtype="<f8").tobytes()


def _curve(blob: bytes) -> NDArray[np.float64]:
    return np.frombuffer(blob, dtype="<f8").astype(np.float64)
