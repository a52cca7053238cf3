"""One test case over all executors that need nothing installed, and what only processes can do."""

import os
import signal
import sys
from functools import partial
from types import SimpleNamespace

import pytest
from tests.experiments.fake_training import (
    failing,
    failing_beside,
    fake,
    fake_result,
    meeting,
    small_experiment,
)

from clipgnn.errors import InvalidParameterError, MissingDependencyError
from clipgnn.experiments.executors import EXECUTORS, Executor, make_executor, processes
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.executors.processes import ONE_THREAD, ProcessExecutor
from clipgnn.experiments.jobs import Job, jobs_of
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.trial import TrialResult

TRIALS = small_experiment().trials()[:6]
JOBS = jobs_of(TRIALS, together=False)


@pytest.fixture(params=["in-process", "processes"])
def make(request):
    made = []

    def of(work) -> Executor:
        workers = 2 if request.param == "processes" else None
        made.append(make_executor(work, RunOptions(executor=request.param, workers=workers)))
        return made[-1]

    yield of
    for executor in made:
        executor.close()


def test_every_job_has_its_outcome(make):
    outcomes = list(make(fake).run(iter(JOBS)))
    assert {outcome.job for outcome in outcomes} == set(JOBS)
    for outcome in outcomes:
        assert list(outcome.results) == [fake_result(trial) for trial in outcome.job.trials]


def test_a_job_that_raises_fails_alone(make):
    bad = TRIALS[2].identity
    outcomes = list(make(partial(failing, bad=bad)).run(iter(JOBS)))
    [failed] = [outcome for outcome in outcomes if outcome.results is None]
    assert failed.job.trials[0].identity == bad
    assert failed.error == "ValueError: no luck"
    assert "failing" in failed.traceback
    assert f"with {bad}" in failed.traceback
    assert len(outcomes) == len(JOBS)


def test_jobs_are_taken_only_when_there_is_room(make):
    taken = []

    def jobs():
        for job in JOBS:
            taken.append(job)
            yield job

    outcomes = make(fake).run(jobs())
    next(outcomes)
    assert len(taken) <= 2
    assert len(list(outcomes)) == len(JOBS) - 1


def test_an_executor_can_be_used_again(make):
    executor = make(fake)
    assert len(list(executor.run(iter(JOBS[:2])))) == 2
    assert list(executor.run(iter([]))) == []
    assert len(list(executor.run(iter(JOBS[2:])))) == len(JOBS) - 2


@pytest.mark.parametrize(("how", "why"), [("kill", "was killed by SIGKILL"), ("exit", "status 3")])
def test_a_process_that_dies_is_a_failure_and_no_hang(how, why):
    bad = TRIALS[1].identity
    executor = ProcessExecutor(partial(failing, bad=bad, how=how), workers=2)
    outcomes = list(executor.run(iter(JOBS)))
    executor.close()
    [failed] = [outcome for outcome in outcomes if outcome.results is None]
    assert failed.job.trials[0].identity == bad
    assert why in failed.error
    assert len(outcomes) == len(JOBS)


def report_environment(trials) -> list[TrialResult]:
    raise ValueError(" ".join(f"{key}={os.environ.get(key)}" for key in ONE_THREAD))


def test_processes_use_one_thread_each(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    executor = ProcessExecutor(report_environment, workers=1)
    [outcome] = executor.run(iter(JOBS[:1]))
    executor.close()
    expected = " ".join(f"{key}=1" for key in ONE_THREAD)
    assert outcome.error == f"ValueError: {expected}"
    # what was set here is as it was
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def stopping(trials, *, bad) -> list[TrialResult]:
    """Stops its own process at one trial, as a debugger or a full swap does."""
    if bad in [trial.identity for trial in trials]:
        os.kill(os.getpid(), signal.SIGSTOP)
    return fake(trials)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"job_timeout": 2.0}, "it did not finish within 2 s (job_timeout)"),
        ({"heartbeat_timeout": 2.0}, "its process sent no heartbeat for 2 s"),
    ],
)
def test_a_process_that_does_not_respond_is_replaced(limits, why):
    bad = TRIALS[1].identity
    executor = make_executor(partial(stopping, bad=bad), RunOptions(workers=2, **limits))
    assert isinstance(executor, ProcessExecutor)
    begun = set()
    outcomes = []
    for outcome in executor.run(iter(JOBS)):
        outcomes.append(outcome)
        begun |= {worker.process for worker in executor._pool}
    [failed] = [outcome for outcome in outcomes if outcome.results is None]
    assert failed.job.trials[0].identity == bad
    assert failed.error == why
    assert len(outcomes) == len(JOBS)
    assert [process.exitcode for process in begun].count(-signal.SIGKILL) == 1
    executor.close()


def test_a_process_that_sends_heartbeats_may_take_longer_than_their_timeout():
    executor = ProcessExecutor(partial(fake, seconds=2.5), workers=1, heartbeat_timeout=1.2)
    [outcome] = executor.run(iter(JOBS[:1]))
    executor.close()
    assert outcome.error == ""


def test_a_pause_of_this_process_is_not_the_fault_of_others(monkeypatch):
    """As after Ctrl-Z: much time has passed, and no heartbeat could be read."""
    clock = iter(range(0, 10**9, 10**5))
    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    executor = ProcessExecutor(partial(fake, seconds=0.3), workers=1, job_timeout=60.0)
    executor._poll_seconds = 0.05
    [outcome] = executor.run(iter(JOBS[:1]))
    executor.close()
    assert outcome.error == ""


def test_no_more_processes_than_jobs():
    executor = ProcessExecutor(fake, workers=8)
    assert len(list(executor.run(iter([Job(tuple(TRIALS[:1]))])))) == 1
    assert len(executor._pool) == 1
    executor.close()


@pytest.mark.parametrize(
    ("options", "parameter", "message"),
    [
        ({"executor": "proceses"}, "executor", r"Got 'proceses'. Did you mean 'processes'\?"),
        ({"executor": "processes", "address": "127.0.0.1:6379"}, "address", "must not be set for"),
        ({"executor": "in-process", "workers": 2}, "workers", "executor 'in-process'"),
        ({"executor": "in-process", "job_timeout": 60.0}, "job_timeout", "does not support it"),
        ({"executor": "in-process", "heartbeat_timeout": 60.0}, "heartbeat_timeout", r"Got 60\.0"),
        ({"executor": "ray", "heartbeat_timeout": 60.0}, "heartbeat_timeout", "executor 'ray'"),
        ({"executor": "ray", "workers": 2}, "workers", "Leave it out, or use another executor"),
        ({"workers": 0}, "workers", "must be an integer of at least 1. Got 0"),
        *(
            ({name: wrong}, name, "must be a positive number of seconds")
            for name in ("job_timeout", "heartbeat_timeout")
            for wrong in (0.0, -1.0, float("nan"), float("inf"))
        ),
    ],
)
def test_errors_name_the_parameter(options, parameter, message):
    with pytest.raises(InvalidParameterError, match=message) as caught:
        make_executor(fake, RunOptions(**options))
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(parameter)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'clipgnn\[ray\]'"):
        make_executor(fake, RunOptions(executor="ray"))


@pytest.mark.parametrize(("workers", "expected"), [(None, 1), (3, 3)])
def test_one_process_for_a_gpu_unless_asked_otherwise(workers, expected):
    executor = make_executor(fake, RunOptions(device="cuda", workers=workers))
    assert isinstance(executor, ProcessExecutor)
    assert executor.workers == expected


def test_every_executor_in_the_table_can_be_made_and_nothing_else_is_needed(monkeypatch):
    made = []

    class Fake(InProcessExecutor):
        @classmethod
        def from_options(cls, work, options):
            made.append(options)
            return cls(work)

    monkeypatch.setitem(EXECUTORS, "new", Fake.from_options)
    options = RunOptions(executor="new", workers=3)
    executor = make_executor(fake, options)
    assert isinstance(executor, Executor)
    assert made == [options]
    assert len(list(executor.run(iter(JOBS)))) == len(JOBS)


def test_a_process_runs_several_jobs_at_the_same_time(tmp_path):
    work = partial(meeting, folder=tmp_path, number=3)
    executor = ProcessExecutor(work, workers=1, jobs_at_once=3)
    try:
        outcomes = list(executor.run(iter(JOBS[:3])))
    finally:
        executor.close()
    assert {outcome.job for outcome in outcomes} == set(JOBS[:3])
    assert all(outcome.results is not None for outcome in outcomes)
    assert len(list(tmp_path.iterdir())) == 1


def test_jobs_beside_a_failure_run_again(tmp_path):
    bad = JOBS[1].trials[0].identity
    executor = ProcessExecutor(
        partial(failing_beside, folder=tmp_path, bad=bad), workers=1, jobs_at_once=2
    )
    try:
        outcomes = list(executor.run(iter(JOBS[:2])))
    finally:
        executor.close()
    errors = {outcome.job: outcome.error for outcome in outcomes}
    assert errors == {JOBS[1]: "ValueError: no luck", JOBS[0]: ""}


def test_jobs_beside_a_killed_process_run_again_alone(tmp_path):
    bad = JOBS[1].trials[0].identity
    executor = ProcessExecutor(
        partial(failing_beside, folder=tmp_path, bad=bad, others=2, kill=True),
        workers=1,
        jobs_at_once=3,
    )
    try:
        outcomes = list(executor.run(iter(JOBS[:3])))
    finally:
        executor.close()
    errors = {outcome.job: outcome.error for outcome in outcomes}
    assert errors.pop(JOBS[1]) == "its process was killed by SIGKILL"
    assert errors == {JOBS[0]: "", JOBS[2]: ""}
