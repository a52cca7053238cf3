"""Claims of sessions on trials, read from the tables of a store."""

import time

from clipgnn.experiments.database import Database
from clipgnn.experiments.sessions import Claimant, Heartbeats, Session


def all_claimants(database: Database, heartbeats: Heartbeats) -> list[Claimant]:
    """Return all sessions that have claimed trials, alive or not.

    Args:
        database: the database of a store.
        heartbeats: clock of the heartbeats read so far.
    """
    rows = database.read(
        "SELECT claims.session, trial, machine, process, started, heartbeat "
        "FROM claims LEFT JOIN sessions ON sessions.identity = claims.session"
    )
    trials: dict[Session, set[str]] = {}
    last_heartbeat: dict[Session, float] = {}
    for identity, trial, machine, process, started, at in rows:
        if not isinstance(process, int) or not isinstance(at, float):
            # Damaged, or without its session: the oldest heartbeat, so that the claim has expired.
            machine, process, started, at = "unknown", 0, "unknown", 0.0
        session = Session(str(identity), str(machine), process, str(started))
        trials.setdefault(session, set()).add(trial)
        last_heartbeat[session] = at
    return [
        Claimant(
            session,
            frozenset(own),
            silence=heartbeats.silence(session, last_heartbeat[session]),
            ahead=max(0.0, last_heartbeat[session] - time.time()),
        )
        for session, own in trials.items()
    ]
