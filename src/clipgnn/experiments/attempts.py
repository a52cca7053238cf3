"""Attempts at trials: what each run of a trial ended with."""

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from clipgnn.experiments.database import Database
from clipgnn.experiments.rows import insert, next_number, verified

AMONG = "trial IN (SELECT value FROM json_each(?))"
"""SQL condition for rows of the trials in a JSON list."""


@dataclass(frozen=True)
class Failure:
    """The last attempt at a trial that failed or diverged, and the number of such attempts."""

    error: str
    traceback: str
    attempts: int


def record_attempt(
    database: Database,
    session: str,
    trial: str,
    outcome: Literal["succeeded", "failed", "diverged", "lost"],
    error: str | None = None,
    traceback: str | None = None,
) -> None:
    """Record an attempt at a trial and delete the claim of its session, in a transaction.

    Args:
        database: the database of a store.
        session: identity of the session.
        trial: identity of the trial.
        outcome: the outcome of the attempt.
        error: the error in one line, if there was one.
        traceback: its traceback.
    """
    insert(
        database,
        "attempts",
        next_number(database, "attempts"),
        trial,
        session,
        outcome,
        now(),
        _storable(error),
        _storable(traceback),
    )
    database.write("DELETE FROM claims WHERE trial = ? AND session = ?", trial, session)


def unsuccessful(
    database: Database,
    outcome: Literal["failed", "diverged"],
    among: Collection[str] | None = None,
) -> dict[str, Failure]:
    """Return trials without a result whose last attempt, lost ones aside, had this outcome.

    Args:
        database: the database of a store.
        outcome: the outcome.
        among: identities of the trials to read; by default all.

    Raises:
        DamagedStoreError: if an attempt is damaged.
    """
    condition, values = "TRUE", []
    if among is not None:
        condition, values = AMONG, [json.dumps(list(among))]
    finished = {
        trial for (trial,) in database.read(f"SELECT trial FROM results WHERE {condition}", *values)
    }
    rows = [
        row
        for row in verified(database, "attempts", condition, *values)
        if row[3] in ("failed", "diverged") and row[1] not in finished
    ]
    attempts = Counter(trial for _, trial, *_ in rows)
    last = {trial: (own, error, trace) for _, trial, _, own, _, error, trace in rows}
    return {
        trial: Failure(error, trace or error, attempts[trial])
        for trial, (own, error, trace) in last.items()
        if own == outcome
    }


def now() -> str:
    """Return the current time as it is stored."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _storable(text: str | None) -> str | None:
    """Return text as valid UTF-8, with escapes for undecodable bytes of file names."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()
