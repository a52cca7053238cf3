"""Which sessions have claimed trials of a store, as its tables say."""

import time

from clipgnn.experiments.database import Database
from clipgnn.experiments.sessions import Claimant, Heartbeats, Session


def all_claimants(database: Database, heartbeats: Heartbeats) -> list[Claimant]:
    """All sessions that have claimed trials, alive or not.

    Args:
        database: the database of a store.
        heartbeats: what was seen of the sessions before.
    """
    rows = database.read(
        "SELECT claims.session, trial, machine, process, started, signed "
        "FROM claims LEFT JOIN sessions ON sessions.identity = claims.session"
    )
    trials: dict[Session, set[str]] = {}
    signed: dict[Session, float] = {}
    for identity, trial, machine, process, started, at in rows:
        if not isinstance(process, int) or not isinstance(at, float):
            # Damaged, or without its session: as old as can be, so that nobody waits for it.
            machine, process, started, at = "unknown", 0, "unknown", 0.0
        session = Session(str(identity), str(machine), process, str(started))
        trials.setdefault(session, set()).add(trial)
        signed[session] = at
    return [
        Claimant(
            session,
            frozenset(own),
            silence=heartbeats.silence(session, signed[session]),
            ahead=max(0.0, signed[session] - time.time()),
        )
        for session, own in trials.items()
    ]
