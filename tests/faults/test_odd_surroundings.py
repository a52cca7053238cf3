"""Commands on ASCII terminals, in folders that cannot be written, and without data."""

import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.fake_training import SMALL, fake, fake_fingerprint
from tests.experiments.own_files import write_paths
from tests.faults.command import command, experiment

from clipgnn.datasets import tu
from clipgnn.errors import ClipGNNError, DatasetNotFoundError
from clipgnn.experiments import data
from clipgnn.experiments.data import load
from clipgnn.experiments.reading import read_experiment

NASTY = SMALL.replace("A small table", "± ∞ †").replace('"0-CLIP"', '"0-CLIP → ∞"')
RUN = ("run", "small.toml", "--executor", "in-process", "--device", "cpu", "--datasets", "csl")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an experiment, whose training is not real."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("clipgnn.experiments.work.run_trials", lambda trials, **_: fake(trials))
    (tmp_path / "small.toml").write_text(NASTY)
    return tmp_path


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment in a store, runs/small.sqlite."""
    monkeypatch.setattr(data, "fingerprint_of", fake_fingerprint)
    experiment(*RUN)


COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("experiment", *RUN),
    "resume": ("experiment", "resume", "small", "--executor", "in-process", "--device", "cpu"),
    "status": ("experiment", "status", "small"),
    "report": ("report", "small"),
    "markdown": ("report", "small", "--format", "markdown"),
    "merge": ("experiment", "merge", "--any-source", "other ∞.sqlite", "runs/small.sqlite"),
    "repair": ("experiment", "repair", "small"),
}


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())
def test_an_ascii_terminal(monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    for name, value in (("LANG", "C"), ("LC_ALL", "C"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    assert command(*words, encoding="ascii").isascii()


@pytest.mark.parametrize("form", ["text", "markdown", "csv"])
def test_data_on_an_ascii_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    write_paths(folder / "data" / "Größe")
    words = ("data", "Größe", "--root", "data", "--format", form)
    assert r"Gr\xf6\xdfe" in command(*words, encoding="ascii")


def test_an_error_on_an_ascii_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with pytest.raises(ClipGNNError, match="There is no experiment 'inf'") as caught:
        experiment("run", "∞", encoding="ascii")
    assert str(caught.value).isascii()


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file and folder of a store, as it is for a user without permission to write.

    Permissions are not enough for a test: root may write everywhere.
    """
    connect = sqlite3.connect

    def without_writing(database: str, **options: Any) -> sqlite3.Connection:
        return connect(database.replace("?mode=rw", "?mode=ro&"), **options)

    def refused(self: Path, *_: object, **__: object) -> None:
        if not self.is_dir():
            raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(sqlite3, "connect", without_writing)
    monkeypatch.setattr(Path, "mkdir", refused)


@pytest.mark.usefixtures("stored", "read_only")
@pytest.mark.parametrize("name", ["run", "resume", "repair"])
def test_a_store_that_cannot_be_written(name: str) -> None:
    with pytest.raises(ClipGNNError, match=r"small.sqlite cannot be written. Check its perm"):
        command(*COMMANDS[name])


@pytest.mark.usefixtures("stored", "read_only")
@pytest.mark.parametrize("name", ["status", "report"])
def test_a_store_is_read_without_writing(name: str) -> None:
    assert "0-CLIP" in command(*COMMANDS[name])


@pytest.mark.usefixtures("stored", "read_only")
def test_a_target_that_cannot_be_written() -> None:
    with pytest.raises(ClipGNNError, match=r"other.sqlite cannot be opened. Check that its folder"):
        experiment("merge", "--any-source", "other.sqlite", "runs/small.sqlite")
    with pytest.raises(ClipGNNError, match=r"The folder of new/other.sqlite cannot be created"):
        experiment("merge", "--any-source", "new/other.sqlite", "runs/small.sqlite")


@pytest.mark.usefixtures("read_only")
def test_a_working_directory_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "fingerprint_of", fake_fingerprint)
    with pytest.raises(ClipGNNError, match=r"folder of runs/small.sqlite .*Permission denied. Use"):
        experiment(*RUN)


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("small.toml/x.sqlite", "The folder of small.toml/x.sqlite cannot be created: "),
        pytest.param(
            "/proc/x.sqlite",
            "/proc/x.sqlite cannot be opened",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
        ),
    ],
)
def test_a_store_where_no_file_can_be(
    monkeypatch: pytest.MonkeyPatch, store: str, message: str
) -> None:
    monkeypatch.setattr(data, "fingerprint_of", fake_fingerprint)
    with pytest.raises(ClipGNNError, match=message):
        experiment(*RUN, "--store", store)
    for name in ("status", "repair"):
        with pytest.raises(ClipGNNError, match=rf"There is no store {store}"):
            command(*COMMANDS[name], "--store", store)


def test_an_executor_is_closed_if_there_is_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[object] = []
    monkeypatch.setattr(data, "fingerprint_of", fake_fingerprint)
    monkeypatch.setattr(
        "clipgnn.experiments.executors.in_process.InProcessExecutor.close",
        lambda self: closed.append(self),
    )
    with pytest.raises(ClipGNNError, match="cannot be created"):
        experiment(*RUN, "--store", "small.toml/x.sqlite")
    assert len(closed) == 1


MISSING = """
datasets = ["csl", "tu:FIRST", "MUTAG", "tu:HERE", "PROTEINS@node_attributes"]
[[models]]
model = "gin"
"""


@pytest.fixture
def attempts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Downloads that were attempted without a network."""
    found: list[str] = []

    def no_network(name: str, root: Path) -> None:
        found.append(name)
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr(tu, "download_tu", no_network)
    monkeypatch.setattr("clipgnn.commands.experiment.make_executor", lambda *_: 1 / 0)
    (folder / "missing.toml").write_text(MISSING)
    write_paths(folder / "data" / "HERE")
    return found


@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_all_missing_data_sets_are_one_error_before_any_trial(
    folder: Path, attempts: list[str], executor: str
) -> None:
    with pytest.raises(ClipGNNError) as caught:
        experiment("run", "missing.toml", "--root", "data", "--executor", executor)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert f"The data set 'FIRST' is not in {folder / 'data'}" in message
    assert "could not be downloaded (ConnectionError: Name or service not known)" in message
    assert "or set --root or the environment variable CLIPGNN_DATA" in message
    assert "Other data sets that are missing: MUTAG, PROTEINS@node_attributes." in message
    assert attempts == ["FIRST"], "one attempt to connect"
    assert not (folder / "runs").exists()


def test_a_cache_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLIPGNN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "small.toml"))  # a file
    monkeypatch.setattr(
        "clipgnn.datasets.tu_download.build_opener", lambda *_: pytest.fail("no folder, no use")
    )
    (folder / "missing.toml").write_text(MISSING)
    with pytest.raises(ClipGNNError, match=r"could not be downloaded \(\w+Error: .*small.toml"):
        experiment("run", "missing.toml")
    with pytest.raises(ClipGNNError, match=r"'UNKNOWN' is not in .*set --root or the env"):
        command("data", "UNKNOWN", "--download")


def test_a_process_does_not_repeat_a_download(attempts: list[str], folder: Path) -> None:
    trials = read_experiment(folder / "missing.toml").trials()
    for trial in [own for own in trials if own.dataset == "MUTAG"][:3]:
        with pytest.raises(DatasetNotFoundError, match="could not be downloaded"):
            load(trial, str(folder / "data"))
    assert attempts == ["MUTAG"]
