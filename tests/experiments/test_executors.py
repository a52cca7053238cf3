"""One test case over all executors that need nothing installed, and what only processes can do."""

import os
import signal
from functools import partial
from types import SimpleNamespace

import pytest
from tests.experiments.fake_training import failing, fake, fake_result, small_spec

from clipgnn.errors import InvalidParameterError, MissingDependencyError
from clipgnn.experiments.executors import Executor, executor_named, processes
from clipgnn.experiments.executors.processes import ONE_THREAD, ProcessExecutor
from clipgnn.experiments.jobs import Job, jobs_of
from clipgnn.experiments.trial import TrialResult

TRIALS = small_spec().trials()[:6]
JOBS = jobs_of(TRIALS, together=False)


@pytest.fixture(params=["in-process", "processes"])
def make(request):
    made = []

    def of(work) -> Executor:
        workers = 2 if request.param == "processes" else None
        made.append(executor_named(request.param, work, workers=workers))
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
        ({"job_timeout": 2.0}, "it did not finish within 2 s (--job-timeout)"),
        ({"heartbeat_timeout": 2.0}, "its process sent no heartbeat for 2 s"),
    ],
)
def test_a_process_that_does_not_respond_is_replaced(limits, why):
    bad = TRIALS[1].identity
    executor = executor_named("processes", partial(stopping, bad=bad), workers=2, **limits)
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
    executor._tick = 0.05
    [outcome] = executor.run(iter(JOBS[:1]))
    executor.close()
    assert outcome.error == ""


def test_no_more_processes_than_jobs():
    executor = ProcessExecutor(fake, workers=8)
    assert len(list(executor.run(iter([Job(tuple(TRIALS[:1]))])))) == 1
    assert len(executor._pool) == 1
    executor.close()


def test_names_and_options_are_checked(monkeypatch):
    with pytest.raises(InvalidParameterError, match=r"Got 'proceses'. Did you mean 'processes'\?"):
        executor_named("proceses", fake)
    with pytest.raises(InvalidParameterError, match="--address is for the executor ray"):
        executor_named("processes", fake, address="127.0.0.1:6379")
    with pytest.raises(InvalidParameterError, match="--workers is for the executor processes"):
        executor_named("in-process", fake, workers=2)
    with pytest.raises(InvalidParameterError, match="in-process cannot stop a job"):
        executor_named("in-process", fake, job_timeout=60.0)
    for name in ("in-process", "ray"):
        with pytest.raises(InvalidParameterError, match="--heartbeat-timeout is for the executor"):
            executor_named(name, fake, heartbeat_timeout=60.0)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidParameterError, match="--job-timeout must be a positive number"):
            executor_named("processes", fake, job_timeout=wrong)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'clipgnn\[ray\]'"):
        executor_named("ray", fake)


def test_one_process_for_a_gpu_unless_asked_otherwise():
    assert executor_named("processes", fake, on_gpu=True).workers == 1
    assert executor_named("processes", fake, on_gpu=True, workers=3).workers == 3
