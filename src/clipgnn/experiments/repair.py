"""Repair of a damaged store: what cannot be trusted is deleted, the rest is kept."""

from pathlib import Path

from clipgnn.errors import StoreError
from clipgnn.experiments.database import Database
from clipgnn.experiments.rows import Damage, damages, insert
from clipgnn.experiments.trial import canonical


def repair(path: Path) -> list[Damage]:
    """Delete the damaged rows of a store, so that the next run measures them again.

    Of a damaged trial its results and attempts are deleted too. Results whose environment is
    damaged are kept, with an environment that says so. All of it happens, or nothing. No run
    should use the store meanwhile.

    Args:
        path: the store.

    Returns:
        What was damaged.

    Raises:
        StoreError: if the structure of the file is damaged, which only a copy can replace.
    """
    database = Database(path, check=False)
    try:
        database.check_schema()
        database.write("PRAGMA foreign_keys = OFF")  # rows may refer to what is damaged
        with database.transaction():
            database.write("REINDEX")  # before anything is looked up
            found = damages(database)
            for damage in found:
                if damage.table != "results" or not damage.why.endswith("is missing"):
                    database.write(f"DELETE FROM {damage.table} WHERE rowid = ?", damage.row)
            for table in ("claims", "attempts", "results"):
                database.write(
                    f"DELETE FROM {table} WHERE trial NOT IN (SELECT identity FROM trials)"
                )
            _replace_environments(database)
            database.check_integrity()
            if left := damages(database):
                raise StoreError(f"{path} cannot be repaired: {left[0].what}, {left[0].why}.")
    finally:
        database.close()
    return found


def _replace_environments(database: Database) -> None:
    """Environments that results refer to and that were damaged: unknown ones in their place."""
    for (number,) in database.read(
        "SELECT DISTINCT environment FROM results "
        "WHERE environment NOT IN (SELECT number FROM environments)"
    ):
        lost = f"unknown (environment {number} was damaged)"
        content = canonical({"device": lost, "versions": {}, "machine": {}})
        insert(database, "environments", number, content)
