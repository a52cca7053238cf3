"""Joining of stores, such as those of several machines."""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clipgnn.curves import CURVES
from clipgnn.errors import StoreError
from clipgnn.experiments.artifacts import model_path, predictions_path
from clipgnn.experiments.checksums import json_object
from clipgnn.experiments.commits import commits_with
from clipgnn.experiments.database import Database
from clipgnn.experiments.rows import insert, next_number, verified
from clipgnn.experiments.trial import canonical

SOURCE, COMMIT = "clipgnn-source", "clipgnn-commit"
"""Names of the hash of the source and of its commit among the versions of an environment."""


@dataclass(frozen=True)
class Merged:
    """What was copied from a store.

    Attributes:
        results: number of new results.
        known: number of results whose trials had one before, which is kept.
        different: how many of these have other curves than the one that is kept.
    """

    results: int
    known: int
    different: int


def merge(target: Path, source: Path, repository: Path | None) -> Merged:
    """Copy runs, results, divergences, models and predictions of a store to another store.

    The target is created if it does not exist. Everything is copied or nothing. Of two results for
    a trial the first is kept.

    Args:
        target: the store to copy to.
        source: the store to copy.
        repository: a Git repository of this package; only results of its commits are copied, and
            their environments get the commit. None copies results of any source.

    Raises:
        StoreError: if a store is damaged or missing, or a result was not computed with committed
            source.
    """
    if not source.exists():
        raise StoreError(f"There is no store {source}.")
    if target.exists() and source.samefile(target):
        raise StoreError(f"A store cannot be merged with itself. Got {source} twice.")
    with closing(Database(source)) as origin:
        commits = {} if repository is None else _commits(origin, source, repository)
        with closing(Database(target, create=True)) as destination:
            return _copy(origin, destination, commits)


def _commits(origin: Database, source: Path, repository: Path) -> Mapping[str, str]:
    """Find the commits of all results of a store."""
    used = {row[-2] for row in verified(origin, "results")}
    hashes = {
        _source_of(json_object(content))
        for number, content in verified(origin, "environments")
        if number in used
    }
    commits = commits_with(repository, hashes)
    if unknown := sorted(hashes - commits.keys()):
        raise StoreError(
            f"Results of {source} must have been computed with committed source. Got source "
            f"{', '.join(unknown)}, which no commit of {repository} has. Run the experiment again "
            "with committed source, or merge without a repository."
        )
    return commits


def _source_of(environment: Mapping[str, Any]) -> str:
    source: str = environment["versions"].get(SOURCE, "unknown")
    return source


def _copy(origin: Database, target: Database, commits: Mapping[str, str]) -> Merged:
    with target.transaction():
        _copy_plans(origin, target)
        known_trials = {own for own, _ in verified(target, "trials")}
        for identity, content in verified(origin, "trials"):
            if identity not in known_trials:
                insert(target, "trials", identity, content)
        before = {row[0]: _curves_of(row) for row in verified(target, "results")}
        environments = _copy_environments(origin, target, commits)
        results = verified(origin, "results")
        for trial, *values, environment, finished in results:
            if trial not in before:
                _copy_files(origin.path, target.path, trial)
                insert(target, "results", trial, *values, environments[environment], finished)
        _copy_divergences(origin, target)
    known = [row for row in results if row[0] in before]
    different = sum(before[row[0]] != _curves_of(row) for row in known)
    return Merged(len(results) - len(known), len(known), different)


def _curves_of(result: Sequence[Any]) -> Sequence[Any]:
    return result[1 : 1 + len(CURVES)]


def _copy_plans(origin: Database, target: Database) -> None:
    known = {tuple(row[1:]) for row in verified(target, "plans")}
    for _, *values in verified(origin, "plans"):
        if tuple(values) not in known:
            insert(target, "plans", next_number(target, "plans"), *values)


def _copy_environments(
    origin: Database, target: Database, commits: Mapping[str, str]
) -> dict[int, int]:
    """Copy environments with their commits; return the new numbers by the old ones."""
    numbers = {content: number for number, content in verified(target, "environments")}
    copied = {}
    for number, content in verified(origin, "environments"):
        environment = json_object(content)
        commit = commits.get(_source_of(environment))
        if commit is not None:
            environment["versions"][COMMIT] = commit
        content = canonical(environment)
        if content not in numbers:
            numbers[content] = next_number(target, "environments")
            insert(target, "environments", numbers[content], content)
        copied[number] = numbers[content]
    return copied


def _copy_divergences(origin: Database, target: Database) -> None:
    """Copy the attempts that diverged, with their sessions, which have ended."""
    known = {tuple(row[1:]) for row in verified(target, "attempts")}
    diverged = [row[1:] for row in verified(origin, "attempts") if row[3] == "diverged"]
    sessions = json.dumps(sorted({session for _, session, *_ in diverged}))
    rows = origin.read(
        "SELECT identity, machine, process, started, heartbeat, command, begun, "
        "coalesce(ended, begun) FROM sessions WHERE identity IN (SELECT value FROM json_each(?))",
        sessions,
    )
    for row in rows:
        target.write("INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)
    for values in diverged:
        if tuple(values) not in known:
            insert(target, "attempts", next_number(target, "attempts"), *values)


def _copy_files(origin: Path, target: Path, trial: str) -> None:
    for path_of in (model_path, predictions_path):
        file, copy = path_of(origin, trial), path_of(target, trial)
        if file.is_file():
            try:
                copy.parent.mkdir(exist_ok=True)
                shutil.copyfile(file, copy)
            except OSError as error:
                raise StoreError(f"{copy} cannot be written: {error}") from error
