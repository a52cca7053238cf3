"""One test case over all executors that need nothing installed, and what only processes can do."""

import os
from functools import partial

import pytest
from tests.experiments.fake_training import failing, fake, fake_result, small_spec

from clipgnn.errors import InvalidParameterError, MissingDependencyError
from clipgnn.experiments.executors import Executor, executor_named
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
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'clipgnn\[ray\]'"):
        executor_named("ray", fake)


def test_one_process_for_a_gpu_unless_asked_otherwise():
    assert executor_named("processes", fake, on_gpu=True).workers == 1
    assert executor_named("processes", fake, on_gpu=True, workers=3).workers == 3
