"""Protocols on curves worked out by hand, and what must hold on any curves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clipgnn.curves import Curves
from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.protocol import Candidate, Choice, Divergence, fair, gin, last


def candidate(name, test, validation=None, metric="accuracy"):
    folds = {
        fold: Curves(np.zeros(len(row)), row, validation[fold] if validation else (), metric=metric)
        for fold, row in enumerate(test)
    }
    return Candidate({"name": name}, folds)


A = candidate("A", test=[[0.5, 0.9, 0.6], [0.5, 0.3, 0.8]])  # mean 0.5, 0.6, 0.7
B = candidate("B", test=[[0.4, 1.0, 0.0], [0.2, 0.5, 0.0]])  # mean 0.3, 0.75, 0.0


def test_gin_takes_the_best_epoch_of_the_mean_curve():
    measured = gin([A], 2)
    assert measured.protocol == "gin"
    assert measured.values == {0: 0.6, 1: 0.8}
    assert measured.mean == pytest.approx(0.7)
    assert measured.std == pytest.approx(0.1)  # of the two folds, divided by two
    assert (measured.highest, measured.lowest) == (0.8, 0.6)
    assert measured.choices == (Choice({"name": "A"}, epoch=3),)
    assert measured.complete


def test_gin_chooses_the_configuration_by_the_same_number():
    measured = gin([A, B], 2)
    assert measured.choices == (Choice({"name": "B"}, epoch=2),)
    assert measured.mean == pytest.approx(0.75)
    assert (measured.finished, measured.expected) == (4, 4)


def test_last_takes_the_last_epoch_and_the_best_configuration_there():
    measured = last([B, A], 2)
    assert measured.protocol == "last"
    assert measured.values == {0: 0.6, 1: 0.8}
    assert measured.choices == (Choice({"name": "A"}, epoch=3),)
    alone = last([B], 2)
    assert alone.mean == 0.0, "its best epoch does not count"
    kernel = Candidate({"C": 1.0}, {0: Curves([0.0], [0.5])}, trained=False)
    assert last([kernel], 1).choices == (Choice({"C": 1.0}, epoch=None),)


def test_of_equals_the_first_wins():
    flat = [[0.5, 0.5], [0.5, 0.5]]
    first = gin([candidate("first", flat), candidate("second", flat)], 2)
    assert first.choices == (Choice({"name": "first"}, epoch=1),)
    final = last([candidate("first", flat), candidate("second", flat)], 2)
    assert final.choices == (Choice({"name": "first"}, epoch=2),)
    nested = fair([candidate("first", flat, flat), candidate("second", flat, flat)], 2)
    assert nested.choices[0] == Choice({"name": "first"}, epoch=1, fold=0)


def test_smaller_errors_are_better_when_they_are_errors():
    tests = [[curves.test_score for curves in own.folds.values()] for own in (A, B)]
    errors = [candidate(name, test, metric="rmse") for name, test in zip("AB", tests, strict=True)]
    measured = gin(errors, 2)
    assert measured.choices == (Choice({"name": "B"}, epoch=3),)
    assert measured.mean == 0.0
    assert last(errors, 2).choices == (Choice({"name": "B"}, epoch=3),)


def test_fair_chooses_on_the_validation_curve_in_each_fold():
    first = candidate(
        "first", test=[[0.1, 0.2, 0.9], [0.3, 0.4, 0.9]], validation=[[0.5, 0.8, 0.1], [0.9, 0, 0]]
    )
    second = candidate(
        "second", test=[[0.6, 0.9, 0.9], [0.7, 0.9, 0.9]], validation=[[0.7, 0.1, 0.1], [0, 0, 1.0]]
    )
    measured = fair([first, second], 2)
    assert measured.protocol == "fair"
    # fold 0: first at epoch 2 (0.8); fold 1: second at epoch 3 (1.0)
    assert measured.choices == (
        Choice({"name": "first"}, epoch=2, fold=0),
        Choice({"name": "second"}, epoch=3, fold=1),
    )
    assert measured.values == {0: 0.2, 1: 0.9}
    assert measured.mean == pytest.approx(0.55)


def test_fair_needs_validation_curves():
    with pytest.raises(InvalidParameterError, match="requires validation curves"):
        fair([A], 2)


def test_missing_folds_are_counted_and_do_not_win():
    partly = Candidate({"name": "partly"}, {0: Curves([0.0], [1.0])})
    for protocol in (gin, last):
        measured = protocol([partly, A], 2)
        assert measured.choices[0].configuration == {"name": "A"}
        assert (measured.finished, measured.expected) == (3, 4)
        assert not measured.complete


def test_nothing_finished_is_no_number():
    empty = [Candidate({}, {})]
    for measured in (gin([], 2), gin(empty, 2), fair(empty, 2), last([], 2), last(empty, 2)):
        assert measured.values == {}
        assert measured.choices == ()
        with pytest.raises(InvalidParameterError, match="no fold is finished yet"):
            _ = measured.mean


def test_a_curve_that_was_stopped_early_keeps_its_last_score():
    stopped = candidate("stopped", test=[[0.2, 0.6], [0.1, 0.2, 0.3, 0.4]])
    measured = gin([stopped], 2)
    assert measured.choices[0].epoch == 4
    assert measured.values == {0: 0.6, 1: 0.4}
    uneven = candidate("uneven", test=[[0.9, 0.6], [0.9, 0.2, 0.3, 0.4]])
    assert last([uneven], 2).values == {0: 0.6, 1: 0.4}, "the last epoch of each fold"


def test_a_configuration_with_a_diverged_fold_is_never_chosen():
    best = candidate("best", test=[[1.0], [1.0]], validation=[[1.0], [1.0]])
    out = Candidate(best.configuration, {0: best.folds[0]}, diverged={1: "in epoch 1"})
    poor = candidate("poor", test=[[0.1], [0.2]], validation=[[0.3], [0.4]])
    for protocol, choices in ((gin, 1), (fair, 2), (last, 1)):
        measured = protocol([out, poor], 2)
        assert measured.values == {0: 0.1, 1: 0.2}
        assert [choice.configuration for choice in measured.choices] == [{"name": "poor"}] * choices
        assert measured.diverged == (Divergence({"name": "best"}, {1: "in epoch 1"}),)
        assert (measured.finished, measured.num_diverged, measured.expected) == (3, 1, 4)
        assert measured.complete, "it is settled, not missing"
        assert not protocol([out, poor], 3).complete
        # with nothing else to choose from there is no number
        alone = protocol([out], 2)
        assert (alone.values, alone.choices, alone.complete) == ({}, (), True)
        with pytest.raises(InvalidParameterError, match="every configuration has diverged"):
            _ = alone.mean


scores = st.integers(0, 20).map(lambda twentieths: twentieths / 20)


@st.composite
def curves_of_candidates(draw):
    """Test and validation curves: `[2, configurations, folds, epochs]`."""
    sizes = [draw(st.integers(1, 4)) for _ in range(3)]
    return draw(arrays(float, (2, *sizes), elements=scores))


def candidates(drawn):
    found = [candidate(number, *own) for number, own in enumerate(drawn.swapaxes(0, 1).tolist())]
    return found, drawn.shape[2]


@given(curves_of_candidates())
def test_gin_is_at_least_the_mean_of_any_single_epoch(drawn):
    given_candidates, folds = candidates(drawn)
    measured = gin(given_candidates, folds)
    means = [
        np.mean([curves.test_score for curves in own.folds.values()], axis=0).max()
        for own in given_candidates
    ]
    assert measured.mean == pytest.approx(max(means))
    assert measured.complete
    assert measured.lowest <= measured.mean <= measured.highest + 1e-12
    final = last(given_candidates, folds)
    ends = [
        np.mean([curves.test_score[-1] for curves in own.folds.values()])
        for own in given_candidates
    ]
    assert final.mean == pytest.approx(max(ends))
    assert final.mean <= measured.mean + 1e-12


@given(curves_of_candidates(), st.randoms(use_true_random=False))
def test_fair_never_looks_at_test_curves_to_choose(drawn, random):
    given_candidates, folds = candidates(drawn)
    measured = fair(given_candidates, folds)
    shuffled = []
    for own in given_candidates:
        found = {}
        for fold, curves in own.folds.items():
            test = curves.test_score.tolist()
            random.shuffle(test)
            found[fold] = replace(curves, test_score=test)
        shuffled.append(Candidate(own.configuration, found))
    assert fair(shuffled, folds).choices == measured.choices


@given(curves_of_candidates())
def test_fair_is_never_above_gin_with_a_choice_in_every_fold(drawn):
    given_candidates, folds = candidates(drawn)
    best_possible = {
        fold: max(own.folds[fold].test_score.max() for own in given_candidates)
        for fold in range(folds)
    }
    measured = fair(given_candidates, folds)
    assert all(measured.values[fold] <= best_possible[fold] for fold in range(folds))


@pytest.mark.parametrize(("protocol", "epoch"), [(gin, 1), (last, 2), (fair, 0)])
def test_fresh_scores_are_read_at_the_epoch_of_the_choice(protocol, epoch):
    fresh = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    validation = [1.0, 0.0, 0.0]
    test = [[0.4, 1.0, 0.1], [0.2, 0.5, 0.0]]
    folds = {fold: Curves([0.0] * 3, test[fold], validation, fresh[fold]) for fold in range(2)}
    measured = protocol([Candidate({}, folds)], 2)
    assert measured.fresh == {0: fresh[0][epoch], 1: fresh[1][epoch]}
    assert measured.values == {0: test[0][epoch], 1: test[1][epoch]}
    assert protocol([Candidate({}, {0: Curves([0.0], [0.5], [0.5])})], 1).fresh == {}
