"""Kernels in experiments: no epochs, one job for all folds, on the CPU; really fitted."""

import json
from functools import partial
from typing import Any

import pytest
from tests.experiments.fake_training import (
    failing,
    fake,
    on_fake_data,
    on_real_data,
    small_experiment,
)

from clipgnn.baselines.svm import Kernel
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.evaluation import evaluate
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.jobs import jobs_of
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.work import run_trials
from clipgnn.parameters import MODELS
from clipgnn.report import make_table, provenance
from clipgnn.report.csv_text import render_csv
from clipgnn.report.markdown import render_markdown
from clipgnn.report.terminal import terminal_table

CLIP = {"name": "0-CLIP", "model": "clip", "num_colorings": 0}
WL = {"name": "WL", "model": "wl", "height": [0, 1], "C": [1, 10.0]}
AWL = {"name": "AWL", "model": "awl", "length": 2}


def kernels(**changes: object) -> Experiment:
    """A network and two kernels, 5 configurations of 4 folds."""
    given: dict[str, Any] = {"datasets": ["csl"], "models": [CLIP, WL, AWL], "only": {}, **changes}
    return small_experiment(**{"grid": {"epochs": 2} if CLIP in given["models"] else {}, **given})


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "kernels.sqlite", create=True) as opened:
        yield opened


def read_back(spec: Experiment) -> Experiment:
    return on_fake_data(
        parse_experiment(json.loads(json.dumps(spec.content())), spec.name, "store")
    )


def markdown(spec: Experiment, store: Store) -> str:
    results = store.results()
    lines = provenance(spec, store, results)
    table = make_table(spec, evaluate(spec, results), spec.protocol, lines)
    assert "WL" in render_csv(table)
    terminal_table(table)
    return render_markdown(table)


def test_every_model_without_a_recipe_is_a_kernel():
    kernels = [model for model in MODELS.values() if not model.trained]
    assert kernels
    for model in kernels:
        assert issubclass(model.load(), Kernel)
        assert issubclass(model.load(), model.parameters)


def test_a_spec_names_what_a_kernel_cannot_have():
    for wrong, message in (
        ({"C": 0}, r"C: must be a finite number above 0. Got 0"),
        ({"epochs": 3}, r"epochs: is an unknown key"),
        ({"height": -1}, r"height: must be an integer from 0 to 1000"),
        ({"normalize": 1}, r"normalize: must be true or false"),
    ):
        with pytest.raises(ValueError, match=rf"models\[0\].{message}"):
            kernels(models=[{"model": "wl", **wrong}])
    with pytest.raises(ValueError, match=r"delta: must be a number above 0 and below 1"):
        kernels(models=[{"model": "awl", "delta": 1.0}])


@pytest.mark.parametrize("together", [False, True])
def test_all_folds_of_a_kernel_are_one_job(together):
    jobs = jobs_of(kernels(seeds=[0, 1]).trials(), together=together)
    sizes = {(job.trials[0].model, len(job.trials)) for job in jobs}
    assert sizes == {("clip", 4 if together else 1), ("wl", 4), ("awl", 4)}
    assert all(len({trial.configuration for trial in job.trials}) == 1 for job in jobs)


def test_a_fold_that_fails_takes_no_other_configuration_with_it(store):
    spec = kernels(models=[WL])
    bad = spec.trials()[5].identity
    progress = run_experiment(spec, store, InProcessExecutor(partial(failing, bad=bad)))
    assert (progress.finished, progress.failed) == (12, 4)


@pytest.mark.needs("grakel")
def test_kernels_are_fitted_on_the_cpu_whatever_the_device(store):
    spec = on_real_data(kernels(models=[WL, AWL], protocol="fair", seeds=[0, 1]))
    work = partial(run_trials, device="cuda")
    progress = run_experiment(spec, store, InProcessExecutor(work))
    assert (progress.finished, progress.failed) == (progress.total, 0)
    for environment in store.environments().values():
        assert environment["device"] == "cpu"
    for result in store.results().values():
        assert len(result.curves.test_score) == len(result.curves.validation_score) == 1
    text = markdown(spec, store)
    assert "INCOMPLETE" not in text
    assert "- WL on csl: fold 0: height 0, C 1.0\n" in text
    assert "epoch " not in text.partition("## Chosen configurations")[2]
    assert "epochs" not in text


@pytest.mark.needs("grakel")
def test_a_table_of_networks_and_kernels(store):
    spec = on_real_data(kernels())
    progress = run_experiment(spec, store, InProcessExecutor(run_trials))
    assert (progress.finished, progress.failed) == (24, 0)
    text = markdown(spec, store)
    # the graphs of csl are regular: neither labels nor refinement say anything
    assert "| WL | 8.0 ± 0.1 |" in text
    assert "- 0-CLIP on csl: epoch 1; num_colorings 0, epochs 2" in text
    assert "- AWL on csl: length 2\n" in text
    assert "C {1.0, 10.0}" in text


def test_other_epochs_change_nothing_of_a_kernel(store):
    spec = kernels()
    run_experiment(spec, store, InProcessExecutor(fake))
    longer = Overrides(epochs=3)(spec)
    assert read_back(longer).trials() == longer.trials()
    assert run_experiment(longer, store, InProcessExecutor(fake)).reused == 5 * 4
    # a part without networks has no epochs, and can be read back from a store
    for part in (
        Overrides(epochs=3, models=["WL"])(spec),
        Overrides(models=["WL", "AWL"])(spec),
        Overrides(epochs=3)(kernels(models=[WL, AWL])),
    ):
        assert "epochs" not in part.grid
        assert read_back(part) == part
        assert run_experiment(part, store, InProcessExecutor(fake)).reused == len(part.trials())
    assert "INCOMPLETE" not in markdown(part, store)


def test_the_grid_of_one_data_set_is_narrowed_too():
    spec = kernels(only={"csl": {"epochs": 2, "height": 0}})
    part = Overrides(models=["WL"])(spec)
    assert part.only == {"csl": {"height": (0,)}}
    assert read_back(part) == part


def test_a_kernel_without_parameters():
    [trial, *_] = kernels(models=[{"model": "wl"}]).trials()
    assert str(trial) == "wl on csl, fold 0"
