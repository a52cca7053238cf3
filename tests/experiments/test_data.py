"""Trials name the data they are trained on, and are trained on no other."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.datasets.gin_text_files import write_pairs
from tests.experiments.own_files import write_paths

from clipgnn.datasets.properties import circular_skip_links
from clipgnn.errors import (
    DatasetFileError,
    DatasetNotFoundError,
    InvalidColoringError,
    InvalidParameterError,
    MissingDependencyError,
)
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.data import _joined, fingerprint_of, fingerprints, load
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.preparing import prepare_experiment
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial
from clipgnn.experiments.work import run_trials


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("CLIPGNN_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("clipgnn.datasets.tu.download_tu", lambda name, root: missing(root / name))
    _joined.cache_clear()
    return tmp_path / "data"


def missing(path: Path) -> None:
    raise FileNotFoundError(path)


def own_spec(model="wl"):
    content = {"datasets": ["tu:OWN"], "folds": 2, "models": [{"model": model}]}
    return parse_experiment(content, "own", "own.toml")


def trial_on(dataset: str, **values: Any) -> Trial:
    return replace(own_spec().trials()[0], dataset=dataset, **values)


def test_the_prefix_always_means_a_folder(data):
    with pytest.raises(DatasetNotFoundError, match="The data set 'csl' is not in"):
        fingerprint_of("tu:csl")
    write_paths(data / "csl")
    assert len(load(trial_on("tu:csl")).graphs) == 8
    assert len(load(trial_on("csl")).graphs) == 150
    assert fingerprint_of("csl") == circular_skip_links(0).fingerprint != fingerprint_of("tu:csl")


def test_replaced_files_are_other_data(data):
    write_paths(data / "OWN")
    before = fingerprint_of("tu:OWN")
    write_paths(data / "OWN")
    assert fingerprint_of("tu:OWN") == before
    write_paths(data / "OWN", nodes=4)
    assert fingerprint_of("tu:OWN") != before


def test_the_folder_of_the_files_does_not_matter(data):
    write_paths(data / "OWN")
    before = fingerprint_of("tu:OWN")
    (data / "OWN").rename(data / "raw")
    (data / "OWN").mkdir()
    (data / "raw").rename(data / "OWN" / "raw")
    assert fingerprint_of("tu:OWN") == before


def test_a_run_that_is_continued_needs_the_same_data(data):
    write_paths(data / "OWN")
    before = fingerprints(["tu:OWN"], {})
    assert fingerprints(["tu:OWN"], before) == before
    write_paths(data / "OWN", nodes=4)
    after = fingerprint_of("tu:OWN")
    message = rf"'tu:OWN' must have the fingerprint {before['tu:OWN']} .*Got {after}\."
    with pytest.raises(DatasetFileError, match=message):
        fingerprints(["tu:OWN"], before)


def test_a_worker_with_other_data_fails_and_names_both(data):
    write_paths(data / "OWN")
    spec = replace(own_spec(), data=fingerprints(["tu:OWN"], {}))
    before = spec.data["tu:OWN"]
    write_paths(data / "OWN", nodes=4)
    message = rf"fingerprint {before} .*Got {fingerprint_of('tu:OWN')}\. Use the same"
    with pytest.raises(DatasetFileError, match=message):
        run_trials(spec.trials())


@pytest.mark.needs("grakel")
def test_nothing_is_reused_after_the_files_were_replaced(data, tmp_path):
    finished = []
    with Store(tmp_path / "own.sqlite", create=True) as store:
        for nodes in (3, 4, 3):
            write_paths(data / "OWN", nodes)
            spec = replace(own_spec(), data=fingerprints(["tu:OWN"], {}))
            progress = run_experiment(spec, store, InProcessExecutor(run_trials))
            assert (progress.finished, progress.failed) == (2, 0)
            finished.append(progress.reused)
            assert store.plans()[-1].data == spec.data
    assert finished == [0, 0, 2]  # and the first data are recognized when they are back


def test_a_run_needs_to_know_its_data(tmp_path):
    with (
        Store(tmp_path / "own.sqlite", create=True) as store,
        pytest.raises(InvalidParameterError, match="Got none for tu:OWN"),
    ):
        run_experiment(own_spec(), store, InProcessExecutor(run_trials))


def test_fresh_graphs_follow_the_data_set():
    fresh = fingerprint_of("csl@fresh")
    loaded = load(trial_on("csl", fresh=fresh))
    assert (len(loaded.graphs), loaded.num_graphs, loaded.groups) == (300, 150, None)
    own, other = (loaded.graphs.subset(torch.arange(150) + first) for first in (0, 150))
    assert own.fingerprint == circular_skip_links(0).fingerprint
    assert other.fingerprint == fresh == circular_skip_links(1).fingerprint != own.fingerprint
    with pytest.raises(DatasetFileError, match="'csl@fresh' must have the fingerprint 123"):
        load(trial_on("csl", fresh="123"))


def test_groups_of_graphs():
    assert load(trial_on("connectivity", groups="pairs")).groups.tolist() == (
        torch.arange(500).repeat_interleave(2).tolist()
    )


def test_groups_of_isomorphic_graphs(data):
    write_paths(data / "OWN", graphs=4)
    assert load(trial_on("tu:OWN", groups="isomorphic")).groups.tolist() == [0, 1, 0, 1]


def file_spec(**keys: Any) -> Experiment:
    content = {
        "datasets": ["file:pairs@1.txt"],
        "protocol": "last",
        "groups": "pairs",
        "folds": 3,
        "first_folds": 1,
        "grid": {"epochs": 10, "batch_size": 16, "num_layers": 3, "hidden_channels": 16},
        "models": [
            {"model": "gin"},
            {"name": "0-CLIP", "model": "clip", "num_colorings": 0},
            {"name": "canonical", "model": "clip", "num_colorings": 1, "coloring": "canonical"},
        ],
        **keys,
    }
    return parse_experiment(content, "files", "files.toml")


@pytest.mark.needs("igraph")
def test_a_file_of_pairs_needs_more_than_message_passing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_pairs(Path("pairs@1.txt"), 30)
    spec = prepare_experiment(file_spec())
    assert parse_experiment(spec.content(), spec.name, "store") == replace(spec, data={})
    scores = {}
    with Store(Path("files.sqlite"), create=True) as store:
        run_experiment(spec, store, InProcessExecutor(partial(run_trials, device="cpu")))
        for cell in spec.cells:
            [trial] = spec.trials_of(cell, cell.configurations[0])
            scores[cell.row] = store.results()[trial.identity].curves.test_score[-1]
    assert scores["gin"] == scores["0-CLIP"] == 0.5  # exactly, because a pair is in one fold
    assert scores["canonical"] > 0.8  # 0.95 to 1 for six seeds


def test_files_whose_graphs_are_not_pairs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs@1.txt").write_text("4\n1 0\n0 0\n1 1\n0 0\n1 1\n0 0\n1 1\n0 0\n")
    with pytest.raises(InvalidParameterError, match="the same target of graphs 3 and 4"):
        prepare_experiment(file_spec())
    assert prepare_experiment(file_spec(groups="none")).data


def test_a_missing_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetNotFoundError, match=r"file or folder 'pairs@1\.txt'"):
        prepare_experiment(file_spec())


@pytest.mark.parametrize("parameters", [{}, {"num_colorings": 1}, {"num_colorings": 0}])
def test_igraph_is_needed_for_canonical_colorings(
    parameters: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found to be missing before the first trial, also with the default of num_colorings."""
    row = {"model": "clip", "name": "CLIP", "coloring": "canonical", **parameters}
    content = {"datasets": ["csl"], "protocol": "last", "folds": 2, "models": [row]}
    experiment = parse_experiment(content, "e", "e.toml")
    monkeypatch.setitem(sys.modules, "igraph", None)
    monkeypatch.setattr("clipgnn.coloring.labeling._caches", {})
    if parameters.get("num_colorings") == 0:
        prepare_experiment(experiment)
    else:
        with pytest.raises(MissingDependencyError, match="require igraph"):
            prepare_experiment(experiment)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"coloring": "all"}, r"csl, CLIP: A graph must have at most 1,024 colorings"),
        ({"coloring": "precomputed"}, 'csl, CLIP: coloring="precomputed" needs colorings'),
        ({"loss": "absolute-error"}, "csl, CLIP: The loss .* needs floats"),
    ],
)
def test_rows_that_cannot_be_trained_are_found_before_the_first_trial(
    row: dict[str, str], message: str
) -> None:
    model = {"model": "clip", "name": "CLIP", **row}
    content = {"datasets": ["csl"], "protocol": "last", "folds": 2, "models": [model]}
    with pytest.raises((InvalidColoringError, InvalidParameterError), match=message):
        prepare_experiment(parse_experiment(content, "e", "e.toml"))
    content["models"] = [
        {**model, "datasets": ["csl"], "num_colorings": 0, "loss": "cross-entropy"}
    ]
    assert prepare_experiment(parse_experiment(content, "e", "e.toml")).data
