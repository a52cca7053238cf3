"""Which results do not differ significantly from the best one."""

from collections.abc import Sequence

import numpy as np

LEVEL = 0.1
"""The paper's level of significance."""


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p value of an unpaired t-test, of unequal variances (Welch's).

    Spreads in these tables differ by orders of magnitude, from networks at chance, which never
    vary, to those that learn some folds only, so nothing is assumed about them.

    Differs from the paper: it says "unpaired t-test" and not which one; with equal numbers of
    folds the two differ in their degrees of freedom only.

    Args:
        first: scores of the folds, at least two.
        second: the same of another model.
    """
    from scipy import stats  # a second to import, and only tables need it

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    spread_a, spread_b = float(np.std(a, ddof=1)), float(np.std(b, ddof=1))
    if max(spread_a, spread_b) < 1e-12:
        # Neither varies: the test divides by zero, and there is nothing to doubt.
        return 1.0 if abs(a.mean() - b.mean()) < 1e-12 else 0.0
    test = stats.ttest_ind_from_stats(
        a.mean(), spread_a, len(a), b.mean(), spread_b, len(b), equal_var=False
    )
    return float(test.pvalue)


def differs(scores: Sequence[float], best: Sequence[float]) -> bool:
    """Is the difference to the best one significant? Two folds of each are needed to say no."""
    if min(len(scores), len(best)) < 2:
        return True
    return p_value(scores, best) < LEVEL
