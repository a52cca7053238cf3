"""A store that another process keeps locked, or whose claims are of machines that are gone."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import pytest
from tests.experiments.fake_training import SMALL, fake, small_experiment
from tests.faults.fake_cli import COMMAND, ENVIRONMENT, ROOT

from clipgnn.errors import StoreLockedError
from clipgnn.experiments import recording, sessions
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.executors.processes import ProcessExecutor
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.run import RunProgress, run_experiment
from clipgnn.experiments.sessions import Session
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial

SPEC = Overrides(datasets=["csl"])(small_experiment())
TRIALS = SPEC.trials()

LOCKING = """
import sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    raw.execute(line)
    print("done", flush=True)
"""


class Locker:
    """Another process that has a store open, and locks it when told to."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOCKING, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, statement):
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{statement}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "small.sqlite"


@pytest.fixture
def locker(path):
    with Store(path, create=True):
        pass
    locker = Locker(path)
    yield locker
    locker.end()


@pytest.fixture
def briefly(monkeypatch):
    monkeypatch.setattr(recording, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(recording, "LONGEST_PAUSE", 0.2)


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_lock_during_a_run_loses_nothing(path, locker, briefly, caplog, lock):
    caplog.set_level("INFO", "clipgnn")
    begun: list[Trial] = []
    told: list[RunProgress] = []

    def work(trials):
        if len(begun) == 5:
            locker.tell(lock)
        begun.extend(trials)
        return fake(trials)

    def tell(progress):
        told.append(progress)
        if progress.unsaved and sum(each.unsaved > 0 for each in told) == 1:
            locker.tell("ROLLBACK")

    with Store(path, patience=0.1) as store:
        progress = run_experiment(SPEC, store, InProcessExecutor(work), on_progress=tell)
        assert (progress.finished, progress.unsaved) == (16, 0)
        assert len(store.results()) == 16
    assert len(begun) == 16, "nothing was trained twice"
    notices = caplog.messages
    assert "small.sqlite has been locked since " in notices[0]
    assert f"by process {locker.process.pid} (python" in notices[0]
    assert notices[1].endswith(
        "small.sqlite is no longer locked; all finished results are written."
    )
    assert len(notices) == 2


def test_what_is_claimed_is_trained_while_the_store_is_locked(path, locker, briefly):
    """Three jobs are under way in processes of their own when the lock comes."""
    told = []

    def tell(progress):
        told.append(progress)
        if sum(each.finished == 1 for each in told) == 1 and progress.finished == 1:
            locker.tell("BEGIN IMMEDIATE")
        if sum(each.unsaved == 2 for each in told) == 1 and progress.unsaved == 2:
            locker.tell("ROLLBACK")

    with Store(path, patience=0.1) as store:
        progress = run_experiment(SPEC, store, ProcessExecutor(fake, workers=3), on_progress=tell)
        assert progress.finished == 16
        assert len(store.results()) == 16
    assert max(each.unsaved for each in told) == 2


def test_a_store_that_is_locked_at_the_start_says_by_whom(path, locker):
    locker.tell("BEGIN EXCLUSIVE")
    with pytest.raises(StoreLockedError, match=rf"locked by process {locker.process.pid} \("):
        Store(path, patience=0.1)


def begin_run(folder, path, *options, **environment):
    (folder / "small.toml").write_text(SMALL)
    return subprocess.Popen(
        [
            *(*COMMAND, "experiment", "run", str(folder / "small.toml"), "--store", str(path)),
            *("--device", "cpu", "--executor", "in-process", "--datasets", "csl", *options),
        ],
        cwd=ROOT,
        env={**ENVIRONMENT, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_an_interrupt_while_the_store_is_locked_says_what_is_lost(path, locker, tmp_path, request):
    log = tmp_path / "log"
    process = begin_run(tmp_path, path, FAKE_SECONDS="0.5", FAKE_LOG=str(log), FAKE_PATIENCE="0.1")
    request.addfinalizer(process.kill)
    end = time.monotonic() + 40
    while not log.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    locker.tell("BEGIN IMMEDIATE")
    for line in process.stderr:
        if "has been locked since" in line:
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert "1 finished result could not be written" in errors
    assert "Interrupted." in errors
    locker.tell("ROLLBACK")
    with Store(path) as store:
        assert len(store.results()) == 0


@pytest.fixture
def elsewhere(path, monkeypatch):
    """A session on another machine claims three trials; says its session."""

    def claim(ahead):
        with monkeypatch.context() as patched, Store(path, create=True) as store:
            other = replace(Session.of_this_process(), machine="faraway boot pid", process=77)
            patched.setattr(Session, "of_this_process", classmethod(lambda cls: other))
            session = store.begin(SPEC.name, SPEC.content(), "", TRIALS)
            store.claim(session, TRIALS[:3])
        with closing(sqlite3.connect(path)) as raw:
            raw.execute("UPDATE sessions SET heartbeat = ?", (time.time() + ahead,))
            raw.commit()
        return session

    return claim


@pytest.mark.parametrize(
    ("ahead", "said"),
    [(-0.5, "last heartbeat "), (1e6, "its clock is at least 9999")],
)
def test_a_dead_session_elsewhere_delays_only_so_long_and_not_silently(
    path, elsewhere, monkeypatch, caplog, ahead, said
):
    session = elsewhere(ahead)
    monkeypatch.setattr(sessions, "EXPIRY_SECONDS", 2.5)
    caplog.set_level("INFO", "clipgnn")
    with Store(path) as store:
        began = time.monotonic()
        progress = run_experiment(
            SPEC,
            store,
            InProcessExecutor(fake),
            pause=0.05,
        )
        assert time.monotonic() - began < 10
        assert progress.finished == 16
    [notice] = caplog.messages
    assert caplog.records[0].parameter == "take_over"
    assert notice.startswith("Waiting for 3 trials that process 77 on faraway has claimed (session")
    assert session.identity[:8] in notice
    assert said in notice
    assert ("ahead of this machine's)" in notice) == (ahead > 0)
    assert (" ago)" in notice) == (ahead < 0)
    assert "its claims are taken over in " in notice
    assert "take_over skips this wait." in notice


def test_take_over_does_not_wait(path, elsewhere, tmp_path):
    elsewhere(1e6)
    process = begin_run(tmp_path, path, "--take-over")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "Took over 3 trials that process 77 on faraway has claimed" in errors
    with closing(sqlite3.connect(path)) as raw:
        lost = raw.execute("SELECT error FROM attempts WHERE outcome = 'lost'").fetchall()
    assert lost == [("taken over by another run",)] * 3


def test_one_claim_is_singular(path, elsewhere, caplog):
    caplog.set_level("INFO", "clipgnn")
    elsewhere(-0.5)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DELETE FROM claims WHERE trial != ?", (TRIALS[0].identity,))
        raw.commit()
    with Store(path) as store:
        run_experiment(SPEC, store, InProcessExecutor(fake), RunOptions(take_over=True))
    assert caplog.messages[0].startswith(
        "Took over 1 trial that process 77 on faraway has claimed ("
    )


def test_processes_of_this_machine_are_not_taken_over(path):
    with Store(path, create=True) as store:
        session = store.begin(SPEC.name, SPEC.content(), "", TRIALS)
        store.claim(session, TRIALS[:3])
        assert store.take_over() == []
        assert len(store.claimed()) == 3
