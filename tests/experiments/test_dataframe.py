"""Data frames of a store have the numbers of `Store.results`, with the types of their columns."""

import sys
import warnings
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from tests.conftest import Blocked
from tests.experiments.fake_training import fake_result, small_experiment, with_curves

from clipgnn.errors import MissingDependencyError
from clipgnn.experiments.dataframe import OUTCOMES
from clipgnn.experiments.merge import COMMIT, SOURCE
from clipgnn.experiments.store import Store

ROWS = [
    {"name": "CLIP", "model": "clip", "num_colorings": [0, 4], "norm": ["batch", "none"]},
    {"name": "GIN", "model": "gin", "learn_epsilon": True, "dropout": [0, 0.5]},
    {"name": "WL", "model": "wl", "height": 2, "C": 10},
    {"name": "AWL", "model": "awl", "length": 2, "seed": 7},
]
SPEC = small_experiment(
    datasets=["csl"], models=ROWS, only={}, grid={"epochs": 5, "num_layers": 2}, seeds=[0, 3]
)
TRIALS = SPEC.trials()
DIVERGED, FAILED, UNFINISHED = TRIALS[3], TRIALS[5], TRIALS[6]
FINISHED = [trial for trial in TRIALS if trial not in (DIVERGED, FAILED, UNFINISHED)]


def store_of(folder, spec, trials):
    store = Store(folder / "frames.sqlite", create=True)
    session = store.begin(spec.name, spec.content(), "run", spec.trials())
    versions = {SOURCE: "0123", COMMIT: "4567", "python": "3"}
    first, *others = [fake_result(trial) for trial in trials]
    store.record(session, [replace(first, versions=versions), *others])
    return store, session


@pytest.fixture
def store(tmp_path):
    opened, session = store_of(tmp_path, SPEC, FINISHED)
    with opened:
        short = with_curves(
            fake_result(DIVERGED), train_loss=[0.5], test_score=[0.5], diverged="in epoch 2"
        )
        opened.record(session, [short])
        opened.record_failure(session, [FAILED], "no luck", "Traceback")
        yield opened


@pytest.mark.needs("pandas")
def test_trials(store):
    frame = store.dataframe()
    results = store.results()
    assert frame["identity"].tolist() == [trial.identity for trial in TRIALS]
    rows = frame.set_index("identity")
    for trial in TRIALS:
        row = rows.loc[trial.identity]
        for name in ("dataset", "data", "model", "split", "num_folds", "fold", "seed", "groups"):
            assert row[name] == getattr(trial, name)
        given = {**trial.parameters, **trial.recipe}
        if trial.model == "awl":
            given["parameter_seed"] = given.pop("seed")
        for name in rows.columns[10 : list(rows.columns).index("outcome")]:
            if name in given:
                assert row[name] == given.pop(name)
            else:
                assert row.isna()[name], name
        assert not given, "every parameter has a column"
    for trial in FINISHED:
        row, result = rows.loc[trial.identity], results[trial.identity]
        curves = result.curves
        assert row["final_test_score"] == curves.test_score[-1]
        assert row["best_test_score"] == curves.test_score.max()
        assert curves.test_score[row["best_test_epoch"] - 1] == curves.test_score.max()
        assert row["epochs_run"] == curves.epochs == (5 if trial.model in ("clip", "gin") else 1)
        assert (row["seconds"], row["epoch_seconds"]) == (result.seconds, result.epoch_seconds)
        assert row["compile_seconds"] == result.compile_seconds
        assert (row["device"], row["metric"]) == ("cpu", "accuracy")
        assert row["finished"] == datetime.fromisoformat(result.finished)
        assert abs(row["finished"] - datetime.now(UTC)).total_seconds() < 3600
    first = rows.loc[FINISHED[0].identity]
    assert (first["source"], first["commit"]) == ("0123", "4567")
    assert rows["source"].count() == 1, "the others did not record it"


@pytest.mark.needs("pandas")
def test_outcomes(store):
    frame = store.dataframe().set_index("identity")
    assert frame["outcome"].cat.categories.tolist() == list(OUTCOMES)
    assert frame["outcome"].value_counts().to_dict() == {
        "finished": len(FINISHED),
        "diverged": 1,
        "failed": 1,
        "unfinished": 1,
    }
    assert frame.loc[DIVERGED.identity, ["outcome", "error"]].tolist() == ["diverged", "in epoch 2"]
    assert frame.loc[FAILED.identity, ["outcome", "error"]].tolist() == ["failed", "no luck"]
    assert frame.loc[UNFINISHED.identity, "outcome"] == "unfinished"
    unsuccessful = frame[frame["outcome"] != "finished"]
    assert unsuccessful[["final_test_score", "seconds", "device", "finished"]].isna().all(axis=None)
    assert frame["error"].count() == 2


@pytest.mark.needs("pandas")
def test_types(store):
    kinds = {name: str(dtype) for name, dtype in store.dataframe().dtypes.items()}
    assert kinds.pop("finished").startswith("datetime64[")
    text = ("dataset", "data", "model", "split", "outcome", "metric", "device", "source", "commit")
    for name in (*text, "groups", "fresh", "model_source", "norm", "loss"):
        assert kinds.pop(name) == "category", name
    for name in ("identity", "error"):
        assert kinds.pop(name) == "string"
    for name in ("num_folds", "fold", "seed"):
        assert kinds.pop(name) == "int64"
    whole = ("num_colorings", "num_layers", "height", "length", "parameter_seed", "epochs")
    for name in (*whole, "batch_size", "halve_every", "epochs_run"):
        assert kinds.pop(name) == "Int64", name
    for part in ("test", "validation"):
        assert kinds.pop(f"best_{part}_epoch") == "Int64"
    assert kinds.pop("learn_epsilon") == "boolean"
    assert set(kinds.values()) == {"float64"}, kinds
    assert {"C", "dropout", "learning_rate", "seconds", "best_test_score"} <= kinds.keys()


@pytest.mark.needs("pandas")
def test_epochs(store):
    frame = store.dataframe(epochs=True)
    assert frame.columns.tolist() == [
        "identity",
        "epoch",
        "train_loss",
        "test_score",
        "validation_score",
        "fresh_score",
    ]
    assert [str(dtype) for dtype in frame.dtypes] == ["category", "int64", *["float64"] * 4]
    results = store.results()
    assert len(frame) == sum(result.curves.epochs for result in results.values())
    for identity, own in frame.groupby("identity", observed=True):
        curves = results[identity].curves
        assert own["epoch"].tolist() == list(range(1, curves.epochs + 1))
        assert np.array_equal(own["train_loss"], curves.train_loss)
        assert np.array_equal(own["test_score"], curves.test_score)
    assert frame["validation_score"].isna().all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        merged = frame.merge(store.dataframe(), on="identity")
    assert len(merged) == len(frame)
    ends = merged[merged["epoch"] == merged["epochs_run"]]
    assert ends["test_score"].tolist() == ends["final_test_score"].tolist()


@pytest.mark.needs("pandas")
def test_validation_scores_and_errors(tmp_path):
    """Of a nested split, with an error as the metric, of which the smallest is best."""
    rows = [{"name": "GIN", "model": "gin", "loss": "squared-error"}]
    spec = small_experiment(
        datasets=["csl"], models=rows, only={}, grid={"epochs": 5}, protocol="fair"
    )
    store, _ = store_of(tmp_path, spec, spec.trials())
    with store:
        frame, epochs, results = store.dataframe(), store.dataframe(epochs=True), store.results()
    assert set(frame["metric"]) == {"rmse"}
    for _, row in frame.iterrows():
        curves = results[row["identity"]].curves
        assert row["best_test_score"] == curves.test_score.min()
        assert row["best_validation_score"] == curves.validation_score.min()
        assert row["best_validation_epoch"] == curves.validation_score.argmin() + 1
        assert row["final_validation_score"] == curves.validation_score[-1]
    joined = np.concatenate([result.curves.validation_score for result in results.values()])
    assert np.array_equal(epochs["validation_score"], joined)


@pytest.mark.needs("pandas")
def test_an_empty_store(tmp_path):
    with Store(tmp_path / "empty.sqlite", create=True) as store:
        trials, epochs = store.dataframe(), store.dataframe(epochs=True)
    assert len(trials) == len(epochs) == 0
    assert {"identity", "fold", "outcome", "finished"} <= set(trials.columns)
    assert str(trials["final_test_score"].dtype) == str(epochs["test_score"].dtype) == "float64"


def test_trials_come_back(store):
    assert store.trials() == TRIALS


def test_it_says_that_pandas_is_missing(store, monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Blocked(["pandas"]), *sys.meta_path])
    with pytest.raises(MissingDependencyError, match=r"pip install 'clipgnn\[pandas\]'"):
        store.dataframe()
