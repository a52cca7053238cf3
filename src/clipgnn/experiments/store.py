"""The store of a run: one SQLite file with the results, written as they arrive.

A trial is free, claimed by the session of a live process, or finished. With claims, several
processes can share a store without running a trial twice.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import time
from types import TracebackType
from typing import TYPE_CHECKING

from clipgnn.curves import CURVES, Curves
from clipgnn.experiments.artifacts import has_artifacts, write_artifacts
from clipgnn.experiments.attempts import AMONG, Failure, now, record_attempt, unsuccessful
from clipgnn.experiments.checksums import json_object
from clipgnn.experiments.claims import all_claimants
from clipgnn.experiments.database import Database
from clipgnn.experiments.dataframe import dataframe
from clipgnn.experiments.rows import (
    COLUMNS,
    insert,
    next_number,
    read_curves,
    stored_curves,
    verified,
)
from clipgnn.experiments.sessions import Claimant, Heartbeats, Session
from clipgnn.experiments.trial import Trial, TrialResult, canonical, metric_of

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Plan:
    """A recorded run: name and content of its experiment, command line and start time.

    `data` has the fingerprint of each data set that the run used.
    """

    name: str
    content: Mapping[str, object]
    data: Mapping[str, str]
    command: str
    begun: str


@dataclass(frozen=True)
class StoredResult:
    """The result of a finished trial, as it is stored."""

    curves: Curves
    seconds: float
    epoch_seconds: float
    compile_seconds: float
    environment: int
    finished: str


class Store:
    """Store of results.

    Args:
        path: its file.
        create: whether to create it if it does not exist.
        patience: seconds to wait for another process's transaction.
        check: whether to check that the file is an undamaged store.

    Raises:
        StoreLockedError: if another process keeps the file locked.
        StoreError: if the file does not exist, is damaged, or is not a store.
    """

    def __init__(
        self, path: str | Path, *, create: bool = False, patience: float = 30.0, check: bool = True
    ) -> None:
        self.path = Path(path)
        self._database = Database(self.path, create=create, patience=patience, check=check)
        self._heartbeats = Heartbeats()

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
        """Record a run and open a session of this process.

        Raises:
            DamagedStoreError: if a row of the store is damaged, before anything is trained.
        """
        for table in COLUMNS:
            verified(self._database, table)
        trials = list(trials)
        session = Session.of_this_process()
        began = now()
        with self._database.transaction():
            self._database.write(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
                session.identity,
                session.machine,
                session.process,
                session.started,
                time(),
                command,
                began,
            )
            insert(
                self._database,
                "plans",
                next_number(self._database, "plans"),
                name,
                json.dumps(content),  # keys keep their order, which resolves ties
                json.dumps({k: v for trial in trials for k, v in trial.fingerprints.items()}),
                command,
                began,
            )
            known = self._column("SELECT identity FROM trials")
            for trial in trials:
                if trial.identity not in known:
                    insert(self._database, "trials", trial.identity, trial.content)
                    known.add(trial.identity)
        return session

    def record_heartbeat(self, session: Session) -> None:
        """Write a heartbeat of a session."""
        with self._database.transaction():
            self._database.write(
                "UPDATE sessions SET heartbeat = ? WHERE identity = ?", time(), session.identity
            )

    def end(self, session: Session) -> None:
        """Close a session and delete its claims."""
        with self._database.transaction():
            self._database.write("DELETE FROM claims WHERE session = ?", session.identity)
            self._database.write(
                "UPDATE sessions SET ended = ? WHERE identity = ?", now(), session.identity
            )

    def claim(
        self, session: Session, trials: Sequence[Trial], *, diverged: Collection[str] = ()
    ) -> bool:
        """Claim the trials of a job, all or none.

        Finished trials are not claimed, but trained again with the others. Claims of processes
        that have ended are deleted and recorded as lost attempts.

        Args:
            session: the session that claims them.
            trials: the trials of a job.
            diverged: identities of diverged trials that are attempted again.

        Returns:
            Whether the session has claimed them: no other session has, and some of them are
            neither finished nor diverged.
        """
        with self._database.transaction():
            for claimant in self._claimants():
                if not claimant.alive:
                    self._release(claimant, "its process ended before it finished")
            finished = self.finished_among(trials)
            left = [trial.identity for trial in trials if trial.identity not in finished]
            settled = unsuccessful(self._database, "diverged", left).keys() - diverged
            if settled.issuperset(left) or self._among("claims", left):
                return False
            for identity in left:
                self._database.write(
                    "INSERT INTO claims VALUES (?, ?, ?)", identity, session.identity, now()
                )
        return True

    def take_over(self) -> list[Claimant]:
        """Delete the claims of sessions on other machines, whether these are alive or not.

        A live session continues; of two results for a trial the first is kept.

        Returns:
            The sessions and the claims that they had.
        """
        with self._database.transaction():
            others = [claimant for claimant in self._claimants() if not claimant.here]
            for claimant in others:
                self._release(claimant, "taken over by another run")
        return others

    def record(self, session: Session, results: Sequence[TrialResult]) -> None:
        """Record results and delete the claims on their trials.

        The first result of a trial is kept. Of a diverged trial, only the reason is recorded.
        Models and predictions are written to their files first.
        """
        for result in results:
            if result.curves.diverged is None:
                write_artifacts(self.path, result)
        with self._database.transaction():
            finished = self._among("results", [result.trial for result in results])
            for result in results:
                if result.curves.diverged is not None:
                    reason = result.curves.diverged
                    record_attempt(
                        self._database, session.identity, result.trial, "diverged", reason
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
                        *stored_curves(result.curves),
                        float(result.seconds),
                        float(result.epoch_seconds),
                        float(result.compile_seconds),
                        self._environment(environment),
                        now(),
                    )
                record_attempt(self._database, session.identity, result.trial, "succeeded")

    def record_failure(
        self, session: Session, trials: Iterable[Trial], error: str, traceback: str
    ) -> None:
        """Record a failed attempt at trials and delete the claims on them."""
        with self._database.transaction():
            for trial in trials:
                record_attempt(
                    self._database, session.identity, trial.identity, "failed", error, traceback
                )

    def finished(self) -> set[str]:
        """Return the identities of the trials that have a result."""
        return self._column("SELECT trial FROM results")

    def finished_among(self, trials: Sequence[Trial]) -> set[str]:
        """Return the identities of the trials that have a result and all files that they keep."""
        found = self._among("results", [trial.identity for trial in trials])
        return {
            trial.identity
            for trial in trials
            if trial.identity in found and has_artifacts(self.path, trial)
        }

    def count_finished(self, name: str, fingerprint: str) -> int:
        """Return the number of results with a data set or a user's network, over all experiments.

        Args:
            name: its name.
            fingerprint: its fingerprint.

        Raises:
            StoreError: if a trial is damaged.
        """
        finished = self.finished()
        contents = [
            json_object(content)
            for identity, content in verified(self._database, "trials")
            if identity in finished
        ]
        pairs = (("dataset", "data"), ("model", "model_source"))
        return sum(
            any((own.get(key), own.get(value)) == (name, fingerprint) for key, value in pairs)
            for own in contents
        )

    def claimed(self) -> dict[str, str]:
        """Return trials that live processes have claimed, with the identities of their sessions."""
        return {
            trial: claimant.session.identity
            for claimant in self.claimants()
            for trial in claimant.trials
        }

    def claimants(self) -> list[Claimant]:
        """Return live sessions that have claimed trials."""
        return [claimant for claimant in self._claimants() if claimant.alive]

    def trials(self) -> list[Trial]:
        """Return all trials of the recorded runs, finished or not.

        Raises:
            StoreError: if a trial is damaged.
        """
        return [Trial(**json_object(content)) for _, content in verified(self._database, "trials")]

    def results(self) -> dict[str, StoredResult]:
        """Return all results, by identity of the trial.

        Raises:
            StoreError: if a result or a trial is damaged.
        """
        recipes = {
            identity: json_object(content).get("recipe", {})
            for identity, content in verified(self._database, "trials")
        }
        results = {}
        for trial, *values in verified(self._database, "results"):
            stored, others = values[: len(CURVES)], values[len(CURVES) :]
            curves = read_curves(stored, metric_of(recipes.get(trial, {})))
            results[trial] = StoredResult(curves, *others)
        return results

    def dataframe(self, *, epochs: bool = False) -> "pandas.DataFrame":
        """Return the trials as a pandas data frame.

        Scores are those of the test graphs (and of validation graphs, if there are any) in the last
        and in the best epoch. Parameters that a model does not have, or that were not given, are
        missing values.

        Args:
            epochs: whether to return a row for each epoch of each finished trial (`identity`,
                `epoch` from 1, `train_loss`, `test_score`, `validation_score`) instead of a row for
                each trial. The curves of kernels have one epoch.

        Raises:
            MissingDependencyError: if pandas is not installed.
            StoreError: if a row of the store is damaged.
        """
        return dataframe(self, epochs=epochs)

    def failures(self) -> dict[str, Failure]:
        """Return trials that failed and have not succeeded or diverged since."""
        return unsuccessful(self._database, "failed")

    def diverged(self) -> dict[str, Failure]:
        """Return trials whose last attempt diverged; the error has the epoch."""
        return unsuccessful(self._database, "diverged")

    def plans(self) -> list[Plan]:
        """Return the recorded runs, oldest first."""
        return [
            Plan(name, json_object(content), json_object(data), command, begun)
            for _, name, content, data, command, begun in verified(self._database, "plans")
        ]

    def environments(self) -> dict[int, Mapping[str, object]]:
        """Return device, versions and machine of results, by number of the environment."""
        rows = verified(self._database, "environments")
        return {number: json_object(content) for number, content in rows}

    def _environment(self, content: str) -> int:
        """Return the number of an environment, which is inserted if it is new."""
        query = "SELECT number FROM environments WHERE content = ?"
        for (number,) in self._database.read(query, content):
            return int(number)
        number = next_number(self._database, "environments")
        insert(self._database, "environments", number, content)
        return number

    def _claimants(self) -> list[Claimant]:
        """Return all sessions that have claimed trials, alive or not."""
        return all_claimants(self._database, self._heartbeats)

    def _release(self, claimant: Claimant, reason: str) -> None:
        session = claimant.session.identity
        for trial in sorted(claimant.trials):
            record_attempt(self._database, session, trial, "lost", reason)

    def _among(self, table: str, trials: Sequence[str]) -> set[str]:
        """Return those of the trials that have a row in a table."""
        return self._column(f"SELECT trial FROM {table} WHERE {AMONG}", json.dumps(trials))

    def _column(self, query: str, *values: object) -> set[str]:
        return {value for (value,) in self._database.read(query, *values)}
