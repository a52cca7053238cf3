"""The content of a store as pandas data frames: a row for each trial, or each trial and epoch.

pandas is optional, and is imported when a data frame is made.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clipgnn.curves import Curves, Scores
from clipgnn.errors import MissingDependencyError
from clipgnn.experiments.merge import COMMIT, SOURCE
from clipgnn.experiments.trial import Trial
from clipgnn.parameters import NONE

if TYPE_CHECKING:
    from clipgnn.experiments.store import Store, StoredResult

OUTCOMES = ("finished", "diverged", "failed", "unfinished")
"""Outcomes of trials."""

_TRIAL = {
    "identity": "string",
    "dataset": "category",
    "data": "category",
    "model": "category",
    "split": "category",
    "num_folds": "int64",
    "fold": "int64",
    "seed": "int64",
    "groups": "category",
    "fresh": "category",
    "model_source": "category",
}

_RESULT = {
    "outcome": "category",
    "error": "string",
    "metric": "category",
    "epochs_run": "Int64",
    "final_test_score": "float64",
    "best_test_score": "float64",
    "best_test_epoch": "Int64",
    "final_validation_score": "float64",
    "best_validation_score": "float64",
    "best_validation_epoch": "Int64",
    "final_fresh_score": "float64",
    "seconds": "float64",
    "epoch_seconds": "float64",
    "compile_seconds": "float64",
    "device": "category",
    "source": "category",
    "commit": "category",
    "finished": "string",
}


def dataframe(store: "Store", *, epochs: bool = False) -> Any:
    """Return the trials or the epochs of a store as a data frame; see `Store.dataframe`.

    Raises:
        MissingDependencyError: if pandas is not installed.
        StoreError: if a row of the store is damaged.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingDependencyError(
            "Data frames require pandas. It is not installed. Use pip install 'clipgnn[pandas]'."
        ) from error
    return _epochs(pandas, store.results()) if epochs else _trials(pandas, store)


def _trials(pandas: Any, store: "Store") -> Any:
    trials, results, environments = store.trials(), store.results(), store.environments()
    unsuccessful = {"diverged": store.diverged(), "failed": store.failures()}
    chosen = [_chosen(trial) for trial in trials]
    columns = {
        name: pandas.Series([getattr(trial, name) for trial in trials], dtype=dtype)
        for name, dtype in _TRIAL.items()
    }
    for name in dict.fromkeys(name for own in chosen for name in own):
        columns[name] = _series(pandas, [own.get(name) for own in chosen])
    records = []
    for trial in trials:
        record: dict[str, object] = {"outcome": "unfinished", "metric": trial.metric}
        for outcome, failures in unsuccessful.items():
            if trial.identity in failures:
                record |= {"outcome": outcome, "error": failures[trial.identity].error}
        if trial.identity in results:
            result = results[trial.identity]
            record |= _result(result, environments[result.environment])
        records.append(record)
    for name, dtype in _RESULT.items():
        values = [record.get(name) for record in records]
        columns[name] = pandas.Series(values, dtype=dtype)
    columns["outcome"] = columns["outcome"].cat.set_categories(OUTCOMES)
    columns["finished"] = pandas.to_datetime(columns["finished"], utc=True, format="ISO8601")
    return pandas.DataFrame(columns)


def _chosen(trial: Trial) -> dict[str, object]:
    """Return parameters and recipe; the name of another column gets a prefix."""
    return {
        f"parameter_{name}" if name in {**_TRIAL, **_RESULT} else name: value
        for name, value in {**trial.parameters, **trial.recipe}.items()
    }


def _series(pandas: Any, values: Sequence[object]) -> Any:
    """Return a column of numbers, booleans or words; trials without the parameter have None."""
    kinds = {type(value) for value in values if value not in (None, NONE)}
    if not kinds or not kinds <= {bool, int, float}:
        return pandas.Series(values, dtype="category")
    dtype = "boolean" if kinds == {bool} else "Int64" if kinds == {int} else "float64"
    return pandas.Series([None if value == NONE else value for value in values], dtype=dtype)


def _result(result: "StoredResult", environment: Mapping[str, Any]) -> dict[str, object]:
    curves, versions = result.curves, environment["versions"]
    record: dict[str, object] = {
        "outcome": "finished",
        "error": None,
        "epochs_run": curves.epochs,
        **_scores("test", curves.test_score, curves.best_test_epoch),
        "seconds": result.seconds,
        "epoch_seconds": result.epoch_seconds,
        "compile_seconds": result.compile_seconds,
        "device": environment["device"],
        "source": versions.get(SOURCE),
        "commit": versions.get(COMMIT),
        "finished": result.finished,
    }
    if len(curves.validation_score):
        scores, epoch = curves.validation_score, curves.best_validation_epoch
        record |= _scores("validation", scores, epoch)
    if len(curves.fresh_score):
        record["final_fresh_score"] = curves.fresh_score[-1]
    return record


def _scores(part: str, scores: Scores, best: int) -> dict[str, object]:
    return {
        f"final_{part}_score": scores[-1],
        f"best_{part}_score": scores[best],
        f"best_{part}_epoch": best + 1,
    }


def _epochs(pandas: Any, results: "Mapping[str, StoredResult]") -> Any:
    curves = [result.curves for result in results.values()]
    lengths = [own.epochs for own in curves]
    trial = np.repeat(np.arange(len(curves)), lengths)
    return pandas.DataFrame(
        {
            "identity": pandas.Categorical.from_codes(trial, list(results)),
            "epoch": _joined([np.arange(1, length + 1) for length in lengths], np.int64),
            "train_loss": _joined(own.train_loss for own in curves),
            "test_score": _joined(own.test_score for own in curves),
            "validation_score": _joined(_or_missing(own, own.validation_score) for own in curves),
            "fresh_score": _joined(_or_missing(own, own.fresh_score) for own in curves),
        }
    )


def _or_missing(curves: Curves, scores: Scores) -> Scores:
    return scores if len(scores) else np.full(curves.epochs, np.nan)


def _joined(parts: Iterable[Any], dtype: type = np.float64) -> Any:
    """Return the parts as one array, which may be empty."""
    return np.concatenate([np.empty(0, dtype), *parts])
