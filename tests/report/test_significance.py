"""The t-tests agree with scipy's, and are defined where scipy divides by zero."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from clipgnn.report.significance import (
    LEVEL,
    Comparison,
    compare,
    differs,
    holm,
    p_value,
    paired_p_value,
)

scores = st.lists(
    st.integers(0, 100).map(lambda hundredths: hundredths / 100), min_size=2, max_size=10
)


@given(scores, scores)
def test_it_is_the_unpaired_test_of_unequal_variances(first, second):
    assume(len(set(first)) > 1 and len(set(second)) > 1)
    expected = stats.ttest_ind(first, second, equal_var=False).pvalue
    assert p_value(first, second) == pytest.approx(expected, abs=1e-9)


def test_one_that_never_varies():
    at_chance, varied = [0.1] * 10, [0.1, 0.9] * 5
    expected = stats.ttest_1samp(varied, 0.1).pvalue  # what Welch's test comes to
    assert p_value(at_chance, varied) == pytest.approx(expected)


def test_neither_varies():
    assert p_value([0.1] * 10, [0.1] * 10) == 1.0
    assert p_value([0.1] * 10, [1.0] * 10) == 0.0


def test_worked_out_by_hand():
    # means 0.7 and 0.9, sample variances 0.02 each, two folds: t = 0.2 / sqrt(0.02), 2 degrees
    p = p_value([0.6, 0.8], [0.8, 1.0])
    assert p == pytest.approx(2 * stats.t.sf(0.2 / 0.02**0.5, 2))
    assert not differs([0.6, 0.8], [0.8, 1.0])
    assert differs([0.60, 0.62, 0.61], [0.80, 0.82, 0.81])


def test_one_fold_says_nothing():
    assert differs([0.5], [0.5, 0.6])


pairs = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=2, max_size=10).map(
    lambda drawn: (np.array(drawn).T / 100).tolist()
)


@given(pairs)
def test_without_correction_it_is_the_paired_test(drawn):
    first, second = drawn
    assume(np.std(np.subtract(first, second)) > 1e-9)
    expected = stats.ttest_rel(first, second).pvalue
    assert paired_p_value(first, second, 0.0) == pytest.approx(expected, abs=1e-9)


@given(pairs, st.floats(0, 2))
def test_the_correction_scales_the_statistic(drawn, ratio):
    """The closed form: t of the paired test, divided by sqrt(1 + n * n_test / n_train)."""
    first, second = drawn
    assume(np.std(np.subtract(first, second)) > 1e-9)
    n = len(first)
    statistic = stats.ttest_rel(first, second).statistic / np.sqrt(1 + n * ratio)
    expected = 2 * stats.t.sf(abs(statistic), n - 1)
    assert paired_p_value(first, second, ratio) == pytest.approx(expected, abs=1e-9)
    assert paired_p_value(second, first, ratio) == paired_p_value(first, second, ratio)


@pytest.mark.parametrize("folds", [5, 10])
def test_p_values_are_uniform_for_correlated_folds(folds):
    """Differences of folds with the correlation that the correction assumes, and mean 0.

    With a correlation of r between any two folds, the variance of the mean is (1 / n + r / (1 - r))
    times the expected sample variance. r / (1 - r) is 1 / (K - 1) for r = 1 / K.
    """
    generator = np.random.default_rng(0)
    correlation = 1 / folds
    common = generator.normal(size=(4000, 1)) * np.sqrt(correlation)
    own = generator.normal(size=(4000, folds)) * np.sqrt(1 - correlation)
    drawn, zeros = (common + own).tolist(), [0.0] * folds
    corrected = [paired_p_value(row, zeros, 1 / (folds - 1)) for row in drawn]
    assert stats.kstest(corrected, "uniform").pvalue > 0.01
    plain = [paired_p_value(row, zeros, 0.0) for row in drawn]
    assert stats.kstest(plain, "uniform").pvalue < 1e-6, "without correction they are too small"
    assert np.mean(np.array(plain) < LEVEL) > 1.5 * np.mean(np.array(corrected) < LEVEL)


def test_differences_that_never_vary():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_p_value([0.1, 0.5, 0.7], [0.1, 0.5, 0.7], 0.1) == 1.0
        assert paired_p_value([0.1, 0.5, 0.7], [0.2, 0.6, 0.8], 0.1) == 0.0
        assert paired_p_value([0.4, 0.6], [0.6, 0.4], 1.0) == 1.0, "of equal means"
        assert paired_p_value([0.0, 0.0], [0.0, 0.0], 1.0) == p_value([0.0] * 2, [0.0] * 2) == 1.0


def test_rounding_is_no_difference():
    """Stores keep single precision, in which the mean over two seeds of a fold rounds."""
    exact = np.array([0.7, 0.8, 0.9, 0.6])
    rounded = exact.astype(np.float32).astype(np.float64)
    assert (rounded != exact).all()
    for scale in (1e-9, 1.0, 1e9):  # also for errors in any unit
        first, second = (exact * scale).tolist(), (rounded * scale).tolist()
        assert paired_p_value(first, second, 0.1) == 1.0
        assert paired_p_value([0.5 * scale] * 4, first, 0.1) < 0.2


def _holm_by_hand(p_values):
    """Sort, multiply, take the running maximum, and put back in place."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected = {}
    for rank, place in enumerate(order):
        products = [
            (len(p_values) - earlier) * p_values[order[earlier]] for earlier in range(rank + 1)
        ]
        corrected[place] = min(1.0, max(products))
    return [corrected[place] for place in range(len(p_values))]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_the_correction_of_holm(p_values):
    corrected = holm(p_values)
    assert corrected == pytest.approx(_holm_by_hand(p_values))
    assert all(after >= before for after, before in zip(corrected, p_values, strict=True))
    rejected = {place for place, own in enumerate(corrected) if own < LEVEL}
    # The procedure as Holm describes it: step down until the first that is not rejected.
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[place] * (len(p_values) - rank) >= LEVEL:
            assert place not in rejected
            break
        assert place in rejected


def test_the_correction_of_holm_on_an_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_rows_are_compared_on_the_same_folds_only():
    best = {0: 0.9, 1: 0.8, 2: 1.0}
    turned = {2: 0.7, 0: 0.5, 1: 0.7}  # in another order
    others = [turned, {0: 0.5, 1: 0.7}, {0: 0.5, 1: 0.7, 3: 0.7}, best]
    compared = compare(best, others, 0.5)
    p = paired_p_value([0.5, 0.7, 0.7], [0.9, 0.8, 1.0], 0.5)
    assert compared == [Comparison(p, 2 * p), None, None, Comparison(1.0, 1.0)]
    assert compare({0: 0.9}, [{0: 0.5}], 0.5) == [None], "one fold has no variance"
    assert Comparison(0.04, 0.08).differs
    assert not Comparison(0.04, 0.1).differs
