"""Rows of a store, written with checksums and verified when they are read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clipgnn.curves import CURVES, Curves
from clipgnn.errors import DamagedStoreError, InvalidParameterError, StoreError
from clipgnn.experiments.checksums import checksum, json_object
from clipgnn.experiments.compact import compact, expanded
from clipgnn.experiments.database import Database
from clipgnn.experiments.trial import Trial, identity_of

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "plans": ("number", "name", "content", "data", "command", "begun"),
    "trials": ("identity", "content"),
    "attempts": ("number", "trial", "session", "outcome", "at", "error", "traceback"),
    "environments": ("number", "content"),
    "results": (
        "trial",
        *CURVES,
        "seconds",
        "epoch_seconds",
        "compile_seconds",
        "environment",
        "finished",
    ),
}
"""Tables whose rows have a checksum, and the columns that it covers, in order."""


@dataclass(frozen=True)
class Damage:
    """A damaged row.

    Attributes:
        table: name of its table.
        row: row ID in SQLite.
        what: description of the row.
        why: description of the damage.
    """

    table: str
    row: int
    what: str
    why: str


def insert(database: Database, table: str, *values: object) -> None:
    """Insert a row with its checksum; values of REAL columns must be floats."""
    columns = (*COLUMNS[table], "checksum")
    marks = ", ".join("?" * len(columns))
    database.write(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", *values, checksum(*values)
    )


def next_number(database: Database, table: str) -> int:
    """Return the number of the next row; call it inside a transaction."""
    [(number,)] = database.read(f"SELECT coalesce(max(number), 0) + 1 FROM {table}")
    return int(number)


def verified(
    database: Database, table: str, where: str = "TRUE", *values: object
) -> list[tuple[Any, ...]]:
    """Return the verified rows of a table in the order of row IDs, without checksums.

    Args:
        database: the database.
        table: one of `COLUMNS`.
        where: a condition in SQL; by default all rows.
        *values: values of its placeholders.

    Raises:
        DamagedStoreError: if a row is damaged.
    """
    rows = []
    for _, row, why in _examine(database, table, where, *values):
        if why is not None:
            name = _name_of(database, table, row)
            raise DamagedStoreError(
                f"{database.path} is damaged: {name} cannot be used, because {why}. Restore a copy "
                "of the file, or delete damaged rows with `clipgnn.experiments.repair`; the next "
                "run trains their trials again.",
                database.path,
            )
        rows.append(row)
    return rows


def stored_curves(curves: Curves) -> list[bytes]:
    """Return curves as they are stored, in the order of `CURVES`."""
    return [compact(getattr(curves, name)) for name in CURVES]


def read_curves(stored: Sequence[bytes], metric: str = "accuracy") -> Curves:
    """Return the curves that `stored_curves` made.

    Raises:
        InvalidParameterError: if they are not valid curves.
        StoreError: if they cannot be read.
    """
    curves = Curves(*(expanded(blob) for blob in stored), metric=metric)
    curves.check_complete(validation=False)
    return curves


def damages(database: Database) -> list[Damage]:
    """Return all damaged rows, table by table."""
    return [
        Damage(table, row, _name_of(database, table, values), why)
        for table in COLUMNS
        for row, values, why in _examine(database, table)
        if why is not None
    ]


def orphans(database: Database) -> list[Damage]:
    """Return attempts and results whose trial does not exist."""
    return [
        Damage(table, row, _name_of(database, table, values), "its trial is damaged or missing")
        for table in ("attempts", "results")
        for row, *values in database.read(
            f"SELECT rowid, {', '.join(COLUMNS[table])} FROM {table} "
            "WHERE trial NOT IN (SELECT identity FROM trials) ORDER BY rowid"
        )
    ]


def _examine(
    database: Database, table: str, where: str = "TRUE", *arguments: object
) -> Iterator[tuple[int, tuple[Any, ...], str | None]]:
    """Yield row ID, values and a description of the damage, or None."""
    columns = ", ".join(COLUMNS[table])
    rows = database.read(
        f"SELECT rowid, {columns}, checksum FROM {table} WHERE {where} ORDER BY rowid",
        *arguments,
    )
    # Read after the results, because another process may add both.
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
    trial, *others, environment, finished = values
    stored, seconds = others[: len(CURVES)], others[len(CURVES) :]
    _check_types((trial, finished), str)
    _check_types(stored, bytes)
    _check_types(seconds, float)
    _check_types((environment,), int)
    try:
        curves = read_curves(stored)
        if not curves.epochs:
            raise StoreError("its curves have no epochs")
    except InvalidParameterError as error:
        raise StoreError(f"its curves are invalid ({str(error).rstrip('.')})") from error


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


def _name_of(database: Database, table: str, values: Sequence[Any]) -> str:
    """Describe a row as far as its values can be read."""
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
    """Describe a trial, if its content can be read."""
    try:
        return f" ({Trial(**json_object(content))})"
    except (StoreError, TypeError, AttributeError):
        return ""
