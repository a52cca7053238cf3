"""The long campaigns work: with a tiny budget each, and what they compare can differ."""

import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, nullcontext

import pytest
from tests.experiments.fake_training import fake, small_experiment
from tests.faults.campaign import kills, runs, soak
from tests.faults.fake_cli import ENVIRONMENT, ROOT

from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store

linux = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")


@linux
def test_a_soak_in_this_process(tmp_path):
    report = soak.soak(tmp_path, 1.0, seed=1, processes=False)
    assert not report.failures
    assert sum(report.done.values()) >= 5
    assert "0 kills, 0 failures" in report.as_markdown()


def test_growth_is_seen():
    steady = [soak.Sample(500.0, 10, 4, 3)] * 40
    leaking = [soak.Sample(500.0 + 5 * minute, 10 + minute, 4, 3) for minute in range(40)]
    assert soak.Report(0, samples=steady).good
    assert soak.Report(0, samples=leaking).grown == ["memory", "descriptors"]
    assert not soak.Report(0, samples=steady, failures=["one"]).good


@pytest.mark.parametrize("total", [2, 7, 100])
def test_kills_are_spread_over_everything(total):
    shares = list(kills.spread(total))
    assert sum(number for _, _, number in shares) == total
    if total == 100:
        assert {executor for executor, _, _ in shares} >= {"in-process", "processes"}
        assert {experiment for _, experiment, _ in shares} >= {"together", "alone"}


def test_a_changed_curve_and_a_claim_that_is_left_are_seen(tmp_path):
    store = tmp_path / "small.sqlite"
    with Store(store, create=True) as opened:
        run_experiment(small_experiment(), opened, InProcessExecutor(fake))
    right = runs.curves(store)
    assert runs.check(store, right) == len(right) == 48
    trial = min(right)
    changed = {**right, trial: (right[trial][0], bytes(len(right[trial][1])), right[trial][2])}
    with pytest.raises(runs.DisturbedError, match="1 of 48 trials have other curves"):
        runs.check(store, changed)
    with pytest.raises(runs.DisturbedError, match="expected once each"):
        runs.check(store, {key: right[key] for key in right if key != trial})
    with closing(sqlite3.connect(store)) as raw:
        [(session,)] = raw.execute("SELECT identity FROM sessions").fetchall()
        raw.execute("INSERT INTO claims VALUES (?, ?, '')", (trial, session))
        raw.commit()
    with pytest.raises(runs.DisturbedError, match="1 claims are left"):
        runs.check(store, right)


CHILD = "import time; time.sleep(60)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"


@linux
@pytest.mark.parametrize("executor", ["in-process", "processes", "ray"])
def test_a_process_that_is_left_after_a_kill_is_a_failure(tmp_path, monkeypatch, executor):
    monkeypatch.setattr(runs, "ORPHAN_SECONDS", 0.2)
    messages = tmp_path / "messages"
    messages.touch()
    running = runs.Running(
        subprocess.Popen([sys.executable, "-c", PARENT]), messages, tmp_path / "none", executor
    )
    while not (children := runs.descendants(running.process.pid)):
        time.sleep(0.01)
    expected = pytest.raises(runs.DisturbedError, match=r"1 processes were left 0\.2 s after")
    with nullcontext() if executor == "ray" else expected:
        running.kill()
    assert not messages.exists()
    assert [runs.descendants(child) for child in children] == [[]]
    assert all(runs._started(child) is None for child in children)


@linux
def test_processes_that_are_left_are_failures_of_the_campaign(tmp_path, monkeypatch):
    def leave(*arguments):
        raise runs.DisturbedError("1 processes were left")

    monkeypatch.setattr(kills, "kill_once", leave)
    tally = kills.Tally("processes", "alone")
    kills.disturb(tmp_path, tally, runs.Reference({}, 0.0, 0.0), 5, random.Random(0))
    assert len(tally.failures) == kills.MAX_FAILURES + 1
    assert "1 processes were left" in kills.as_markdown([tally], 1.0, 0)


@linux
@pytest.mark.slow
@pytest.mark.parametrize("words", [["kills", "--kills", "2"], ["soak", "--minutes", "0.5"]])
def test_a_short_campaign(tmp_path, words):
    output = tmp_path / "summary.md"
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.campaign", *words, "--output", str(output)],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in output.read_text()
