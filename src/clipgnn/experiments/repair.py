"""Repair of a damaged store: damaged rows are deleted, the rest is kept."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clipgnn.errors import StoreError, counted
from clipgnn.experiments.claims import all_claimants
from clipgnn.experiments.database import Database
from clipgnn.experiments.rows import Damage, damages, insert, orphans
from clipgnn.experiments.sessions import Heartbeats
from clipgnn.experiments.trial import canonical


@dataclass(frozen=True)
class Repaired:
    """A damaged row, and whether it was deleted.

    Attributes:
        what: description of the row.
        why: description of the damage.
        action: whether it was deleted or kept.
    """

    what: str
    why: str
    action: Literal["deleted", "kept"]


def repair(path: Path) -> list[Repaired]:
    """Delete the damaged rows of a store, so that the next run trains their trials again.

    Results and attempts of a damaged trial are deleted too. Results whose environment is damaged
    are kept with the environment "unknown". The repair is one atomic transaction.

    Args:
        path: the store.

    Returns:
        The damaged rows and the rows of damaged trials, and whether they were deleted.

    Raises:
        StoreError: if a live session has claimed trials, or if the structure of the file is
            damaged, so that the file must be replaced by a copy.
    """
    database = Database(path, check=False)
    try:
        database.check_schema()
        database.write("PRAGMA foreign_keys = OFF")  # rows may refer to damaged ones
        with database.transaction():
            database.write("REINDEX")  # before any query uses an index
            _check_unused(database)
            repaired = _delete_damaged(database)
            _replace_environments(database)
            database.check_integrity()
            if left := damages(database):
                raise StoreError(f"{path} cannot be repaired: {left[0].what}, {left[0].why}.")
    finally:
        database.close()
    return repaired


def _check_unused(database: Database) -> None:
    """Check that no live session has claims, because its results could lose their trial."""
    for claimant in all_claimants(database, Heartbeats()):
        if claimant.alive:
            session = claimant.session
            advice = "Wait until it ends, or stop it"
            if not claimant.here:
                advice += f"; without a heartbeat its claims expire in {claimant.expires_in:.0f} s"
            raise StoreError(
                f"{database.path} must not be in use while it is repaired, and {session} "
                f"(session {session.identity[:8]}) has claimed "
                f"{counted(len(claimant.trials), 'trial')}. {advice}. Then repair the store."
            )


def _delete_damaged(database: Database) -> list[Repaired]:
    found = damages(database)
    for damage in found:
        if not _is_usable(damage):
            database.write(f"DELETE FROM {damage.table} WHERE rowid = ?", damage.row)
    lost = orphans(database)
    for damage in lost:
        database.write(f"DELETE FROM {damage.table} WHERE rowid = ?", damage.row)
    database.write("DELETE FROM claims WHERE trial NOT IN (SELECT identity FROM trials)")
    deleted = {(damage.table, damage.row) for damage in lost}
    return [
        Repaired(damage.what, damage.why, "kept" if _is_usable(damage) else "deleted")
        for damage in found
        if (damage.table, damage.row) not in deleted
    ] + [Repaired(damage.what, damage.why, "deleted") for damage in lost]


def _is_usable(damage: Damage) -> bool:
    """Return whether a damaged row is a result that only lacks its environment."""
    return damage.table == "results" and damage.why.endswith("is missing")


def _replace_environments(database: Database) -> None:
    """Insert unknown environments in place of damaged ones that results refer to."""
    for (number,) in database.read(
        "SELECT DISTINCT environment FROM results "
        "WHERE environment NOT IN (SELECT number FROM environments)"
    ):
        lost = f"unknown (environment {number} was damaged)"
        content = canonical({"device": lost, "versions": {}, "machine": {}})
        insert(database, "environments", number, content)
