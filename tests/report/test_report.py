"""The numbers of a report are those of the table, of its store and of the protocol."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.experiments.fake_training import failing, fake, small_experiment
from tests.report.kept import run_with_predictions

from clipgnn.experiments.evaluation import chosen_curves, evaluate
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.report import make_report
from clipgnn.report.by_number import by_number
from clipgnn.report.missing import missing

ONE_ROW = [
    {"name": "0-CLIP", "model": "clip", "num_colorings": 0},
    {"name": "CLIP", "model": "clip", "num_colorings": [1, 4]},
    {"name": "GIN", "model": "gin"},
]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "a.sqlite", create=True) as opened:
        yield opened


def test_figures_have_the_numbers_of_the_table(store):
    spec = small_experiment(models=ONE_ROW)
    run_experiment(spec, store, InProcessExecutor(fake))
    made = make_report(spec, store, "gin")
    results = store.results()
    cells = {(cell.row, cell.dataset): cell for cell in evaluate(spec, results)}
    assert [panel.dataset for panel in made.curves] == ["connectivity", "csl"]
    for panel in made.curves:
        assert [line.label for line in panel.lines] == ["0-CLIP", "CLIP", "GIN"]
        for line in panel.lines:
            cell = cells[line.label, panel.dataset]
            [choice] = cell.measurement.choices
            assert choice.epoch is not None
            assert line.epoch == choice.epoch
            assert list(line.folds) == list(chosen_curves(spec, cell, results).values())
            scores = [own.test_score_at(choice.epoch - 1) for own in line.folds]
            assert scores == list(cell.measurement.values.values())
    for times in made.times:
        for point in times.points:
            values = cells[point.label, times.dataset].measurement.values.values()
            assert point.scores == pytest.approx([100 * value for value in values])
            assert (point.seconds, point.devices) == (0.5, ("cpu (none)",))
    assert make_report(spec, store, "gin", figures=False).curves == ()


def test_each_number_of_colorings_has_its_own_choice(store):
    spec = small_experiment(models=ONE_ROW)
    run_experiment(spec, store, InProcessExecutor(fake))
    made = make_report(spec, store, "gin")
    assert [(panel.title, sorted(panel.scores)) for panel in made.scores] == [
        ("connectivity", [0, 1, 4]),
        ("csl", [0, 1, 4]),
    ]
    results = store.results()
    for number in (1, 4):
        only = Overrides(models=["CLIP"], where={"num_colorings": (number,)})(spec)
        for cell, panel in zip(evaluate(only, results), made.scores, strict=True):
            values = [100 * value for value in cell.measurement.values.values()]
            assert panel.scores[number] == pytest.approx(values)
    # The best of all k is the row of the table.
    best = max(np.mean(made.scores[0].scores[number]) for number in (1, 4))
    [row] = [row for row in made.table.rows if row.name == "CLIP"]
    assert row.entries[0].measurement is not None
    assert best == pytest.approx(100 * row.entries[0].measurement.mean)
    assert made.scores[0].published == {0: 56.5, 1: 73.3}


def test_rows_that_differ_in_more_than_k_are_not_joined():
    models = [
        {"name": "0-CLIP", "model": "clip", "num_colorings": 0},
        {"name": "wide", "model": "clip", "num_colorings": [1, 2], "hidden_channels": 64},
        {"name": "deep", "model": "clip", "num_colorings": [1, 2], "num_layers": 9},
    ]
    spec = small_experiment(models=models, only={}, datasets=["csl"], extremes=[])
    parts = [(title, [row.name for row in part.rows]) for title, part in by_number(spec)]
    assert parts == [("csl, wide", ["1", "2"]), ("csl, deep", ["1", "2"])]
    spec = small_experiment(models=models[:1])
    assert list(by_number(spec)) == []


def test_incomplete_numbers_of_colorings_are_named(store):
    spec = small_experiment(models=ONE_ROW, datasets=["csl"])
    left = next(trial for trial in spec.trials() if trial.parameters.get("num_colorings") == 4)
    run_experiment(spec, store, InProcessExecutor(partial(failing, bad=left.identity)))
    made = make_report(spec, store, "gin")
    assert [sorted(panel.scores) for panel in made.scores] == [[0, 1]]
    assert made.notes == {
        "scores": ("csl: incomplete and not shown: k = 4.",),
        "predicted": (),
    }
    assert made.table.missing[0].startswith("Missing: 1 of ")


def test_what_is_missing():
    spec = small_experiment()
    trials = {trial.identity for trial in spec.trials()}
    first, second, *_ = spec.trials()
    assert missing(spec, trials, set(), set()) == ()
    assert missing(spec, trials - {first.identity}, {first.identity}, set()) == ()
    assert missing(spec, trials - {first.identity, second.identity}, set(), {first.identity}) == (
        "Missing: 2 of 48 trials asked for, 1 of them failed.",
        "Partly missing: 0-CLIP on connectivity (2 of 16 trials).",
    )
    assert missing(spec, set(), set(), set()) == (
        "Missing: 48 of 48 trials asked for.",
        "Without any result: 0-CLIP and 16-CLIP on connectivity and csl.",
    )
    part = replace(spec, first_folds=2)
    assert missing(part, trials, set(), set()) == ("The first 2 of 4 folds were asked for.",)
    part = replace(spec, first_folds=1)
    assert missing(part, trials, set(), set()) == ("The first of 4 folds was asked for.",)


def test_nested_choices_have_no_common_epoch(tmp_path):
    path = tmp_path / "a.sqlite"
    spec = run_with_predictions(path, split="nested", protocol="fair", grid={"epochs": [4, 9]})
    with Store(path) as opened:
        made = make_report(spec, opened, "fair")
    assert [line.epoch for line in made.curves[0].lines] == [None, None]
    assert all(len(line.folds) == 4 for line in made.curves[0].lines)
