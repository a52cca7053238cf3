"""The scripts in results/ that measure coloring schemes."""

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from clipgnn import PackedGraphs
from clipgnn.coloring import labeling

pytestmark = pytest.mark.needs("igraph")

# mypy does not read the scripts.
schemes: Any = import_module("results.schemes")
schemes_esol: Any = import_module("results.schemes_esol")

SMILES = ["C" * number for number in range(1, 7)] + ["CO", "CCO", "c1ccccc1", "C1CCCC1"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV file of ten molecules."""
    path = tmp_path / "small.csv"
    rows = [f"{own},{len(own)}.5" for own in SMILES]
    path.write_text("smiles,log_solubility\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short measurements of two networks of one layer."""
    monkeypatch.setattr(schemes, "RUNS", 1)
    monkeypatch.setattr(schemes, "EPOCHS", 1)
    names = ("no colors", "canonical")
    monkeypatch.setattr(schemes, "NETWORKS", {name: schemes.NETWORKS[name] for name in names})
    monkeypatch.setattr(schemes, "USUAL_SIZE", {"num_layers": 1, "hidden_channels": 2})


def small_graphs(name: str = "small") -> PackedGraphs:
    """Squares and paths in turn, of two classes."""
    graphs = PackedGraphs.from_networkx([nx.cycle_graph(4), nx.path_graph(4)] * 10, name=name)
    return replace(graphs, y=torch.arange(20) % 2)


@pytest.mark.usefixtures("once")
def test_numbers_of_colorings_of_a_set() -> None:
    """A square has 24 colorings for every scheme; a path has four if they are refined."""
    asymmetric = nx.Graph([(0, 1), (1, 2), (2, 3), (1, 3), (3, 4), (4, 5)])
    found = schemes.measure(
        PackedGraphs.from_networkx([nx.cycle_graph(4), nx.path_graph(4), asymmetric])
    )
    assert found["graphs"] == 3
    assert found["median_log10_colorings"] == pytest.approx(
        {"random": math.log10(24), "refined": math.log10(4)}
    )
    assert found["largest_log10_colorings"] == pytest.approx(
        {"random": math.log10(720), "refined": math.log10(24)}
    )
    assert found["one_coloring"] == pytest.approx({"random": 0, "refined": 1 / 3})
    assert found["microseconds_of_a_graph"].keys() == set(schemes.TIMED)
    assert all(own > 0 for own in found["microseconds_of_a_graph"].values())


def test_times_include_labelings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is empty before each call, and the time is that of the process."""
    clock = iter([1.0, 3.5])
    monkeypatch.setattr(schemes.time, "process_time", lambda: next(clock))
    monkeypatch.setattr(labeling, "_caches", {"canonical_order": {b"": None}})
    sizes: list[int] = []
    assert schemes.seconds(lambda: sizes.append(len(labeling._caches))) == 2.5
    assert sizes == [0]


def test_the_time_of_an_epoch_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training takes three seconds, and one more for each epoch."""
    epochs: list[int] = []
    monkeypatch.setattr(schemes, "train", lambda *given: epochs.append(given[2].epochs))

    def seconds(call: Callable[[], object]) -> float:
        call()
        return 3.0 + epochs[-1]

    monkeypatch.setattr(schemes, "seconds", seconds)
    found = schemes.training_times(small_graphs())
    assert found.keys() == schemes.NETWORKS.keys()
    for own in found.values():
        assert own == pytest.approx({"epoch_seconds": 1, "start_seconds": 3})
    assert epochs[:3] == [1, 1, 1 + schemes.EPOCHS]


@pytest.mark.needs("rdkit")
@pytest.mark.usefixtures("once")
def test_the_record_of_all_sets(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert schemes.solubilities(table).targets[:3].tolist() == [1.5, 2.5, 3.5]
    monkeypatch.setattr(schemes, "DATASETS", ("one", "other"))
    monkeypatch.setattr(schemes, "TRAINED", ("one",))
    monkeypatch.setattr(schemes, "load_dataset", small_graphs)
    output = tmp_path / "schemes.json"
    monkeypatch.setattr(sys, "argv", ["schemes", "--esol", str(table), "--output", str(output)])
    threads = torch.get_num_threads()
    try:
        schemes.main()
    finally:
        torch.set_num_threads(threads)
    record = json.loads(output.read_text())
    assert record["k"] == schemes.K
    assert {name: own["graphs"] for name, own in record["datasets"].items()} == {
        "one": 20,
        "other": 20,
        "ESOL": len(SMILES),
    }
    assert record["training"].keys() == {"one", "ESOL"}
    assert all(own.keys() == schemes.NETWORKS.keys() for own in record["training"].values())


@pytest.mark.needs("rdkit")
def test_errors_and_spread_of_solubilities(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draws of random colorings differ, those of canonical ones do not."""
    monkeypatch.setattr(schemes_esol, "FOLDS", 2)
    monkeypatch.setattr(schemes_esol, "DRAWS", 3)
    names = ("random, k = 1", "canonical")
    chosen = {
        name: {**schemes_esol.SCHEMES[name], "hidden_channels": 2, "num_layers": 1}
        for name in names
    }
    monkeypatch.setattr(schemes_esol, "SCHEMES", chosen)
    output = tmp_path / "schemes-esol.json"
    arguments = ["--esol", str(table), "--epochs", "1", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["schemes_esol", *arguments])
    schemes_esol.main()
    record = json.loads(output.read_text())
    assert record["epochs"] == 1
    assert record["schemes"].keys() == set(names)
    for own in record["schemes"].values():
        assert {name: len(own[name]) for name in ("rmse", "spread")} == {"rmse": 2, "spread": 2}
        assert own["seconds"] > 0
    random, canonical = (record["schemes"][name] for name in names)
    assert max(random["spread"]) > 0
    assert canonical["spread"] == pytest.approx([0, 0], abs=1e-9)
    assert canonical["rmse_of_the_mean_of_draws"] == pytest.approx(canonical["rmse"])
    assert random["rmse_of_the_mean_of_draws"] != pytest.approx(random["rmse"], rel=1e-12)


def test_errors_are_those_of_the_first_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions 1 and 3 of two draws, for solubilities of 1: errors of 0 and, on average, 1."""

    class Regressor:
        def __init__(self, **_: object) -> None:
            pass

        def fit(self, *_: object) -> None:
            pass

        def _predictions(self, graphs: PackedGraphs) -> np.ndarray:
            return np.repeat([1.0, 3.0], len(graphs))

    monkeypatch.setattr(schemes_esol, "CLIPRegressor", Regressor)
    monkeypatch.setattr(schemes_esol, "DRAWS", 2)
    found = schemes_esol.measure(small_graphs(), np.ones(20), {}, 1)
    assert found["rmse"] == [0] * 5
    assert found["rmse_of_the_mean_of_draws"] == [1] * 5
    assert found["spread"] == [1] * 5
