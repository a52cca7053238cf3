"""A campaign of kills: runs and workers are killed at random moments, resumed, and compared."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.campaign.runs import (
    EXECUTORS,
    LIMIT,
    SPECS,
    DisturbedError,
    Reference,
    available,
    begin,
    check,
    finish,
    kill,
    reference,
)

RAY_SHARE = 0.1
"""Part of the kills that Ray gets; it takes long to begin, so it is less than its third."""

MAX_FAILURES = 3
"""An executor and experiment that fail more often than this are given up."""

KILLS_A_STORE = 5
"""Kills that one store goes through before its run may end and is compared."""


@dataclass
class Tally:
    """What became of one executor with one experiment."""

    executor: str
    experiment: str
    kills: Counter[str] = field(default_factory=Counter)
    stores: int = 0
    curves: int = 0
    failures: list[str] = field(default_factory=list)


def spread(kills: int) -> Iterator[tuple[str, str, int]]:
    """How many kills each executor and experiment gets."""
    pairs = [(one, other) for one in EXECUTORS for other in SPECS if available(one, other)]
    with_ray = [pair for pair in pairs if pair[0] == "ray"]
    others = [pair for pair in pairs if pair[0] != "ray"]
    for_ray = round(kills * RAY_SHARE) if with_ray else 0
    for share, group in ((for_ray, with_ray), (kills - for_ray, others)):
        for place, pair in enumerate(group):
            own = share // len(group) + (place < share % len(group))
            if own:
                yield *pair, own


def disturb(
    folder: Path, tally: Tally, right: Reference, kills: int, random_numbers: random.Random
) -> None:
    """Kill runs on one executor this many times, in several stores, and compare each store."""
    while (left := kills - sum(tally.kills.values())) > 0:
        store = folder / f"{tally.experiment}-{tally.executor}-{tally.stores}.sqlite"
        tally.stores += 1
        try:
            for _ in range(min(left, KILLS_A_STORE)):
                killed = kill_once(folder, tally, store, right, random_numbers)
                tally.kills.update(killed)
                if not killed:
                    break  # it came to its end before: compare, and begin a new store
            finish(folder, tally.experiment, store, tally.executor)
            tally.curves += check(store, right.curves)
        except DisturbedError as error:
            tally.failures.append(f"{store.stem}: {error}")
            if len(tally.failures) > MAX_FAILURES:
                return


def kill_once(
    folder: Path, tally: Tally, store: Path, right: Reference, random_numbers: random.Random
) -> list[str]:
    """Begin or resume a run and kill it, or one of its workers, at a random moment.

    Returns:
        What was killed; nothing if the run ended before.
    """
    running = begin(folder, tally.experiment, store, tally.executor)
    first = right.start * (0.7 if random_numbers.random() < 0.8 else 0.0)
    slower = 2.5 if tally.executor == "ray" else 1.2  # its processes begin one after the other
    if running.ended_within(random_numbers.uniform(first, slower * right.seconds)):
        return []
    workers = running.workers()
    if workers and random_numbers.random() < 0.5:
        kill(random_numbers.choice(workers))
        # The run goes on; it may end with failures if this was the second attempt of a trial.
        patience = LIMIT if random_numbers.random() < 0.5 else right.seconds
        if running.ended_within(random_numbers.uniform(0.5, 1.0) * patience):
            return ["worker"]
        running.kill()
        return ["worker", "run"]
    running.kill()
    return ["run"]


def campaign(folder: Path, kills: int, seed: int, lanes: int = 2) -> tuple[list[Tally], float]:
    """The whole campaign, with `lanes` runs at a time."""
    began = time.monotonic()
    shares = list(spread(kills))
    references = {name: reference(folder, name) for name in {name for _, name, _ in shares}}

    def one(share: tuple[str, str, int]) -> Tally:
        executor, experiment, number = share
        tally = Tally(executor, experiment)
        own = random.Random(f"{seed}/{executor}/{experiment}")
        disturb(folder, tally, references[experiment], number, own)
        print(f"{executor}, {experiment}: {dict(tally.kills)}, {tally.failures or 'all equal'}")
        return tally

    with ThreadPoolExecutor(lanes) as pool:
        tallies = list(pool.map(one, shares))
    return tallies, time.monotonic() - began


def as_markdown(tallies: list[Tally], seconds: float, seed: int) -> str:
    kills = sum(sum(tally.kills.values()) for tally in tallies)
    failures = [failure for tally in tallies for failure in tally.failures]
    lines = [
        f"{kills} kills in {seconds / 60:.0f} minutes, seed {seed}, {len(failures)} failures.",
        "",
        "| executor | experiment | runs killed | workers killed | stores "
        "| trials compared | failures |",
        "| :--- | :--- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {tally.executor} | {tally.experiment} | {tally.kills['run']} | {tally.kills['worker']} "
        f"| {tally.stores} | {tally.curves} | {len(tally.failures)} |"
        for tally in tallies
    ]
    if failures:
        lines += ["", *(f"- {failure.splitlines()[0]}" for failure in failures)]
    return "\n".join(lines) + "\n"
