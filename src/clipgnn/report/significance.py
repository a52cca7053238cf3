"""Significance of differences between scores of folds, and intervals of their means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.1
"""Significance level of the paper, used for all tests."""

_ROUNDING = 1e-6
"""Largest relative rounding error of scores, which stores keep in single precision."""


@dataclass(frozen=True)
class Comparison:
    """Paired test of a row against the best row of its column.

    Attributes:
        p_value: two-sided p-value of the corrected resampled t-test.
        holm: the same with Holm's correction over the rows of the column.
    """

    p_value: float
    holm: float

    @property
    def differs(self) -> bool:
        """Whether the difference is significant after the correction."""
        return self.holm < LEVEL


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value of Welch's unpaired t-test, for unequal variances.

    Equal variances are not assumed, because standard deviations in these tables differ by orders
    of magnitude.

    The paper does not state which unpaired t-test it uses. With equal numbers of folds, Welch's
    and Student's test differ only in the degrees of freedom.

    Args:
        first: scores of at least two folds.
        second: scores of at least two folds of another model.
    """
    from scipy import stats  # slow to import, and only tables need it

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    spread_a, spread_b = float(np.std(a, ddof=1)), float(np.std(b, ddof=1))
    rounding = rounding_error(*first, *second)
    if max(spread_a, spread_b) <= rounding:
        return _without_variance(a.mean() - b.mean(), rounding)
    test = stats.ttest_ind_from_stats(
        a.mean(), spread_a, len(a), b.mean(), spread_b, len(b), equal_var=False
    )
    return float(test.pvalue)


def differs(scores: Sequence[float], best: Sequence[float]) -> bool:
    """Return whether the difference is significant; with fewer than two folds it counts as such."""
    if min(len(scores), len(best)) < 2:
        return True
    return p_value(scores, best) < LEVEL


def paired_p_value(first: Sequence[float], second: Sequence[float], test_to_train: float) -> float:
    r"""Return the two-sided p-value of the corrected resampled t-test.

    From Nadeau and Bengio, `"Inference for the Generalization Error"
    <https://doi.org/10.1023/A:1024068626366>`_, 2003:

    .. math::
        t = \frac{\bar d}{\sqrt{(1/n + n_\text{test} / n_\text{train}) \, s_d^2}}

    with n - 1 degrees of freedom, for the differences d of n folds. The training sets of the folds
    overlap, so that their scores are correlated; the second term corrects the variance for that.

    Args:
        first: scores of at least two folds.
        second: scores of another model on the same folds, in the same order.
        test_to_train: number of test graphs of a fold, divided by that of its training graphs; with
            0 this is the usual paired t-test.
    """
    from scipy import stats

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    n, mean, spread = len(a), float(np.mean(a - b)), float(np.std(a - b, ddof=1))
    rounding = rounding_error(*first, *second)
    if spread <= rounding:
        return _without_variance(mean, rounding)
    statistic = abs(mean) / (spread * np.sqrt(1 / n + test_to_train))
    return float(2 * stats.t.sf(statistic, n - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction for the number of tests, in the same order.

    The smallest of m p-values is multiplied by m, the next one by m - 1, and so on. A larger
    p-value stays at least as large as a smaller one, and none exceeds 1.
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(np.argsort(p_values, kind="stable").tolist()):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected


def compare(
    best: Mapping[int, float], others: Sequence[Mapping[int, float]], test_to_train: float
) -> list[Comparison | None]:
    """Compare rows of a column with its best row, fold by fold.

    The best row is chosen by the same scores, which the correction does not take into account.

    Args:
        best: scores of the best row, by number of the fold.
        others: scores of the other rows.
        test_to_train: number of test graphs of a fold, divided by that of its training graphs.

    Returns:
        A comparison for each of the other rows; None if it has other folds, or fewer than two.
    """
    paired = {
        row: paired_p_value([own[fold] for fold in best], list(best.values()), test_to_train)
        for row, own in enumerate(others)
        if own.keys() == best.keys() and len(best) >= 2
    }
    corrected = dict(zip(paired, holm(list(paired.values())), strict=True))
    return [
        Comparison(paired[row], corrected[row]) if row in paired else None
        for row in range(len(others))
    ]


def rounding_error(*scores: float) -> float:
    """Return the largest difference between scores that can be a rounding error."""
    return _ROUNDING * max(abs(score) for score in scores)


def _without_variance(difference: float, rounding: float) -> float:
    """Return the limit of the p-value for a variance of 0, by which a test would divide."""
    return 1.0 if abs(difference) <= rounding else 0.0


def confidence_interval(scores: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Return the t-interval of the mean of scores of folds.

    It describes the variation between folds only: not that of seeds, and not the choice of epoch
    and configuration. Training sets of folds overlap, so that their scores are not independent, and
    the interval is rather too short.

    Args:
        scores: scores of the folds; a single one is an interval of length 0.
        level: confidence level.
    """
    from scipy import stats

    values = np.asarray(scores, dtype=np.float64)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, mean
    margin = float(stats.t.ppf((1 + level) / 2, len(values) - 1) * stats.sem(values))
    return mean - margin, mean + margin
