"""Significance of differences between scores of folds, and intervals of their means."""

from collections.abc import Sequence

import numpy as np

LEVEL = 0.1
"""Significance level of the paper."""


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
    if max(spread_a, spread_b) < 1e-12:
        # The test would divide by zero, because neither varies.
        return 1.0 if abs(a.mean() - b.mean()) < 1e-12 else 0.0
    test = stats.ttest_ind_from_stats(
        a.mean(), spread_a, len(a), b.mean(), spread_b, len(b), equal_var=False
    )
    return float(test.pvalue)


def differs(scores: Sequence[float], best: Sequence[float]) -> bool:
    """Return whether the difference is significant; with fewer than two folds it counts as such."""
    if min(len(scores), len(best)) < 2:
        return True
    return p_value(scores, best) < LEVEL


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
