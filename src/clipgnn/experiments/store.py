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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.experiments.checksums import json_object
from clipgnn.experiments.claims import all_claimants
from clipgnn.experiments.database import Database
from clipgnn.experiments.rows import COLUMNS, insert, next_number, verified
from clipgnn.experiments.sessions import Claimant, Heartbeats, Session
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
        check: whether to check that the file is an undamaged store.

    Raises:
        StoreLockedError: if another process keeps the file locked.
        StoreError: if the file does not exist, is damaged, or is not a store.
    """

    def __init__(
        self, path: Path, *, create: bool = False, patience: float = 30.0, check: bool = True
    ) -> None:
        self.path = path
        self._database = Database(path, create=create, patience=patience, check=check)
        self._heartbeats = Heartbeats()
        self._attempts: list[tuple[Any, ...]] = []  # those that were read and verified

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def patience(self) -> float:
        """Seconds to wait for another process's transaction."""
        return self._database.patience

    @patience.setter
    def patience(self, seconds: float) -> None:
        self._database.patience = seconds

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def begin(
        self, name: str, content: Mapping[str, object], command: str, trials: Iterable[Trial]
    ) -> Session:
        """Write down what is to be run, and open a session of this process.

        Raises:
            StoreError: if something in the store is damaged: before hours of work, not after.
        """
        for table in COLUMNS:
            verified(self._database, table)
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
            insert(
                self._database,
                "plans",
                next_number(self._database, "plans"),
                name,
                json.dumps(content),  # in its order: of equal configurations the first wins
                json.dumps({trial.dataset: trial.data for trial in trials}),
                command,
                now,
            )
            known = self._column("SELECT identity FROM trials")
            for trial in trials:
                if trial.identity not in known:
                    insert(self._database, "trials", trial.identity, trial.content)
                    known.add(trial.identity)
        return session

    def sign(self, session: Session) -> None:
        """Write the heartbeat of a session."""
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
        process that has ended is free again, and recorded as a lost attempt.

        Args:
            session: who takes them.
            trials: the trials of a job.
            diverged: diverged trials that are to be attempted again.

        Returns:
            Whether this session has them now: none is claimed by another, and not all of them are
            finished or diverged.
        """
        with self._database.transaction():
            for claimant in self._claimants():
                if not claimant.alive:
                    self._release(claimant, "its process ended before it finished")
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

    def take_over(self) -> list[Claimant]:
        """Free the claims of sessions on other machines, whether they are alive or not.

        A session that is alive goes on; of two results for a trial the first counts.

        Returns:
            Whose claims they were.
        """
        with self._database.transaction():
            others = [claimant for claimant in self._claimants() if not claimant.here]
            for claimant in others:
                self._release(claimant, "taken over by another run")
        return others

    def record(self, session: Session, results: Sequence[TrialResult]) -> None:
        """Keep these results and free the claims on their trials; the first result counts.

        Of a diverged trial only the fact is kept, with its reason.
        """
        with self._database.transaction():
            finished = self.finished()
            for result in results:
                if result.diverged is not None:
                    self._attempted(
                        session.identity, result.trial, "diverged", result.diverged, None
                    )
                    continue
                environment = canonical(
                    {
                        "device": result.device,
                        "versions": dict(result.versions),
                        "machine": dict(result.machine),
                    }
                )
                if result.trial not in finished:
                    finished.add(result.trial)
                    insert(
                        self._database,
                        "results",
                        result.trial,
                        _blob(result.train_loss),
                        _blob(result.test_score),
                        _blob(result.validation_score),
                        float(result.seconds),
                        float(result.epoch_seconds),
                        float(result.compile_seconds),
                        self._environment(environment),
                        _now(),
                    )
                self._attempted(session.identity, result.trial, "succeeded", None, None)

    def record_failure(
        self, session: Session, trials: Iterable[Trial], error: str, traceback: str
    ) -> None:
        """Note that an attempt at these trials failed, and free them."""
        with self._database.transaction():
            for trial in trials:
                self._attempted(session.identity, trial.identity, "failed", error, traceback)

    def finished(self) -> set[str]:
        """Identities of the trials that have a result."""
        return self._column("SELECT trial FROM results")

    def count_finished(self, dataset: str, data: str) -> int:
        """Number of results on the data of this name and fingerprint, of whichever experiment.

        Raises:
            StoreError: if a trial is damaged.
        """
        finished = self.finished()
        contents = [
            json_object(content)
            for identity, content in verified(self._database, "trials")
            if identity in finished
        ]
        return sum(own.get("dataset") == dataset and own.get("data") == data for own in contents)

    def claimed(self) -> dict[str, str]:
        """Trials that a live process is working on, each with its session."""
        return {
            trial: claimant.session.identity
            for claimant in self.claimants()
            for trial in claimant.trials
        }

    def claimants(self) -> list[Claimant]:
        """Live sessions that have claimed trials."""
        return [claimant for claimant in self._claimants() if claimant.alive]

    def results(self) -> dict[str, StoredResult]:
        """Everything that is finished, by identity of the trial.

        Raises:
            StoreError: if a result or a trial is damaged.
        """
        verified(self._database, "trials")
        return {
            trial: StoredResult(_curve(loss), _curve(test), _curve(validation), *rest)
            for trial, loss, test, validation, *rest in verified(self._database, "results")
        }

    def failures(self) -> dict[str, Failure]:
        """Trials that failed and have not succeeded or diverged since."""
        return self._unsuccessful("failed")

    def diverged(self) -> dict[str, Failure]:
        """Trials that diverged when they were last attempted; the error says where."""
        return self._unsuccessful("diverged")

    def plans(self) -> list[Plan]:
        """What has been run into this store, oldest first."""
        return [
            Plan(name, json_object(content), json_object(data), command, begun)
            for _, name, content, data, command, begun in verified(self._database, "plans")
        ]

    def environments(self) -> dict[int, Mapping[str, object]]:
        """Device, versions and machine that results were made with, by number."""
        rows = verified(self._database, "environments")
        return {number: json_object(content) for number, content in rows}

    def _environment(self, content: str) -> int:
        """The number of an environment, which is inserted if it is new."""
        query = "SELECT number FROM environments WHERE content = ?"
        for (number,) in self._database.read(query, content):
            return int(number)
        number = next_number(self._database, "environments")
        insert(self._database, "environments", number, content)
        return number

    def _unsuccessful(self, outcome: str) -> dict[str, Failure]:
        """Trials without a result whose last attempt, lost ones aside, had this outcome."""
        finished = self.finished()
        rows = [
            row
            for row in self._verified_attempts()
            if row[3] in ("failed", "diverged") and row[1] not in finished
        ]
        attempts = Counter(trial for _, trial, *_ in rows)
        last = {trial: (own, error, trace) for _, trial, _, own, _, error, trace in rows}
        return {
            trial: Failure(error, trace or error, attempts[trial])
            for trial, (own, error, trace) in last.items()
            if own == outcome
        }

    def _verified_attempts(self) -> list[tuple[Any, ...]]:
        """All attempts in their order.

        This is called for every job. Attempts that were read before are therefore not verified
        again, unless `repair` deleted some or a transaction that added some was rolled back.
        """
        last = self._attempts[-1:]
        number = last[0][0] if last else 0
        [(before,)] = self._database.read("SELECT count(*) FROM attempts WHERE number < ?", number)
        rows = verified(self._database, "attempts", f"number >= {number}")
        if last and (rows[:1] != last or before != len(self._attempts) - 1):
            before, rows = 0, verified(self._database, "attempts")
        self._attempts[before:] = rows
        return self._attempts

    def _attempted(
        self, session: str, trial: str, outcome: str, error: str | None, trace: str | None
    ) -> None:
        insert(
            self._database,
            "attempts",
            next_number(self._database, "attempts"),
            trial,
            session,
            outcome,
            _now(),
            _storable(error),
            _storable(trace),
        )
        self._database.write("DELETE FROM claims WHERE trial = ? AND session = ?", trial, session)

    def _claimants(self) -> list[Claimant]:
        """All sessions that have claimed trials."""
        return all_claimants(self._database, self._heartbeats)

    def _release(self, claimant: Claimant, reason: str) -> None:
        session = claimant.session.identity
        for trial in sorted(claimant.trials):
            self._attempted(session, trial, "lost", reason, None)

    def _column(self, query: str) -> set[str]:
        return {value for (value,) in self._database.read(query)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _storable(text: str | None) -> str | None:
    """A text that is valid UTF-8, also if it has bytes of a file name that is not."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


def _blob(curve: Sequence[float]) -> bytes:
    return np.asarray(curve, dtype="<f8").tobytes()


def _curve(blob: bytes) -> NDArray[np.float64]:
    return np.frombuffer(blob, dtype="<f8").astype(np.float64)
