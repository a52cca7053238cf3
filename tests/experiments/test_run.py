"""The loop: what is finished is reused, what fails is tried again and never averaged away."""

import sqlite3
import time
from functools import partial

import pytest
from tests.experiments.fake_training import REASON, diverging, failing, fake, small_experiment

from clipgnn.experiments import heartbeat
from clipgnn.experiments.evaluation import evaluate
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.executors.processes import ProcessExecutor
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.run import RunProgress, run_experiment
from clipgnn.experiments.store import Store

SPEC = small_experiment()
BAD = SPEC.trials()[5].identity


def devices(together):
    """All folds of a configuration are one job on a GPU."""
    return RunOptions(device="cuda" if together else "cpu")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "small.sqlite", create=True) as opened:
        yield opened


def in_process(work=fake):
    return InProcessExecutor(work)


def numbers(store, spec=SPEC, protocol=None):
    return [
        (cell.row, cell.dataset, cell.measurement)
        for cell in evaluate(spec, store.results(), protocol)
    ]


def test_a_run_ends_complete(store):
    told: list[RunProgress] = []
    progress = run_experiment(SPEC, store, in_process(), on_progress=told.append)
    assert (progress.total, progress.finished, progress.failed, progress.reused) == (48, 48, 0, 0)
    assert [step.finished for step in told] == list(range(49))
    assert all(measured.complete for *_, measured in numbers(store))
    assert store.claimed() == {}


def test_what_is_finished_is_reused(store, tmp_path):
    log = tmp_path / "log"
    part = Overrides(datasets=["csl"])(SPEC)
    run_experiment(part, store, in_process(partial(fake, log=log)))
    progress = run_experiment(SPEC, store, in_process(partial(fake, log=log)))
    assert (progress.reused, progress.finished) == (16, 48)
    done = [line.split()[1] for line in log.read_text().splitlines()]
    assert len(done) == len(set(done)) == 48


def test_a_run_writes_heartbeats(store, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT_SECONDS", 0.02)
    heartbeats = set()

    def slow(trials):
        time.sleep(0.2)
        with sqlite3.connect(store.path) as raw:
            heartbeats.update(raw.execute("SELECT heartbeat FROM sessions").fetchall())
        raw.close()
        return fake(trials)

    run_experiment(Overrides(datasets=["csl"], folds=1)(SPEC), store, in_process(slow))
    assert len(heartbeats) > 1


def test_order_and_company_change_nothing(store, tmp_path):
    run_experiment(SPEC, store, in_process(), devices(True))
    with Store(tmp_path / "other.sqlite", create=True) as other:
        run_experiment(SPEC, other, ProcessExecutor(fake, workers=2))
        assert numbers(other) == numbers(store)


def test_a_trial_that_raises_is_tried_again_in_the_same_run(store, tmp_path):
    work = partial(failing, bad=BAD, marker=tmp_path / "once")
    progress = run_experiment(SPEC, store, in_process(work))
    assert (progress.finished, progress.failed) == (48, 0)
    assert progress.last_failure is not None
    assert "ValueError: no luck" in progress.last_failure


@pytest.mark.parametrize(("together", "failed"), [(False, 1), (True, 4)])
def test_a_trial_that_always_raises_is_missing_and_said_to_be(store, together, failed):
    progress = run_experiment(SPEC, store, in_process(partial(failing, bad=BAD)), devices(together))
    assert (progress.finished, progress.failed) == (48 - failed, failed)
    assert progress.last_failure is not None
    assert ("and 3 more: ValueError" in progress.last_failure) == together
    failure = store.failures()[BAD]
    assert failure.attempts == 2
    assert "ValueError: no luck" in failure.error
    assert "Traceback" in failure.traceback
    incomplete = [measured for *_, measured in numbers(store) if not measured.complete]
    counts = [(measured.finished, measured.expected) for measured in incomplete]
    assert counts == [(16 - failed, 16)]

    # the next run tries its group again, and nothing else
    progress = run_experiment(SPEC, store, in_process(), devices(together))
    assert (progress.finished, progress.reused) == (48, 48 - failed)
    assert store.failures() == {}


def test_a_diverged_trial_is_settled_until_it_is_asked_for(store, tmp_path):
    bad = {BAD, SPEC.trials()[7].identity}
    progress = run_experiment(SPEC, store, in_process(partial(diverging, bad=bad)))
    assert (progress.finished, progress.failed, progress.diverged) == (46, 0, 2)
    assert progress.ended
    assert progress.last_failure is None
    assert store.diverged().keys() == bad

    def refused(trials):
        raise AssertionError("nothing is left to do")

    progress = run_experiment(SPEC, store, in_process(refused))
    assert (progress.finished, progress.failed, progress.diverged) == (46, 0, 2)
    # once more, and no more than once
    log = tmp_path / "log"

    def again(trials):
        fake(trials, log=log)
        return diverging(trials, bad={BAD})

    progress = run_experiment(SPEC, store, in_process(again), RunOptions(retry_failed=True))
    assert (progress.finished, progress.failed, progress.diverged) == (47, 0, 1)
    assert {line.split()[1] for line in log.read_text().splitlines()} == bad
    assert len(log.read_text().splitlines()) == 2
    # if it fails then, it has failed
    work = partial(failing, bad=BAD)
    progress = run_experiment(SPEC, store, in_process(work), RunOptions(retry_failed=True))
    assert (progress.finished, progress.failed, progress.diverged) == (47, 1, 0)
    assert run_experiment(SPEC, store, in_process()).finished == 48


def test_a_diverged_fold_of_a_group_leaves_the_others_alone(store):
    work = partial(diverging, bad={BAD})
    progress = run_experiment(SPEC, store, in_process(work), devices(True))
    assert (progress.finished, progress.failed, progress.diverged) == (47, 0, 1)
    cells = evaluate(SPEC, store.results(), diverged=store.diverged())
    assert all(cell.measurement.complete for cell in cells)
    [(divergence, chosen)] = [
        (cell.measurement.diverged[0], cell.measurement.choices[0])
        for cell in cells
        if cell.measurement.diverged
    ]
    assert divergence.folds == {1: REASON}
    assert divergence.configuration != chosen.configuration


def test_a_fold_has_diverged_when_one_of_its_seeds_has(store):
    spec = small_experiment(seeds=[0, 1])
    bad = next(trial for trial in spec.trials() if trial.seed == 1).identity
    run_experiment(spec, store, in_process(partial(diverging, bad={bad})))
    cell = evaluate(spec, store.results(), diverged=store.diverged())[0]
    assert [own.folds for own in cell.measurement.diverged] == [{0: REASON}]
    assert (cell.measurement.finished, cell.measurement.complete) == (15, True)


def test_an_interrupted_run_gives_back_what_it_had_claimed(store):
    def interrupted(trials):
        if len(store.finished()) == 7:
            raise KeyboardInterrupt
        return fake(trials)

    with pytest.raises(KeyboardInterrupt):
        run_experiment(SPEC, store, in_process(interrupted))
    assert len(store.finished()) == 7
    assert store.claimed() == {}
    assert run_experiment(SPEC, store, in_process()).reused == 7


def test_a_part_of_the_folds_is_an_incomplete_table(store):
    part = Overrides(folds=3)(SPEC)
    run_experiment(part, store, in_process())
    for *_, measured in numbers(store, part):
        assert not measured.complete
        assert measured.finished / measured.expected == pytest.approx(3 / 4)


def test_several_seeds_are_averaged_within_a_fold(store):
    spec = small_experiment(seeds=[0, 1])
    run_experiment(spec, store, in_process())
    for _, _, measured in numbers(store, spec):
        assert measured.complete
        assert len(measured.values) == 4
    # one seed of a fold missing: the fold is missing
    results = store.results()
    del results[spec.trials()[0].identity]
    assert evaluate(spec, results)[0].measurement.finished == 15


def test_a_nested_split_serves_both_protocols(store):
    spec = small_experiment(protocol="fair")
    run_experiment(spec, store, in_process())
    for protocol in ("fair", "gin"):
        assert all(measured.protocol == protocol for *_, measured in numbers(store, spec, protocol))
    assert all(len(measured.choices) == 4 for *_, measured in numbers(store, spec))
