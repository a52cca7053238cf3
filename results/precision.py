"""Compare accuracies with one TF32 product instead of three, trial by trial.

    python results/precision.py results/table1-gin.sqlite results/table1-tf32.sqlite \
        > results/precision.md

The stores have the same trials, run with `--precision highest` and `--precision high`. The issue is
whether the faster products change what a table says, so differences are those of its numbers: the
accuracy at the best epoch of the mean test curve (protocol `gin`) and the mean over the last 50
epochs.
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clipgnn.experiments.store import Store

LAST = 50
"""Number of epochs at the end whose mean is compared."""

Scores = NDArray[np.float64]


def curves_of(path: Path) -> dict[str, tuple[str, str, int, Scores]]:
    """Data set, configuration, fold and test curve of each trial, by its identity."""
    with Store(path) as store:
        results = store.results()
        return {
            trial.identity: (
                trial.dataset,
                trial.configuration,
                trial.fold,
                results[trial.identity].curves.test_score,
            )
            for trial in store.trials()
            if trial.identity in results
        }


def differences(exact: Path, fast: Path) -> dict[str, dict[str, Scores]]:
    """Differences in points, `[configurations, folds]`, by data set and number."""
    first, second = curves_of(exact), curves_of(fast)
    pairs: dict[str, dict[str, dict[int, tuple[Scores, Scores]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for identity, (dataset, configuration, fold, curve) in second.items():
        if identity in first:
            pairs[dataset][configuration][fold] = first[identity][3], curve
    found: dict[str, dict[str, Scores]] = {}
    for dataset, configurations in pairs.items():
        chosen, end = [], []
        for folds in configurations.values():
            # [2, folds, epochs]
            curves = np.array([[folds[fold][part] for fold in sorted(folds)] for part in (0, 1)])
            epochs = curves.mean(axis=1).argmax(axis=1)
            chosen.append(curves[1, :, epochs[1]] - curves[0, :, epochs[0]])
            end.append((curves[1] - curves[0])[:, -LAST:].mean(axis=1))
        found[dataset] = {
            "best epoch of the mean curve": 100 * np.array(chosen),
            f"mean of the last {LAST} epochs": 100 * np.array(end),
        }
    return found


def main() -> None:
    """Print the comparison as Markdown."""
    exact, fast = map(Path, sys.argv[1:3])
    print("# One TF32 product instead of three\n")
    print(f"Written by `python results/precision.py {exact} {fast}`. Mean difference of test")
    print("accuracies in points, TF32 minus three products, over all configurations and folds; its")
    print("standard error is that of the means of the folds.\n")
    print("| data set | number | configurations × folds | difference | within 2 standard errors |")
    print("| --- | --- | ---: | ---: | --- |")
    for dataset, numbers in differences(exact, fast).items():
        for name, points in numbers.items():
            by_fold = points.mean(axis=0)
            error = by_fold.std(ddof=1) / np.sqrt(len(by_fold))
            inside = "yes" if abs(points.mean()) <= 2 * error else "no"
            print(
                f"| {dataset} | {name} | {points.shape[0]} × {points.shape[1]} "
                f"| {points.mean():+.2f} ± {error:.2f} | {inside} |"
            )


if __name__ == "__main__":
    main()
