"""Rows of a store with checksums: written with one, refused when it does not match."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clipgnn.errors import StoreError
from clipgnn.experiments.checksums import checksum, json_object
from clipgnn.experiments.database import Database
from clipgnn.experiments.trial import Trial, identity_of

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "plans": ("number", "name", "content", "data", "command", "begun"),
    "trials": ("identity", "content"),
    "attempts": ("number", "trial", "session", "outcome", "at", "error", "traceback"),
    "environments": ("number", "content"),
    "results": (
        "trial",
        "train_loss",
        "test_score",
        "validation_score",
        "seconds",
        "epoch_seconds",
        "compile_seconds",
        "environment",
        "finished",
    ),
}
"""Tables whose rows have a checksum, and the columns it covers, in their order."""


@dataclass(frozen=True)
class Damage:
    """A row that cannot be trusted.

    Attributes:
        table: its table.
        row: its row number in SQLite.
        what: what it is, for people.
        why: how the damage shows.
    """

    table: str
    row: int
    what: str
    why: str


def insert(database: Database, table: str, *values: object) -> None:
    """Insert a row with its checksum; its numbers are floats where the column is REAL."""
    columns = (*COLUMNS[table], "checksum")
    marks = ", ".join("?" * len(columns))
    database.write(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", *values, checksum(*values)
    )


def next_number(database: Database, table: str) -> int:
    """The number of the row to insert next, inside a transaction."""
    [(number,)] = database.read(f"SELECT coalesce(max(number), 0) + 1 FROM {table}")
    return int(number)


def verified(database: Database, table: str, where: str = "TRUE") -> list[tuple[Any, ...]]:
    """Rows of a table in the order of their numbers, without the checksums.

    Args:
        database: the database.
        table: one of `COLUMNS`.
        where: a condition in SQL, by default all rows.

    Raises:
        StoreError: if a row is damaged, with what it is and how to continue.
    """
    rows = []
    for _, values, why in _examined(database, table, where):
        if why is not None:
            named = _named(database, table, values)
            raise StoreError(
                f"{database.path} is damaged: {named} cannot be trusted, because {why}. Restore a "
                f"copy of the file, or run `{_repair_command(database.path)}`, which deletes what "
                "is damaged; the next run then measures it again."
            )
        rows.append(values)
    return rows


def damages(database: Database) -> list[Damage]:
    """All damaged rows, table by table."""
    return [
        Damage(table, row, _named(database, table, values), why)
        for table in COLUMNS
        for row, values, why in _examined(database, table)
        if why is not None
    ]


def orphans(database: Database) -> list[Damage]:
    """Attempts and results whose trial does not exist."""
    return [
        Damage(table, row, _named(database, table, values), "its trial is damaged or missing")
        for table in ("attempts", "results")
        for row, *values in database.read(
            f"SELECT rowid, {', '.join(COLUMNS[table])} FROM {table} "
            "WHERE trial NOT IN (SELECT identity FROM trials) ORDER BY rowid"
        )
    ]


def _repair_command(path: Path) -> str:
    return shlex.join(["clipgnn", "experiment", "repair", path.stem, "--store", str(path)])


def _examined(
    database: Database, table: str, where: str = "TRUE"
) -> Iterator[tuple[int, tuple[Any, ...], str | None]]:
    """Row number, values and, if the row is damaged, how that shows."""
    columns = ", ".join(COLUMNS[table])
    rows = database.read(
        f"SELECT rowid, {columns}, checksum FROM {table} WHERE {where} ORDER BY rowid"
    )
    # Read after the results, to which another process may be adding.
    environments = {number for (number,) in database.read("SELECT number FROM environments")}
    for row, *values, stored in rows:
        if checksum(*values) != stored:
            yield row, tuple(values), "its checksum does not match"
            continue
        try:
            _CHECKS[table](values)
            if table == "results" and values[-2] not in environments:
                raise StoreError(f"its environment {values[-2]} is missing")
        except StoreError as error:
            yield row, tuple(values), str(error)
        else:
            yield row, tuple(values), None


def _check_plan(values: Sequence[Any]) -> None:
    _, name, content, data, command, begun = values
    _check_types((name, content, data, command, begun), str)
    json_object(content)
    _check_types(json_object(data).values(), str)


def _check_trial(values: Sequence[Any]) -> None:
    identity, content = values
    _check_types((identity, content), str)
    if identity_of(content) != identity:
        raise StoreError("its identity is not the hash of its content")


def _check_attempt(values: Sequence[Any]) -> None:
    _, trial, session, outcome, at, error, traceback = values
    _check_types((trial, session, outcome, at, error or "", traceback or ""), str)


def _check_environment(values: Sequence[Any]) -> None:
    _, content = values
    _check_types((content,), str)
    environment = json_object(content)
    _check_types([environment.get("device")], str)
    for part in ("versions", "machine"):
        _check_types([environment.get(part)], dict)
        _check_types(environment[part].values(), str)


def _check_result(values: Sequence[Any]) -> None:
    trial, loss, test, validation, *seconds, environment, finished = values
    _check_types((trial, finished), str)
    _check_types((loss, test, validation), bytes)
    _check_types(seconds, float)
    _check_types((environment,), int)
    epochs, rest = divmod(len(test), 8)
    if rest or not epochs or len(loss) != len(test) or len(validation) not in (0, len(test)):
        raise StoreError(
            "its curves must have 8 bytes for each epoch and equally many epochs, and have "
            f"{len(loss)}, {len(test)} and {len(validation)} bytes"
        )


_CHECKS: Mapping[str, Callable[[Sequence[Any]], None]] = {
    "plans": _check_plan,
    "trials": _check_trial,
    "attempts": _check_attempt,
    "environments": _check_environment,
    "results": _check_result,
}


def _check_types(values: Any, kind: type) -> None:
    for value in values:
        if not isinstance(value, kind):
            raise StoreError(
                f"it must have a {kind.__name__} where it has a {type(value).__name__}"
            )


def _named(database: Database, table: str, values: Sequence[Any]) -> str:
    """What a damaged row is, as far as it still says so."""
    if table == "plans":
        return f"plan {values[0]} ({values[1]!r})"
    if table == "environments":
        return f"environment {values[0]} (versions and machine of results)"
    if table == "trials":
        return f"trial {values[0]}{_described(values[1])}"
    trial = values[0] if table == "results" else values[1]
    kind = "the result" if table == "results" else f"attempt {values[0]}"
    contents = database.read("SELECT content FROM trials WHERE identity = ?", trial)
    return f"{kind} of trial {trial}{_described(contents[0][0]) if contents else ''}"


def _described(content: Any) -> str:
    """A trial in words, if its content can be read."""
    try:
        return f" ({Trial(**json_object(content))})"
    except (StoreError, TypeError, AttributeError):
        return ""
