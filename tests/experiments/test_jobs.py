"""Which trials are trained together follows from the trials, and from nothing that happens."""

import os
import signal
from functools import partial
from itertools import count

import pytest
from tests.experiments.fake_training import (
    company,
    failing,
    fake_result,
    on_real_data,
    small_experiment,
    with_curves,
)

from clipgnn.experiments import jobs, run
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.executors.processes import ProcessExecutor
from clipgnn.experiments.jobs import group_of, jobs_of
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.work import run_trials

SMALL_NETWORKS = small_experiment(
    datasets=["csl"],
    models=[{"model": "gin"}, {"model": "ring-gnn"}],
    seeds=[0, 1],
    grid={"epochs": 2},
    only={},
)


def devices(together):
    """All folds of a configuration are one job on a GPU."""
    return RunOptions(device="cuda" if together else "cpu")


@pytest.fixture
def stores(tmp_path):
    opened = [Store(tmp_path / f"{number}.sqlite", create=True) for number in range(2)]
    yield opened
    for store in opened:
        store.close()


def curves(store):
    return {
        trial: (result.curves.train_loss.tolist(), result.curves.test_score.tolist())
        for trial, result in store.results().items()
    }


@pytest.mark.parametrize("together", [False, True])
def test_a_job_is_a_whole_group_whatever_is_asked_for(together):
    trials = SMALL_NETWORKS.trials()
    whole = jobs_of(trials, together=together)
    sizes = {(job.trials[0].model, len(job.trials)) for job in whole}
    assert sizes == {("gin", 4), ("ring-gnn", 4 if together else 1)}
    assert sorted(trial.identity for job in whole for trial in job.trials) == sorted(
        trial.identity for trial in trials
    )
    for job in whole:
        assert len({(trial.configuration, trial.seed) for trial in job.trials}) == 1
        for trial in job.trials:
            assert group_of(trial, together=together) == job.trials
            assert jobs_of([trial], together=together) == [job]
    assert jobs_of(trials[::-1], together=together) == whole[::-1]


def test_alone_is_alone():
    trials = small_experiment(seeds=[0, 1]).trials()
    assert [job.trials for job in jobs_of(trials, together=False)] == [(own,) for own in trials]


def test_a_group_is_built_once_however_many_of_its_trials_are_asked_for(monkeypatch):
    built = []

    def counted(trial, **options):
        built.append(trial)
        return group_of(trial, **options)

    monkeypatch.setattr(jobs, "group_of", counted)
    trials = small_experiment(models=[{"model": "gin"}], datasets=["csl"], folds=1000).trials()
    assert len(trials) == 2000
    assert [len(job.trials) for job in jobs_of(trials, together=False)] == [1000, 1000]
    assert len(built) == 2


@pytest.mark.parametrize("together", [False, True])
def test_some_folds_first_and_all_of_them_later(stores, together):
    """With results that do depend on what is trained together."""
    expected, store = stores
    run_experiment(SMALL_NETWORKS, expected, InProcessExecutor(company), devices(together))
    first = Overrides(folds=3)(SMALL_NETWORKS)
    progress = run_experiment(first, store, InProcessExecutor(company), devices(together))
    assert progress.finished == progress.total == len(first.trials())
    done = curves(store)
    assert {trial for trial in done if trial not in {t.identity for t in first.trials()}} == {
        trial.identity
        for trial in SMALL_NETWORKS.trials()
        if trial.fold == 3 and (together or trial.model == "gin")
    }
    progress = run_experiment(SMALL_NETWORKS, store, InProcessExecutor(company), devices(together))
    assert progress.reused == len(done)
    assert curves(store) == curves(expected)


def test_finished_trials_of_a_group_are_kept_and_the_rest_is_trained_with_them(stores):
    """As after a run on another device, or of an earlier version."""
    expected, store = stores
    spec = small_experiment(models=[{"model": "gin"}], datasets=["csl"])
    run_experiment(spec, expected, InProcessExecutor(company))
    kept = with_curves(fake_result(spec.trials()[1]), train_loss=[0.5], test_score=[0.25])
    session = store.begin(spec.name, spec.content(), "", spec.trials())
    store.record(session, [kept])
    store.end(session)
    progress = run_experiment(spec, store, InProcessExecutor(company))
    assert (progress.finished, progress.reused) == (progress.total, 1)
    found, whole = curves(store), curves(expected)
    assert found.pop(kept.trial)[1] == [0.25]
    del whole[kept.trial]
    assert found == whole


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_a_group_that_fails_is_attempted_again_as_a_whole(stores, tmp_path, how):
    expected, store = stores
    run_experiment(SMALL_NETWORKS, expected, InProcessExecutor(company))
    bad = SMALL_NETWORKS.trials()[2].identity
    work = partial(failing, bad=bad, how=how, marker=tmp_path / "once", work=company)
    progress = run_experiment(SMALL_NETWORKS, store, ProcessExecutor(work, workers=1))
    assert (progress.finished, progress.failed) == (progress.total, 0)
    assert progress.last_failure is not None
    assert ("no luck" if how == "raise" else "killed by SIGKILL") in progress.last_failure
    assert curves(store) == curves(expected)


GIN = {
    "datasets": ["triangle-freeness"],
    "models": [{"model": "gin"}],
    "grid": {"epochs": 2, "hidden_channels": 8, "num_layers": 2},
}


def killed_in_the_second_epoch(trials):
    """Really train, but the process ends in the middle of it."""
    from clipgnn.training.members import Eager

    evaluate, calls = Eager.evaluate, count(1)

    def deadly(self, part):
        if next(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return evaluate(self, part)

    Eager.evaluate = deadly  # type: ignore[method-assign]
    return run_trials(trials)


@pytest.mark.slow
def test_gin_is_the_same_to_the_last_bit_after_a_kill_and_after_some_folds(stores, monkeypatch):
    undisturbed, store = stores
    spec = on_real_data(parse_experiment(GIN, "gin", "gin.toml"))
    run_experiment(spec, undisturbed, InProcessExecutor(run_trials))
    monkeypatch.setattr(run, "ATTEMPTS", 1)  # a second process would import torch once more
    part = Overrides(folds=3)(spec)
    executor = ProcessExecutor(killed_in_the_second_epoch, workers=1)
    progress = run_experiment(part, store, executor)
    assert progress.last_failure is not None
    assert "was killed by SIGKILL" in progress.last_failure
    assert (progress.finished, progress.failed) == (0, 3)
    assert run_experiment(part, store, InProcessExecutor(run_trials)).finished == 3
    progress = run_experiment(spec, store, InProcessExecutor(run_trials))
    assert progress.finished == 10
    assert curves(store) == curves(undisturbed)
