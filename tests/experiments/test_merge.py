"""Joining of stores: nothing lost, nothing twice, nothing from uncommitted source."""

import subprocess
from functools import partial
from pathlib import Path

import pytest
from tests.experiments.fake_training import diverging, small_experiment
from tests.faults.command import experiment as command

from clipgnn.errors import ClipGNNError, InvalidParameterError, StoreError
from clipgnn.experiments.commits import commits_with
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.machine import hash_of_files
from clipgnn.experiments.merge import Merged, merge
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store

SPEC = Overrides(datasets=["csl"], where={"num_layers": (2,)})(small_experiment())
TRIALS = SPEC.trials()


def run(path: Path, folds: int, diverge: frozenset[str] = frozenset()) -> None:
    spec = Overrides(folds=folds)(SPEC)
    with Store(path, create=True) as store:
        run_experiment(spec, store, InProcessExecutor(partial(diverging, bad=diverge)))


def test_results_of_both(tmp_path: Path) -> None:
    first, second, target = (tmp_path / f"{name}.sqlite" for name in ("a", "b", "t"))
    run(first, folds=2)
    run(second, folds=3, diverge=frozenset({TRIALS[2].identity}))
    assert merge(target, first, None).known == 0
    merged = merge(target, second, None)
    assert merged.known > 0
    assert merged.different == 0
    with Store(first) as a, Store(second) as b, Store(target) as t:
        expected = {**b.results(), **a.results()}
        found = t.results()
        assert found.keys() == expected.keys()
        for identity, own in found.items():
            assert own.curves == expected[identity].curves
            assert t.environments()[own.environment] == a.environments()[1]
        assert t.plans() == a.plans() + b.plans()
        assert t.diverged().keys() == b.diverged().keys() - found.keys()
    assert merge(target, second, None) == Merged(0, merged.known + merged.results, 0)


def _repository(path: Path, contents: list[str]) -> list[str]:
    """A repository of the package with a commit for each content; return hashes of the source."""
    package = path / "src" / "clipgnn"
    (package / "sub").mkdir(parents=True)
    git = ["git", "-C", str(path), "-c", "user.name=A", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], check=True)
    hashes = []
    for content in contents:
        (package / "sub" / "one.py").write_text(content)
        (package / "sub.py").write_text("x = 1\n")
        (package / "data.txt").write_text(content)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "a commit"], check=True)
        files = {"sub/one.py": content.encode(), "sub.py": b"x = 1\n"}
        hashes.append(hash_of_files(files))
    return hashes


def test_commits_by_hash(tmp_path: Path) -> None:
    hashes = _repository(tmp_path, ["a = 1\n", "a = 2\n", "a = 3\n"])
    log = ["git", "-C", str(tmp_path), "log", "--format=%H", "--reverse"]
    commits = subprocess.run(log, capture_output=True, text=True, check=True).stdout.split()
    found = commits_with(tmp_path, {hashes[0], hashes[2], "unknown"})
    assert found == {hashes[0]: commits[0], hashes[2]: commits[2]}


def test_a_folder_without_commits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="must be a Git repository"):
        commits_with(tmp_path, {"a"})


def test_uncommitted_source_is_refused_and_nothing_is_copied(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    _repository(repository, ["a = 1\n"])
    source, target = tmp_path / "a.sqlite", tmp_path / "t.sqlite"
    run(source, folds=2)
    with pytest.raises(StoreError, match="must have been computed with committed source"):
        merge(target, source, repository)
    assert not target.exists()


def test_the_commit_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    [own] = _repository(repository, ["a = 1\n"])
    source, target = tmp_path / "a.sqlite", tmp_path / "t.sqlite"
    run(source, folds=2)
    with Store(source) as store:
        [environment] = store.environments().values()
    versions = environment["versions"]
    assert isinstance(versions, dict)
    monkeypatch.setattr(
        "clipgnn.experiments.merge.commits_with",
        lambda repository, hashes: dict.fromkeys(hashes, commits_with(repository, {own})[own]),
    )
    merge(target, source, repository)
    with Store(target) as store:
        [environment] = store.environments().values()
    commit = commits_with(repository, {own})[own]
    assert environment["versions"] == {**versions, "clipgnn-commit": commit}


def test_the_command(tmp_path: Path) -> None:
    source, target = tmp_path / "a.sqlite", tmp_path / "t.sqlite"
    run(source, folds=2)
    assert "new results." in command("merge", str(target), str(source), "--any-source")
    assert "0 new results, " in command("merge", str(target), str(source), "--any-source")
    with pytest.raises(ClipGNNError, match="cannot be merged with itself"):
        command("merge", str(target), str(target), "--any-source")
    with pytest.raises(ClipGNNError, match="There is no store"):
        command("merge", str(target), str(tmp_path / "none.sqlite"))
