"""Confusion matrix and calibration, against numbers made by hand; which predictions are used."""

from dataclasses import replace

import numpy as np
import pytest
from tests.report.kept import predictions_of, run_with_predictions

from clipgnn.experiments.artifacts import predictions_path
from clipgnn.experiments.evaluation import chosen_trials, evaluate
from clipgnn.experiments.predictions import Predictions
from clipgnn.experiments.store import Store
from clipgnn.report.kept import kept_predictions
from clipgnn.report.predicted import calibration_bins, confusion_matrix, summarize

TARGETS = np.array([0, 0, 1, 1, 2])
PROBABILITIES = np.array(
    [[0.8, 0.1, 0.1], [0.3, 0.4, 0.3], [0.1, 0.75, 0.15], [0.0, 1.0, 0.0], [0.4, 0.2, 0.4]]
)


def test_confusion_matrix():
    expected = [[1, 1, 0], [0, 2, 0], [1, 0, 0]]
    assert confusion_matrix(TARGETS, PROBABILITIES).tolist() == expected
    more = confusion_matrix(np.array([3]), PROBABILITIES[:1])
    assert more.shape == (4, 4), "a class that the network does not have"
    assert more[3, 0] == 1


def test_calibration():
    bins = calibration_bins(TARGETS, PROBABILITIES)
    assert [tuple(vars(own).values()) for own in bins] == [
        (0.3, 0.4, 2, 0.4, 0.0),
        (0.7, 0.8, 2, pytest.approx(0.775), 1.0),
        (0.9, 1.0, 1, 1.0, 1.0),
    ]
    for place in range(3, 10):  # also where 10 * 0.7 is more than 7
        limit = np.array([[(place + 1) / 10, 0.0]])
        assert calibration_bins(np.array([0]), limit)[0].low == place / 10
    own = summarize("a", "b", "", [(TARGETS, PROBABILITIES)])
    assert own.calibration_error == pytest.approx((2 * 0.4 + 2 * 0.225 + 0) / 5)
    assert own.accuracy == pytest.approx(3 / 5)


def found(path, spec, protocol):
    with Store(path) as store:
        results = store.results()
        cells = evaluate(spec, results, protocol)
        return cells, *kept_predictions(spec, cells, results, path)


def test_the_last_epoch_is_used_and_named(tmp_path):
    path = tmp_path / "a.sqlite"
    spec = run_with_predictions(path)
    cells, summaries, notes = found(path, spec, "gin")
    assert notes == []
    assert [(own.row, own.dataset, own.networks) for own in summaries] == [
        ("0-CLIP", "csl", 4),
        ("16-CLIP", "csl", 4),
    ]
    trials = [trial for own in chosen_trials(spec, cells[0]).values() for trial in own]
    correct = [predictions_of(trial).last.argmax(1) for trial in trials]
    targets = [predictions_of(trial).targets for trial in trials]
    assert summaries[0].accuracy == np.mean(np.array(correct) == np.array(targets))
    for cell, own in zip(cells, summaries, strict=True):
        [choice] = cell.measurement.choices
        other = f"; the table has the scores of epoch {choice.epoch}" if choice.epoch != 9 else ""
        assert own.epoch == f"after the last epoch (epoch 9){other}"
    assert len({own.epoch for own in summaries}) == 2, "in one of them it is another epoch"
    assert found(path, spec, "last")[1][0].epoch == "after the last epoch (epoch 9)"


def test_the_best_epoch_is_used_and_named(tmp_path):
    path = tmp_path / "a.sqlite"
    spec = run_with_predictions(path, split="nested", protocol="fair")
    cells, summaries, _ = found(path, spec, "fair")
    epochs = [choice.epoch for choice in cells[0].measurement.choices]
    assert summaries[0].epoch == (
        "after the epoch with the best validation score of each network "
        f"(epochs {min(epochs)} to {max(epochs)})"
    )
    trials = [trial for own in chosen_trials(spec, cells[0]).values() for trial in own]
    expected = np.zeros((3, 3), dtype=np.int64)
    for own in map(predictions_of, trials):
        assert own.best is not None
        assert own.targets is not None
        for target, outputs in zip(own.targets, own.best, strict=True):
            expected[int(target), outputs.argmax()] += 1
    np.testing.assert_array_equal(summaries[0].confusion, expected)


def test_what_cannot_be_used_is_named(tmp_path):
    path = tmp_path / "a.sqlite"
    spec = run_with_predictions(path)
    first, second, *others = spec.trials()
    predictions_path(path, first.identity).unlink()
    own = predictions_of(second)
    predictions_path(path, second.identity).write_bytes(replace(own, targets=None).to_bytes())
    _, summaries, notes = found(path, spec, "gin")
    assert notes == [
        "0-CLIP on csl: predictions of 3 of 4 networks were kept.",
        "0-CLIP on csl: files of an earlier version have no targets; run its trials again to keep "
        "them.",
    ]
    assert [own.networks for own in summaries] == [2, 4]
    numbers = Predictions(np.arange(2), np.ones((2, 1)), targets=np.ones((2, 1)))
    for trial in [first, second, *others]:
        predictions_path(path, trial.identity).write_bytes(numbers.to_bytes())
    _, summaries, notes = found(path, spec, "gin")
    assert summaries == []
    assert notes[0] == "0-CLIP on csl: the targets are not classes."
    for trial in spec.trials():
        predictions_path(path, trial.identity).unlink()
    assert found(path, spec, "gin")[1:] == ([], [])


def test_binary_targets_are_two_classes(tmp_path):
    path = tmp_path / "a.sqlite"
    loss = {"epochs": 9, "loss": "binary-cross-entropy"}
    spec = run_with_predictions(path, grid=loss)
    own = Predictions(
        np.arange(3), np.array([[0.9], [0.2], [0.6]]), targets=np.array([[1.0], [0.0], [0.0]])
    )
    for trial in spec.trials():
        predictions_path(path, trial.identity).write_bytes(own.to_bytes())
    assert found(path, spec, "gin")[1][0].confusion.tolist() == [[4, 4], [0, 4]]
