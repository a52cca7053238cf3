"""The t-test agrees with scipy's, and says something sensible where scipy divides by zero."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from clipgnn.report.significance import differs, p_value

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
