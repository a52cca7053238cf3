"""Runs that are killed, stopped or doubled end with the table of an undisturbed one."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.experiments.fake_training import SMALL, fake_fingerprint
from tests.faults.command import experiment, numbers, report
from tests.faults.fake_cli import COMMAND, ENVIRONMENT, ROOT, fake_run_trials

from clipgnn.experiments.sessions import _start_time
from clipgnn.experiments.store import Store

TRIALS = 48
SECONDS = 0.05


class Runs:
    """Begins the command line in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spec = folder / "small.toml"
        self.spec.write_text(SMALL)
        self.log = folder / "log"
        self.processes: list[subprocess.Popen[str]] = []

    def begin(self, store: str, *options: str, **environment: str) -> subprocess.Popen[str]:
        where = ["--store", str(self.folder / store)]
        process = subprocess.Popen(
            [*COMMAND, "experiment", "run", str(self.spec), *where, "--device", "cpu", *options],
            cwd=ROOT,
            env={
                **ENVIRONMENT,
                "FAKE_LOG": str(self.log),
                "FAKE_SECONDS": str(SECONDS),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A suite that runs in the background is deaf to Ctrl-C, and its children with it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.processes.append(process)
        return process

    def end(self) -> None:
        """Leave nothing behind, whatever the test came to."""
        for process in self.processes:
            if process.returncode is None:
                process.kill()
                process.communicate()

    def finish(self, store: str, **environment: str) -> str:
        """The table at the end of a run in this process, which nobody disturbs.

        Every fold of every cell; without where it comes from, which does differ.
        """
        where = ["--store", str(self.folder / store), "--executor", "in-process"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("clipgnn.experiments.work.run_trials", fake_run_trials)
            patch.setattr("clipgnn.experiments.data.fingerprint_of", fake_fingerprint)
            for name, value in {"FAKE_LOG": str(self.log), **environment}.items():
                patch.setenv(name, value)
            printed = experiment("run", str(self.spec), *where, "--device", "cpu")
            assert "INCOMPLETE" not in printed
            return numbers(report(where[1], "--format", "csv"))

    def worked_on(self) -> list[str]:
        if not self.log.exists():
            return []
        return [line.split()[1] for line in self.log.read_text().splitlines()]

    def finished(self, store: str) -> set[str]:
        with Store(self.folder / store) as opened:
            return opened.finished()

    def workers(self) -> set[int]:
        return {int(line.split()[0]) for line in self.log.read_text().splitlines()}

    def wait_for(self, trials: int) -> None:
        end = time.monotonic() + 30
        while len(self.worked_on()) < trials:
            assert time.monotonic() < end, "the run does not get on"
            time.sleep(0.01)


@pytest.fixture
def runs(tmp_path):
    runs = Runs(tmp_path)
    yield runs
    runs.end()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    runs = Runs(tmp_path_factory.mktemp("undisturbed"))
    table = runs.finish("small.sqlite")
    assert table.count("True") >= 4
    return table


def check_file(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    raw.close()


@pytest.mark.slow
def test_killed_at_random_moments(runs, undisturbed):
    moments = random.Random(3)
    kept = []
    for _ in range(4):
        process = runs.begin("small.sqlite", "--workers", "2", FAKE_SECONDS="0.15")
        runs.wait_for(len(runs.worked_on()) + moments.randint(3, 8))
        time.sleep(moments.uniform(0.0, 0.3))
        assert process.poll() is None, "too late to kill it"
        process.kill()
        process.communicate()  # until the workers are gone, too
        kept.append((len(runs.worked_on()), runs.finished("small.sqlite")))
        # only what was under way is lost
        assert len(runs.worked_on()) - len(kept[-1][1]) <= 2 * len(kept)
    assert len(kept[-1][1]) > TRIALS / 4
    assert runs.finish("small.sqlite") == undisturbed
    check_file(runs.folder / "small.sqlite")
    for begun, finished in kept:
        assert not finished & set(runs.worked_on()[begun:]), "it was finished, and done again"


@pytest.mark.slow
def test_killed_in_the_middle_of_a_transaction(runs, undisturbed):
    # The schema and 48 trials are written once; a run then has four writes for each trial.
    for number in (1, 30, 51, 90, *random.Random(4).sample(range(4, 50), 3)):
        process = runs.begin(
            "small.sqlite", "--executor", "in-process", FAKE_SECONDS="0", FAKE_DIE_AT=str(number)
        )
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
    assert runs.finish("small.sqlite") == undisturbed
    check_file(runs.folder / "small.sqlite")


def test_the_workers_of_a_killed_run_die_with_it(runs):
    process = runs.begin("small.sqlite", "--workers", "2", FAKE_SECONDS="60")
    runs.wait_for(2)
    workers = runs.workers()
    process.kill()
    process.communicate()
    end = time.monotonic() + 10
    while any(_start_time(worker) is not None for worker in workers):
        assert time.monotonic() < end, "a worker outlives its run"
        time.sleep(0.05)


def check_stopped(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Interrupted." in errors
    assert "Traceback" not in errors


@pytest.mark.skipif(sys.platform != "linux", reason="finds workers in /proc")
def test_interrupted_at_the_terminal_while_workers_begin(runs):
    process = runs.begin("small.sqlite", "--workers", "2")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + 30
    while len(children.read_text().split()) < 3:  # two workers, and what tidies up after them
        assert time.monotonic() < end, "the run does not get on"
    time.sleep(0.05)  # they are in the middle of their imports
    os.killpg(process.pid, signal.SIGINT)  # a terminal tells all of them
    check_stopped(process)


@pytest.mark.parametrize(
    ("tell", "kind"),
    [
        (os.kill, signal.SIGINT),
        pytest.param(os.killpg, signal.SIGINT, marks=pytest.mark.slow),
        (os.kill, signal.SIGTERM),
    ],
)
def test_stopped_politely(runs, undisturbed, tell, kind):
    process = runs.begin("small.sqlite", "--workers", "2")
    runs.wait_for(10)
    tell(process.pid, kind)
    check_stopped(process)
    with sqlite3.connect(runs.folder / "small.sqlite") as raw:
        assert raw.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        assert raw.execute("SELECT count(*) FROM results").fetchone()[0] >= 6
    raw.close()
    assert runs.finish("small.sqlite") == undisturbed


def test_two_processes_on_one_store(runs, undisturbed):
    both = [runs.begin("small.sqlite", "--executor", "in-process") for _ in range(2)]
    for process in both:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "incomplete" not in output
    assert sorted(runs.worked_on()) == sorted(set(runs.worked_on()))
    assert len(runs.worked_on()) == TRIALS
    assert {pid for pid in runs.workers() if pid in {process.pid for process in both}} == {
        process.pid for process in both
    }
    assert runs.finish("small.sqlite") == undisturbed


def test_the_work_of_one_that_dies_is_taken_over(runs, undisturbed):
    dying = runs.begin("small.sqlite", "--executor", "in-process", FAKE_SECONDS="60")
    runs.wait_for(1)
    living = runs.begin("small.sqlite", "--executor", "in-process", FAKE_SECONDS="0.01")
    runs.wait_for(TRIALS)  # all but the one that the first is at work on, which is still alive
    time.sleep(0.3)
    assert living.poll() is None
    dying.kill()
    dying.communicate()
    output, errors = living.communicate(timeout=30)
    assert living.returncode == 0, output + errors
    assert runs.finish("small.sqlite") == undisturbed
    assert len(runs.worked_on()) == TRIALS + 1


def test_killed_while_folds_are_trained_together(runs):
    """Results that depend on what is trained together are those of an undisturbed run."""
    small = SMALL.replace('model = "clip"\nnum_colorings = 0', 'model = "gin"')
    runs.spec.write_text(small.replace('model = "clip"\nnum_colorings = 16', 'model = "rp-gin"'))
    expected = runs.finish("expected.sqlite", FAKE_COMPANY="1")
    begun = len(runs.worked_on())
    options = ("--workers", "2", "--folds", "3")
    process = runs.begin("small.sqlite", *options, FAKE_SECONDS="0.3", FAKE_COMPANY="1")
    runs.wait_for(begun + 16)
    assert process.poll() is None, "too late to kill it"
    process.kill()
    process.communicate()
    kept = runs.finished("small.sqlite")
    assert 0 < len(kept) < TRIALS
    assert len(kept) % 4 == 0
    assert runs.finish("small.sqlite", FAKE_COMPANY="1") == expected
    check_file(runs.folder / "small.sqlite")
