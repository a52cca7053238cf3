"""Damage inside a store is refused and named, never shown as a number."""

import random
import shutil
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.experiments.fake_training import diverging, small_experiment
from tests.faults.command import experiment, report

from clipgnn.errors import ClipGNNError, DamagedStoreError, StoreError
from clipgnn.experiments.checksums import checksum
from clipgnn.experiments.compact import compact
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.evaluation import evaluate
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.repair import Repaired, repair
from clipgnn.experiments.rows import COLUMNS
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.sessions import Session
from clipgnn.experiments.store import Store
from clipgnn.report import make_table, provenance
from clipgnn.report.csv_text import render_csv

SPEC = Overrides(datasets=["csl"], where={"num_layers": (2,)})(small_experiment())
TRIAL = SPEC.trials()[3]
DIVERGED = SPEC.trials()[5]
NAMED = "clip on csl (hidden_channels 16, num_colorings 0, num_layers 2, batch 32), fold 3"
MISMATCH = "its checksum does not match"

train = partial(diverging, bad={DIVERGED.identity})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("finished") / "small.sqlite"
    with Store(path, create=True) as store:
        run_experiment(
            SPEC, store, InProcessExecutor(train), command="clipgnn experiment run small"
        )
    return path


@pytest.fixture
def path(finished, tmp_path):
    return shutil.copy(finished, tmp_path / "small.sqlite")


def table_of(path):
    """All that a report reads, as it prints it."""
    with Store(path) as store:
        [plan] = store.plans()
        spec = replace(parse_experiment(plan.content, plan.name, str(path)), data=plan.data)
        results = store.results()
        store.claimed()
        cells = evaluate(spec, results, diverged=store.diverged())
        return render_csv(make_table(spec, cells, "gin", provenance(spec, store, results)))


def change(path, statement, *values):
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(statement, values)
        raw.commit()


def change_with_checksum(path, table, column, value):
    """A value that was wrong before its checksum was computed."""
    with closing(sqlite3.connect(path)) as raw:
        columns = ", ".join(COLUMNS[table])
        row, *values = raw.execute(f"SELECT rowid, {columns} FROM {table}").fetchone()
        values[COLUMNS[table].index(column)] = value
        raw.execute(
            f"UPDATE {table} SET {column} = ?, checksum = ? WHERE rowid = ?",
            (value, checksum(*values), row),
        )
        raw.commit()


def check_all(path, expected, damage, offsets):
    """Each damage is refused or changes nothing; says how many were refused."""
    content = path.read_bytes()
    refused = 0
    for offset in offsets:
        damaged = bytearray(content)
        damage(damaged, offset)
        path.write_bytes(damaged)
        try:
            assert table_of(path) == expected, f"another table after damage at {offset}"
        except ClipGNNError:
            refused += 1
    return refused


def test_flipped_bits_are_refused_or_change_nothing(path):
    expected = table_of(path)
    chance = random.Random(9)
    content = path.read_bytes()
    used = [offset for offset, byte in enumerate(content) if byte]  # half of the pages is empty
    offsets = chance.sample(used, 250)

    def flip(content, offset):
        content[offset] ^= 1 << chance.randrange(8)

    assert check_all(path, expected, flip, offsets) >= 200


def test_overwritten_sectors_are_refused_or_change_nothing(path):
    expected = table_of(path)
    chance = random.Random(10)

    def overwrite(content, offset):
        content[offset : offset + 512] = chance.choice([bytes(512), chance.randbytes(512)])

    assert check_all(path, expected, overwrite, range(0, path.stat().st_size, 2048)) > 10


OTHER = {
    str: lambda value: ("1" if value[0] == "0" else "0") + value[1:],
    bytes: lambda value: bytes([value[0] ^ 1, *value[1:]]) if value else bytes(8),
    float: lambda value: value + 1e-9,
    int: lambda value: value + 100,
    type(None): lambda value: "an error",
}


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table in COLUMNS for column in COLUMNS[table]]
)
def test_every_column_counts(path, table, column):
    with closing(sqlite3.connect(path)) as raw:
        row, value = raw.execute(f"SELECT rowid, {column} FROM {table}").fetchone()
        raw.execute("PRAGMA ignore_check_constraints = ON")
        other = OTHER[type(value)](value)
        raw.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (other, row))
        raw.commit()
    with pytest.raises(StoreError, match="is damaged"):
        table_of(path)


def test_damage_is_named_and_can_be_repaired(path):
    expected = table_of(path)
    change(path, "UPDATE results SET seconds = 0.75 WHERE trial = ?", TRIAL.identity)
    for reading in (
        table_of,
        lambda path: run_experiment(SPEC, Store(path), InProcessExecutor(train)),
    ):
        with pytest.raises(DamagedStoreError, match="the result of trial") as caught:
            reading(path)
        assert f"{TRIAL.identity} ({NAMED})" in str(caught.value)
        assert MISMATCH in str(caught.value)
        assert "`clipgnn.experiments.repair`" in str(caught.value)
        assert caught.value.path == path
    assert repair(path) == [
        Repaired(f"the result of trial {TRIAL.identity} ({NAMED})", MISMATCH, "deleted")
    ]
    with Store(path) as store:
        assert len(store.results()) == 6
        progress = run_experiment(SPEC, store, InProcessExecutor(train), command="")
        assert (progress.reused, progress.finished, progress.diverged) == (6, 7, 1)
        [first, _] = store.plans()
    assert first.command == "clipgnn experiment run small"
    change(path, "DELETE FROM plans WHERE number = 2")
    assert table_of(path) == expected
    assert repair(path) == []


@pytest.mark.parametrize("outcome", ["succeeded", "lost", "failed"])
def test_another_outcome_of_a_diverged_trial_is_refused(path, outcome):
    change(path, "UPDATE attempts SET outcome = ? WHERE outcome = 'diverged'", outcome)
    for reading in (
        table_of,
        lambda path: report(str(path)),
        lambda path: experiment("status", "small", "--store", str(path)),
    ):
        with pytest.raises(ClipGNNError, match=r"attempt \d of trial .* its checksum does not"):
            reading(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE results SET test_score = x'01' || substr(test_score, 2)",
        "UPDATE trials SET content = replace(content, '\"fold\":3', '\"fold\":2')",
    ],
)
def test_the_status_of_a_damaged_store_is_refused(path, statement):
    arguments = ("status", "small", "--store", str(path))
    assert "7 of 8 trials finished, 0 running, 0 failed, 1 diverged" in experiment(*arguments)
    change(path, statement)
    with pytest.raises(ClipGNNError, match="is damaged"):
        experiment(*arguments)


def test_a_trial_whose_identity_is_not_the_hash_of_its_content(path):
    change_with_checksum(path, "trials", "content", TRIAL.content.replace('"fold":3', '"fold":2'))
    with pytest.raises(StoreError, match=r"trial \w+ .* its identity is not the hash of its cont"):
        table_of(path)
    trial, attempt, result = repair(path)
    assert trial.what.startswith("trial ")
    identity = trial.what.split()[1]
    assert (attempt.what, result.what) == (
        f"attempt 1 of trial {identity}",
        f"the result of trial {identity}",
    )
    for also in (attempt, result):
        assert (also.why, also.action) == ("its trial is damaged or missing", "deleted")
    with Store(path) as store:
        assert len(store.results()) == 6


def test_a_damaged_environment_keeps_its_results(path):
    change(path, "UPDATE environments SET content = replace(content, 'none', 'nine')")
    with pytest.raises(StoreError, match=r"environment 1 .* its checksum does not match"):
        table_of(path)
    what = "environment 1 (versions and machine of results)"
    assert repair(path) == [Repaired(what, MISMATCH, "deleted")]
    assert "unknown (environment 1 was damaged)" in table_of(path)


def test_a_result_without_its_environment(path):
    change(path, "DELETE FROM environments")
    with pytest.raises(StoreError, match="its environment 1 is missing"):
        table_of(path)
    repaired = repair(path)
    assert len(repaired) == 7
    assert {(own.why, own.action) for own in repaired} == {("its environment 1 is missing", "kept")}
    assert "unknown (environment 1 was damaged)" in table_of(path)


def test_a_result_without_its_environment_and_its_trial_is_deleted(path):
    change(path, "DELETE FROM environments")
    change(path, "UPDATE trials SET content = '' WHERE identity = ?", TRIAL.identity)
    actions = {own.what: own.action for own in repair(path)}
    assert actions.pop(f"the result of trial {TRIAL.identity}") == "deleted"
    assert [action for what, action in actions.items() if "result of" in what] == ["kept"] * 6
    with Store(path) as store:
        assert len(store.results()) == 6


def claimed_elsewhere(path, monkeypatch, *, machine):
    """A session of this process that has claimed the diverged trial."""
    with monkeypatch.context() as patched, Store(path) as store:
        session = Session.of_this_process()
        session = replace(session, machine=machine or session.machine)
        patched.setattr(Session, "of_this_process", classmethod(lambda cls: session))
        store.claim(
            store.begin("small", SPEC.content(), "", [DIVERGED]),
            [DIVERGED],
            diverged=[DIVERGED.identity],
        )
    return session


@pytest.mark.parametrize(
    ("machine", "advice"),
    [("", "Wait until it ends, or stop it"), ("faraway boot pid", "claims expire in 180 s")],
)
def test_a_store_in_use_is_not_repaired(path, monkeypatch, machine, advice):
    session = claimed_elsewhere(path, monkeypatch, machine=machine)
    change(path, "UPDATE results SET seconds = 0.75 WHERE trial = ?", TRIAL.identity)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="must not be in use") as caught:
        repair(path)
    assert f"{session} (session {session.identity[:8]}) has claimed 1 trial." in str(caught.value)
    assert advice in str(caught.value)
    assert path.read_bytes() == before
    change(path, "UPDATE sessions SET started = '0', heartbeat = 1.0")  # it has ended since
    assert len(repair(path)) == 1


def test_a_row_that_was_deleted_during_a_run(path):
    """As an older clipgnn repaired stores in use."""
    with Store(path) as store:
        session = store.begin("small", SPEC.content(), "", SPEC.trials())
        change(path, "DELETE FROM trials WHERE identity = ?", TRIAL.identity)
        with pytest.raises(StoreError, match="was changed by another program") as caught:
            store.record_failure(session, [TRIAL], "bad", "Traceback")
    assert "FOREIGN KEY constraint failed" in str(caught.value)
    assert "and run again" in str(caught.value)


def test_a_damaged_index(path):
    """SQLite's quick check does not see it, and `finished` reads from it."""
    with closing(sqlite3.connect(path)) as raw:
        [(page,)] = raw.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_results_1'"
        ).fetchall()
        [(size,)] = raw.execute("PRAGMA page_size").fetchall()
    content = bytearray(path.read_bytes())
    at = content.index(TRIAL.identity.encode(), (page - 1) * size)
    assert at < page * size
    content[at + 15] ^= 1
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    with pytest.raises(StoreError, match="is damaged"):
        Store(path)
    assert repair(path) == []
    assert table_of(path)


DEEP = '{"a":' * 900 + "1" + "}" * 900


@pytest.mark.parametrize(
    ("table", "column", "value", "why"),
    [
        ("plans", "content", "{", "its JSON cannot be read"),
        ("plans", "content", "[" * 100_000, "its JSON cannot be read"),
        ("plans", "content", DEEP, "its JSON is nested more than 32 levels deep"),
        ("plans", "content", "[1]", "its JSON must be an object and is a list"),
        ("plans", "content", '{"title": ' + "1" * 5000 + "}", "its JSON cannot be read"),
        ("plans", "content", b"{}", "it must have a str where it has a bytes"),
        ("plans", "name", b"\xff", "it must have a str where it has a bytes"),
        ("environments", "content", '{"device": "cpu"}', "it must have a dict where it has a None"),
        (
            "environments",
            "content",
            '{"device": "cpu", "versions": {"python": 3}, "machine": {}}',
            "it must have a str where it has a int",
        ),
        ("results", "test_score", b"1234567", "its curves cannot be decompressed"),
        ("results", "test_score", b"", "its curves are not complete"),
        ("results", "test_score", compact(np.zeros(5))[:-3], "its curves are not complete"),
        ("results", "test_score", compact(np.zeros(5)) + b"x", "its curves are not complete"),
        ("results", "test_score", compact(np.zeros(0)), "test_score must have a value for each"),
        (
            "results",
            "test_score",
            b"n" + zlib.compress(bytes(7)),
            "4 bytes for each epoch. Got 7 bytes",
        ),
        (
            "results",
            "test_score",
            b"n" + zlib.compress(bytes(40_000_004)),
            "more than 10,000,000 values",
        ),
        ("results", "test_score", b"x" + zlib.compress(bytes(20)), "order of its curves"),
        ("results", "train_loss", compact(np.zeros(1)), "test_score must .* the 1 epochs"),
        ("results", "validation_score", compact(np.zeros(2)), r"Got 2 values\)"),
        (
            "results",
            "train_loss",
            compact(np.full(5, np.nan)),
            "train_loss must be finite. Got nan in epoch 1",
        ),
        ("results", "test_score", "text", "it must have a bytes where it has a str"),
        ("results", "seconds", b"abc", "it must have a float where it has a bytes"),
        ("attempts", "error", b"\xff", "it must have a str where it has a bytes"),
    ],
)
def test_values_that_cannot_be(path, table, column, value, why):
    change_with_checksum(path, table, column, value)
    with pytest.raises(StoreError, match=f"is damaged: .* because .*{why}"):
        table_of(path)
    repair(path)
    with Store(path) as store:
        store.results()
        store.plans()


def test_a_damaged_session_delays_nobody(path):
    change(path, "UPDATE sessions SET heartbeat = 'soon', process = x'00'")
    change(path, "DELETE FROM results WHERE trial = ?", TRIAL.identity)
    change(path, "INSERT INTO claims SELECT ?, identity, 'now' FROM sessions", TRIAL.identity)
    with Store(path) as store:
        assert store.claimed() == {}
        assert run_experiment(SPEC, store, InProcessExecutor(train)).finished == 7


def test_an_error_with_bytes_of_a_file_name_is_recorded(path):
    with Store(path) as store:
        session = store.begin("small", SPEC.content(), "", SPEC.trials())
        store.record_failure(session, [TRIAL], "no file \udcff", "Traceback \udcff")
        change(path, "DELETE FROM results WHERE trial = ?", TRIAL.identity)
        assert store.failures()[TRIAL.identity].error == "no file \\udcff"
