"""Data sets by name."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from clipgnn.datasets import properties, registry
from clipgnn.datasets.properties import circular_skip_links
from clipgnn.datasets.registry import load_dataset
from clipgnn.datasets.tu import load_tu
from clipgnn.errors import DatasetNotFoundError, InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters.datasets import BENCHMARKS, DATASETS, PROPERTY_TASKS

CONTRACT = [
    *("connectivity", "bipartiteness", "triangle-freeness", "csl"),
    "matched-triangle-freeness",
    *("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI"),
]


def write_triangle(root: Path, name: str) -> None:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / f"{name}_A.txt").write_text("1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n")
    (folder / f"{name}_graph_indicator.txt").write_text("1\n1\n1\n")
    (folder / f"{name}_graph_labels.txt").write_text("1\n")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr("clipgnn.datasets.tu.download_tu", refuse)


def test_the_names() -> None:
    assert list(DATASETS) == CONTRACT


@pytest.mark.parametrize("name", PROPERTY_TASKS)
def test_property_tasks_by_name(name: str) -> None:
    graphs = load_dataset(name, seed=3)
    assert graphs.name == name
    assert torch.equal(
        graphs.edge_index, getattr(properties, PROPERTY_TASKS[name].rsplit(".", 1)[1])(3).edge_index
    )
    assert not torch.equal(graphs.edge_index, load_dataset(name, seed=4).edge_index)


@pytest.mark.parametrize("name", [*BENCHMARKS, "SOMETHING_else"])
def test_files_by_name(tmp_path: Path, name: str) -> None:
    write_triangle(tmp_path, name)
    graphs = load_dataset(name, root=tmp_path, seed=3)
    assert graphs.name == name
    assert len(graphs) == 1


def test_a_benchmark_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match=r"^The data set 'MUTAG' is not in"):
        load_dataset("MUTAG", root=tmp_path)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mutag", "MUTAG"),
        ("conectivity", "connectivity"),
        ("triangle_freeness", "triangle-freeness"),
        ("IMDB_BINARY", "IMDB-BINARY"),
        ("PTC", "PTC_MR"),
        ("CSL", "csl"),
    ],
)
def test_unknown_names_get_a_suggestion(tmp_path: Path, name: str, meant: str) -> None:
    with pytest.raises(DatasetNotFoundError, match=f"Did you mean '{meant}'") as caught:
        load_dataset(name, root=tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_downloading_can_be_forbidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load(name: str, root: Path, *, download: bool) -> PackedGraphs:
        asked.append(download)
        return circular_skip_links()

    monkeypatch.setattr(registry, "load_tu", load)
    load_dataset("MUTAG", root=tmp_path, download=False)
    load_dataset("MUTAG", root=tmp_path)
    assert asked == [False, True]


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("load", [load_dataset, load_tu])
@pytest.mark.parametrize("name", [None, 3, b"MUTAG", ["MUTAG"], Path("MUTAG")])
def test_names_must_be_strings(load: Callable[..., PackedGraphs], name: object) -> None:
    with pytest.raises(InvalidParameterError, match="must be a string such as 'MUTAG'"):
        load(name)


@pytest.mark.parametrize("load", [load_dataset, load_tu])
@pytest.mark.parametrize("name", ["", "../MUTAG", "a/b", ".hidden"])
def test_names_must_not_be_paths(load: Callable[..., PackedGraphs], name: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"letters, digits .* Use root"):
        load(name)
