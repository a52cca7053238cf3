"""Data sets in the TU layout: small ones written here, and the paper's five where they are."""

import os
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch_geometric.io import read_tu_data

from clipgnn.datasets import tu
from clipgnn.datasets.characteristics import characteristics
from clipgnn.datasets.tu import data_root, load_tu
from clipgnn.errors import DatasetFileError, DatasetNotFoundError, InvalidParameterError

# A triangle, a path of two nodes and a single node; node 3 is joined to 2 twice, and 4 to itself.
FILES: dict[str, Any] = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n2, 3\n4, 5\n5, 4\n4, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n",
    "graph_labels": "-1\n1\n-1\n",
    "node_labels": "3\n3\n7\n7\n3\n9\n",
    "node_attributes": "0.5, 1\n1.5, 1\n2, 1\n2.5, 1\n3, 1\n-1e1, 1\n",
    "edge_labels": "0\n0\n2\n2\n0\n0\n5\n2\n2\n5\n",
}


def write(root: Path, *, name: str = "TINY", raw: bool = True, **files: str | None) -> Path:
    """The small data set, with some files replaced or (None) left out."""
    folder = root / name / "raw" if raw else root / name
    folder.mkdir(parents=True)
    for part, text in (FILES | files).items():
        if text is not None:
            (folder / f"{name}_{part}.txt").write_text(text)
    return folder


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in root.rglob("*")
    }


@pytest.mark.parametrize("raw", [True, False])
def test_labels_become_attributes(tmp_path: Path, raw: bool) -> None:
    write(tmp_path, raw=raw)
    graphs = load_tu("TINY", tmp_path)
    assert graphs.name == "TINY"
    assert graphs.x.tolist() == [0, 0, 1, 1, 0, 2]
    assert graphs.in_channels == 3
    assert graphs.targets.tolist() == [0, 1, 0]
    assert graphs.num_classes == 2
    assert graphs.node_pointers.tolist() == [0, 3, 5, 6]
    assert graphs.edge_pointers.tolist() == [0, 6, 8, 8]
    assert graphs.edge_index.tolist() == [[0, 0, 1, 1, 2, 2, 0, 1], [1, 2, 0, 2, 0, 1, 1, 0]]
    assert graphs.edge_attr is None


def test_degrees_stand_in_for_labels(tmp_path: Path) -> None:
    write(tmp_path, node_labels=None)
    graphs = load_tu("TINY", tmp_path)
    assert graphs.x.tolist() == [2, 2, 2, 1, 1, 0]
    assert graphs.in_channels == 3


def test_edge_labels_on_request(tmp_path: Path) -> None:
    write(tmp_path)
    attributes = load_tu("TINY", tmp_path, edge_labels=True).edge_attr
    assert attributes is not None
    zero, two, both = [1, 0, 0], [0, 1, 0], [0, 1, 1]  # 2, 3 is there with labels 2 and 5
    assert attributes.tolist() == [zero, zero, zero, both, zero, two, two, two]


def test_node_attributes_on_request(tmp_path: Path) -> None:
    write(tmp_path)
    graphs = load_tu("TINY", tmp_path, node_attributes=True)
    assert graphs.in_channels == 5
    assert graphs.x[:, 0].tolist() == [0.5, 1.5, 2, 2.5, 3, -10]
    assert graphs.x[:, 2:].argmax(1).tolist() == [0, 0, 1, 1, 0, 2]


def test_several_labels_of_a_node_stand_side_by_side(tmp_path: Path) -> None:
    write(tmp_path, node_labels="0, 4\n0, 5\n1, 4\n1, 4\n0, 4\n0, 4\n")
    graphs = load_tu("TINY", tmp_path)
    assert graphs.in_channels == 4
    assert graphs.x[1].tolist() == [1, 0, 0, 1]


def test_targets_to_regress(tmp_path: Path) -> None:
    write(tmp_path, graph_labels=None, graph_attributes="0.5\n1.5\n-2\n")
    assert load_tu("TINY", tmp_path).targets.tolist() == [0.5, 1.5, -2]


def test_last_lines_and_edgeless_data_are_kept(tmp_path: Path) -> None:
    """PyG's reader drops a line that does not end in a newline."""
    write(tmp_path, **{part: text.rstrip("\n") for part, text in FILES.items()})
    assert len(load_tu("TINY", tmp_path)) == 3
    write(tmp_path, name="EMPTY", A="", edge_labels=None, node_labels=None)
    graphs = load_tu("EMPTY", tmp_path)
    assert graphs.edge_index.shape == (2, 0)
    assert graphs.x.tolist() == [0] * 6


def test_windows_line_ends_and_blank_lines(tmp_path: Path) -> None:
    write(tmp_path, **{part: text.replace("\n", "\r\n") + "\r\n" for part, text in FILES.items()})
    assert load_tu("TINY", tmp_path).edge_pointers.tolist() == [0, 6, 8, 8]


def test_a_local_copy_is_read_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tu, "download_tu", lambda *_: pytest.fail("nothing to download"))
    folder = write(tmp_path)
    folder.chmod(0o500)
    before = snapshot(tmp_path)
    load_tu("TINY", tmp_path)
    assert snapshot(tmp_path) == before
    folder.chmod(0o700)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"A": None}, "must have a file TINY_A.txt"),
        ({"graph_indicator": None}, "must have a file TINY_graph_indicator.txt"),
        ({"graph_labels": None}, "must have a file TINY_graph_labels.txt"),
        ({"A": "1, 2\n2, 1, 3\n"}, "same number of columns in each line. Got 3 in line 2 after 2"),
        ({"A": "1, 2\n\n2, x\n"}, "Got '2, x' in line 3"),
        ({"A": "1 2\n2 1\n"}, "separated by commas. Got '1 2' in line 1"),
        ({"A": "1, 2, 3\n"}, "A.txt must have 2 numbers in each line. Got 3"),
        ({"A": "0, 1\n"}, r"nodes from 1 to 6. Got \[0, 1\] in row 1"),
        ({"A": "1, 2\n6, 7\n"}, r"nodes from 1 to 6. Got \[6, 7\] in row 2"),
        ({"A": "1, 2\n3, 4\n"}, r"Got \[3, 4\] in row 2, between graphs 1 and 2"),
        ({"A": "1, 2.5\n"}, r"integers only. Got \[1.0, 2.5\] in row 1"),
        ({"A": "1, 1e300\n"}, "integers only"),
        ({"graph_indicator": ""}, "at least one node"),
        ({"graph_indicator": "0\n0\n0\n1\n1\n2\n"}, "number graphs from 1. Got 0"),
        ({"graph_indicator": "1\n1\n2\n1\n3\n3\n"}, "sorted by graph. Got graph 1 after 2"),
        ({"graph_labels": "1\n1\n"}, "line for each of the 3 graphs of .*indicator.txt. Got 2"),
        ({"graph_labels": "1\nyes\n1\n"}, "Got 'yes' in line 2"),
        ({"graph_labels": "1\nnan\n1\n"}, "finite numbers only. Got NaN or infinity in row 2"),
        ({"node_labels": "1\n"}, "line for each node, 6 in total. Got 1"),
        ({"edge_labels": "1\n2\n"}, "line for each edge, 10 in total. Got 2"),
        ({"node_attributes": "1\n2\n"}, "line for each node, 6 in total. Got 2"),
        ({"node_labels": "\x00\x01\n"}, "must have numbers"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    folder = write(tmp_path, **files)
    with pytest.raises(DatasetFileError, match=message) as caught:
        load_tu("TINY", tmp_path, edge_labels=True, node_attributes=True)
    assert str(folder) in str(caught.value)


def test_what_is_not_asked_for_may_be_damaged(tmp_path: Path) -> None:
    write(tmp_path, node_attributes="?", edge_labels="?")
    assert len(load_tu("TINY", tmp_path)) == 3


def test_an_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("permission denied")

    monkeypatch.setattr("numpy.loadtxt", refuse)
    with pytest.raises(DatasetFileError, match=r"must be readable. Got: permission denied"):
        load_tu("TINY", tmp_path)


def test_asking_for_what_is_not_there(tmp_path: Path) -> None:
    write(tmp_path, edge_labels=None, node_attributes=None)
    with pytest.raises(InvalidParameterError, match="without edge labels"):
        load_tu("TINY", tmp_path, edge_labels=True)
    with pytest.raises(InvalidParameterError, match="without node attributes"):
        load_tu("TINY", tmp_path, node_attributes=True)


@pytest.mark.parametrize("name", ["../TINY", "a/b", "", "..", "*", "a[b]"])
def test_a_name_is_not_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidParameterError, match="name of a data set"):
        load_tu(name, tmp_path)


def test_a_download_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tu, "download_tu", lambda name, root: write(root, name=name))
    assert len(load_tu("TINY", tmp_path)) == 3


@pytest.mark.parametrize("error", [ConnectionError("no route"), IncompleteRead(b"", 5)])
def test_no_copy_and_no_network(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(tu, "download_tu", fail)
    with pytest.raises(DatasetNotFoundError) as caught:
        load_tu("TINY", tmp_path)
    assert f"could not be downloaded ({type(error).__name__}: " in str(caught.value)
    assert str(tmp_path / "TINY" / "raw") in str(caught.value)
    assert "CLIPGNN_DATA" in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)


def test_downloads_can_be_forbidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tu, "download_tu", lambda *_: pytest.fail("was forbidden"))
    with pytest.raises(DatasetNotFoundError, match=f"'TINY' is not in {tmp_path}"):
        load_tu("TINY", tmp_path, download=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("complete", [True, False])
def test_a_folder_that_appears_during_the_download(
    complete: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process downloads the same data set, or the folder holds something else."""

    def overtaken(name: str, root: Path) -> None:
        write(root, name=name) if complete else (root / name).mkdir()

    monkeypatch.setattr(tu, "download_tu", overtaken)
    if complete:
        assert len(load_tu("TINY", tmp_path)) == 3
    else:
        with pytest.raises(DatasetNotFoundError, match="folder exists without its files"):
            load_tu("TINY", tmp_path)


def test_where_data_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIPGNN_DATA", str(tmp_path / "data"))
    assert data_root() == tmp_path / "data"
    assert data_root(tmp_path) == tmp_path
    monkeypatch.delenv("CLIPGNN_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_root() == tmp_path / "cache" / "clipgnn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_root() == tmp_path / ".cache" / "clipgnn"
    assert data_root("~/here") == tmp_path / "here"
    write(tmp_path / "data")
    monkeypatch.setenv("CLIPGNN_DATA", str(tmp_path / "data"))
    assert len(load_tu("TINY")) == 3


REAL = Path(
    os.environ.get("CLIPGNN_DATA")
    or Path(__file__).resolve().parents[3] / "shared" / "data" / "TUDataset"
)

# Graphs, classes, average nodes and degree as the paper prints them (two of its degrees are cut
# off, not rounded), then the largest graph, labels of nodes and of edges.
PUBLISHED = {
    "MUTAG": (188, 2, 17.93, 2.21, 28, 7, 4),
    "PTC_MR": (344, 2, 14.29, 2.05, 64, 18, 4),
    "PROTEINS": (1113, 2, 39.06, 3.72, 620, 3, 0),
    "IMDB-BINARY": (1000, 2, 19.77, 9.76, 136, 136, 0),
    "IMDB-MULTI": (1500, 3, 13.00, 10.14, 89, 89, 0),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_papers_data_sets(name: str) -> None:
    folder = REAL / name / "raw"
    if not (folder / f"{name}_A.txt").is_file():
        pytest.skip(f"{name} is not there")
    graphs, classes, nodes, degree, most, labels, edge_labels = PUBLISHED[name]
    before = sorted((REAL / name).rglob("*"))
    ours = load_tu(name, REAL, edge_labels=edge_labels > 0)
    assert sorted((REAL / name).rglob("*")) == before
    found = characteristics(ours)
    assert (found.num_graphs, found.num_classes, found.max_nodes) == (graphs, classes, most)
    assert found.mean_nodes == pytest.approx(nodes, abs=0.005)
    assert found.mean_degree == pytest.approx(degree, abs=0.01)
    assert found.num_labels == labels

    # PyG's own reading of the same files, graph by graph.
    theirs, slices, sizes = read_tu_data(str(folder), name)
    torch.testing.assert_close(ours.y, theirs.y)
    torch.testing.assert_close(ours.edge_index, theirs.edge_index)
    torch.testing.assert_close(ours.edge_pointers, slices["edge_index"])
    if theirs.x is not None:
        torch.testing.assert_close(ours.node_pointers, slices["x"])
        rows = functional.one_hot(ours.x, ours.in_channels).float()
        torch.testing.assert_close(rows, theirs.x[:, sizes["num_node_attributes"] :])
        assert bool((ours.x.bincount(minlength=labels) > 0).all())
    else:
        assert ours.node_pointers.diff().tolist() == theirs._num_nodes
        degrees = [
            data.edge_index[0].bincount(minlength=data.num_nodes) for data in ours.to_data_list()
        ]
        torch.testing.assert_close(ours.x, torch.cat(degrees))
    if edge_labels:
        torch.testing.assert_close(ours.edge_attr, theirs.edge_attr)


def test_proteins_have_continuous_attributes_too() -> None:
    if not (REAL / "PROTEINS" / "raw" / "PROTEINS_A.txt").is_file():
        pytest.skip("PROTEINS is not there")
    ours = load_tu("PROTEINS", REAL, node_attributes=True)
    theirs, _, _ = read_tu_data(str(REAL / "PROTEINS" / "raw"), "PROTEINS")
    torch.testing.assert_close(ours.x, theirs.x)
