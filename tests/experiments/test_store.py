"""A store gives back what was put in, and lets nobody take what is taken."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from tests.experiments.fake_training import fake_result, small_experiment, with_curves

from clipgnn.errors import StoreError
from clipgnn.experiments import rows
from clipgnn.experiments.attempts import Failure
from clipgnn.experiments.checksums import checksum
from clipgnn.experiments.sessions import Session
from clipgnn.experiments.store import Store

SPEC = small_experiment()
TRIALS = SPEC.trials()


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs" / "small.sqlite", create=True) as opened:
        yield opened


def begin(store):
    return store.begin(SPEC.name, SPEC.content(), "clipgnn experiment run small", TRIALS)


def test_results_come_back_in_single_precision(store):
    session = begin(store)
    loss = np.array([0.1 + 0.2, 1e38, -0.0, 1e-30, 1e-45], dtype=np.float32).astype(np.float64)
    result = with_curves(fake_result(TRIALS[0]), train_loss=loss)
    store.record(session, [result])
    back = store.results()[TRIALS[0].identity]
    assert back.curves.train_loss.tobytes() == loss.tobytes()
    assert back.curves.test_score == pytest.approx(result.curves.test_score, rel=1e-7)
    assert (back.seconds, back.epoch_seconds, back.compile_seconds) == (0.5, 0.1, 0.0)
    environment = store.environments()[back.environment]
    assert environment["versions"] == result.versions
    assert environment["machine"] == result.machine
    assert environment["device"] == "cpu"


def test_plans_are_kept_in_order(store):
    begin(store)
    part = small_experiment(datasets=["csl"])
    store.begin("part", part.content(), "second", part.trials())
    assert [(plan.name, plan.command) for plan in store.plans()] == [
        ("small", "clipgnn experiment run small"),
        ("part", "second"),
    ]
    assert store.plans()[1].content == part.content()


def test_a_claim_is_exclusive_until_it_is_done_or_given_back(store):
    ours, theirs = begin(store), begin(store)
    assert store.claim(ours, TRIALS[:3])
    assert not store.claim(theirs, TRIALS[2:5]), "all or none"
    assert store.claim(theirs, TRIALS[3:5])
    assert store.claimed() == {
        **{trial.identity: ours.identity for trial in TRIALS[:3]},
        **{trial.identity: theirs.identity for trial in TRIALS[3:5]},
    }
    store.record(ours, [fake_result(TRIALS[0])])
    store.record_failure(ours, [TRIALS[1]], "bad", "Traceback")
    # finished is finished; failed is free again; claimed is claimed
    assert not store.claim(theirs, TRIALS[:1])
    assert not store.claim(theirs, TRIALS[:3])
    assert store.claim(theirs, TRIALS[:2])
    assert store.claimed()[TRIALS[1].identity] == theirs.identity
    assert TRIALS[0].identity not in store.claimed()
    store.end(ours)
    assert store.claim(theirs, TRIALS[2:3])


def test_the_claims_of_a_dead_process_are_free(store, monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    dead = replace(Session.of_this_process(), process=process.pid, started="1")
    monkeypatch.setattr(Session, "of_this_process", classmethod(lambda cls: dead))
    store.claim(begin(store), TRIALS[:2])
    monkeypatch.undo()
    assert store.claimed() == {}
    assert store.claim(begin(store), TRIALS[:3])
    with sqlite3.connect(store.path) as raw:
        assert raw.execute("SELECT outcome, count(*) FROM attempts").fetchall() == [("lost", 2)]
    raw.close()
    assert store.failures() == {}


def test_many_who_claim_at_once_share_what_there_is(store):
    def claim_all(number):
        with Store(store.path, check=False) as own:
            session = begin(own)
            return [trial for trial in TRIALS if own.claim(session, [trial])]

    with ThreadPoolExecutor(4) as pool:
        claimed = list(pool.map(claim_all, range(4)))
    identities = [trial.identity for trials in claimed for trial in trials]
    assert sorted(identities) == sorted(trial.identity for trial in TRIALS)


def test_heartbeats_are_recorded(store, monkeypatch):
    session = begin(store)
    monkeypatch.setattr("clipgnn.experiments.store.time", lambda: 12345.0)
    store.record_heartbeat(session)
    with sqlite3.connect(store.path) as raw:
        assert raw.execute("SELECT heartbeat FROM sessions").fetchall() == [(12345.0,)]
    raw.close()


def test_failures_are_counted_until_a_trial_succeeds(store):
    session = begin(store)
    for number in range(3):
        store.record_failure(session, [TRIALS[0]], f"bad {number}", "Traceback")
    failure = store.failures()[TRIALS[0].identity]
    assert (failure.error, failure.attempts) == ("bad 2", 3)
    store.record(session, [fake_result(TRIALS[0])])
    assert store.failures() == {}


def test_divergence_is_an_outcome_and_no_result(store):
    session = begin(store)
    store.claim(session, TRIALS[:2])
    diverged = with_curves(
        fake_result(TRIALS[0]), train_loss=[], test_score=[], diverged="in epoch 1"
    )
    store.record(session, [diverged, fake_result(TRIALS[1])])
    assert store.finished() == store.results().keys() == {TRIALS[1].identity}
    assert store.claimed() == store.failures() == {}
    assert store.diverged() == {TRIALS[0].identity: Failure("in epoch 1", "in epoch 1", 1)}
    # it is settled, unless it is asked for or others of its job are missing
    assert not store.claim(session, TRIALS[:2])
    assert store.claim(session, TRIALS[:2], diverged=[TRIALS[0].identity])
    store.record_failure(session, TRIALS[:1], "bad", "Traceback")
    assert store.diverged() == {}
    assert store.failures() == {TRIALS[0].identity: Failure("bad", "Traceback", 2)}
    store.record(session, [diverged])
    assert store.failures() == {}
    assert store.claim(session, TRIALS[:3])
    store.record(session, [fake_result(TRIALS[0])])
    assert store.diverged() == {}


def test_the_first_result_counts(store):
    session = begin(store)
    store.record(session, [fake_result(TRIALS[0])])
    store.record(session, [with_curves(fake_result(TRIALS[0]), train_loss=[0.5], test_score=[0.0])])
    assert len(store.results()[TRIALS[0].identity].curves.test_score) == 5


def test_a_batch_of_results_is_kept_whole_or_not_at_all(store):
    session = begin(store)
    stray = replace(fake_result(TRIALS[1]), trial="nobody knows")
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        store.record(session, [fake_result(TRIALS[0]), stray])
    assert store.finished() == set()


def test_between_transactions_a_store_is_one_file(store):
    store.record(begin(store), [fake_result(TRIALS[0])])
    assert [path.name for path in store.path.parent.iterdir()] == ["small.sqlite"]


@pytest.mark.parametrize("deleted", ["number = 1", "number = 3", "TRUE"])
def test_attempts_that_disappear_after_they_were_read(store, deleted):
    """As `repair` deletes them; their numbers are used again."""
    session = begin(store)
    for trial in TRIALS[:3]:
        store.record_failure(session, [trial], "bad", "Traceback")
    assert len(store.failures()) == 3
    with closing(sqlite3.connect(store.path)) as raw:
        raw.execute(f"DELETE FROM attempts WHERE {deleted}")
        raw.commit()
    for trial in TRIALS[3:6]:
        store.record_failure(session, [trial], "bad", "Traceback")
    with Store(store.path) as other:
        assert store.failures() == other.failures()


def test_a_claim_reads_only_the_attempts_of_its_trials(store, monkeypatch):
    session = begin(store)
    for trial in TRIALS[:20]:
        store.record_failure(session, [trial], "bad", "Traceback")
    hashed = []

    def counted(*values):
        hashed.append(values)
        return checksum(*values)

    monkeypatch.setattr(rows, "checksum", counted)
    assert store.claim(session, TRIALS[19:21])
    assert len(hashed) == 1
