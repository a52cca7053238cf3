"""Stores that are torn, foreign, locked or out of room lose nothing and say what is wrong."""

import resource
import shutil
import sqlite3
import subprocess
from contextlib import closing
from functools import partial

import pytest
from tests.experiments.fake_training import SMALL, fake, small_experiment
from tests.faults.fake_cli import COMMAND, ENVIRONMENT, ROOT

from clipgnn.errors import StoreError
from clipgnn.experiments.database import SCHEMA_VERSION
from clipgnn.experiments.evaluation import evaluate
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store

SPEC = small_experiment()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("finished") / "small.sqlite"
    with Store(path, create=True) as store:
        run_experiment(SPEC, store, InProcessExecutor(fake))
    return path


@pytest.fixture
def path(finished, tmp_path):
    return shutil.copy(finished, tmp_path / "small.sqlite")


def check_refused(path, message, **options):
    before = path.read_bytes()
    for create in (False, True):
        with pytest.raises(StoreError, match=message):
            Store(path, create=create, **options)
    assert path.read_bytes() == before


@pytest.mark.parametrize("part", [0.9, 0.5, 0.02])
def test_a_torn_store(path, part):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    check_refused(path, "small.sqlite is damaged or not a store")


def test_a_store_with_a_hole(path):
    content = bytearray(path.read_bytes())
    content[8192:20480] = bytes(12288)
    path.write_bytes(content)
    check_refused(path, "is damaged")


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "notes.sqlite"
    path.write_text("not a database at all, and longer than the header of one is" * 20)
    check_refused(path, "notes.sqlite is damaged or not a store")


def test_the_database_of_another_program(tmp_path):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE results (trial TEXT)")
        other.commit()
    check_refused(path, "other.sqlite is a database of another program")


def test_a_store_of_a_later_version(path):
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    check_refused(path, f"has schema version {SCHEMA_VERSION + 1}")


@pytest.mark.parametrize(
    ("sources", "named"),
    [
        (["5a79e3b5c201", "10d8a7"], "source 10d8a7, 5a79e3b5c201"),
        ([], "the clipgnn that wrote it"),
    ],
)
def test_a_store_whose_trials_do_not_name_their_data(path, sources, named):
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE environments SET content = 'torn'")
        for source in sources:
            content = f'{{"versions":{{"clipgnn-source":"{source}"}}}}'
            raw.execute(
                "INSERT INTO environments (content, checksum) VALUES (?, x'00')", (content,)
            )
        raw.execute("PRAGMA user_version = 1")
        raw.commit()
    check_refused(path, f"no fingerprints of their data.* {named}, or use a new")


def test_a_store_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="There is no store"):
        Store(tmp_path / "nothing.sqlite")
    assert not (tmp_path / "nothing.sqlite").exists()
    with pytest.raises(StoreError, match="must be a regular file"):
        Store(tmp_path, create=True)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be created"):
        Store(tmp_path / "file" / "small.sqlite", create=True)


def test_an_empty_file_is_a_new_store(tmp_path):
    path = tmp_path / "new.sqlite"
    path.touch()  # what a process leaves that is killed before its first transaction
    with pytest.raises(StoreError, match="is empty"):
        Store(path)
    with Store(path, create=True) as store:
        assert store.finished() == set()


def test_a_locked_store(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        check_refused(path, "small.sqlite has been locked by .* for over 0.1 s", patience=0.1)
        other.execute("ROLLBACK")
    with Store(path) as store:
        assert len(store.finished()) == 48


def test_a_full_disk(path, tmp_path):
    """SQLite's own limit on pages: what it says is what it says of a full disk."""
    with Store(path) as store:
        expected = [cell.measurement for cell in evaluate(SPEC, store.results())]
    full = tmp_path / "full.sqlite"
    with Store(full, create=True) as store:
        connection = store._database._connection

        def filling(trials):
            if len(store.finished()) == 9:
                [(pages,)] = connection.execute("PRAGMA page_count").fetchall()
                connection.execute(f"PRAGMA max_page_count = {pages}")
            return fake(trials)

        with pytest.raises(StoreError, match=r"is full. Recorded results are safe"):
            run_experiment(SPEC, store, InProcessExecutor(filling))
        assert len(store.finished()) >= 9
    with Store(full) as store:
        earlier = store.results()
        assert len(earlier) >= 9
        progress = run_experiment(SPEC, store, InProcessExecutor(fake))
        assert progress.reused == len(earlier)
        assert [cell.measurement for cell in evaluate(SPEC, store.results())] == expected


def test_a_file_that_may_not_grow(path, tmp_path):
    """The system's limit on the size of files, which a write really runs into."""
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL)
    short = tmp_path / "short.sqlite"
    command = [*COMMAND, "experiment", "run", str(spec), "--store", str(short)]
    begin = partial(
        subprocess.run,
        [*command, "--executor", "in-process", "--device", "cpu"],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    limit = 80 * 1024
    stopped = begin(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert stopped.returncode == 2, stopped.stderr
    assert "Recorded results are safe" in stopped.stderr.replace("\n", " ")
    assert "Traceback" not in stopped.stderr
    with Store(short) as store:
        kept = len(store.finished())
        assert 0 < kept < 48
    assert begin().returncode == 0
    with Store(short) as store, Store(path) as whole:
        assert evaluate(SPEC, store.results()) == evaluate(SPEC, whole.results())


def test_a_store_that_may_not_be_written(path):
    path.chmod(0o400)
    with Store(path) as store:
        assert len(store.finished()) == 48
