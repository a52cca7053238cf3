"""Sets of pairs: those that are known, and files of graph6."""

import os
import sys
from hashlib import sha256
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from clipgnn.coloring import labeling
from clipgnn.datasets import brec, pairs
from clipgnn.datasets.brec import FAMILIES, load_brec
from clipgnn.datasets.isomorphism import refined_classes
from clipgnn.datasets.pairs import canonical_forms, load_pairs
from clipgnn.errors import (
    DatasetFileError,
    DatasetNotFoundError,
    InvalidParameterError,
    MissingDependencyError,
)
from clipgnn.parameters.datasets import PAIR_SETS

pytestmark = pytest.mark.needs("igraph")

TRIANGLES = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))


def file_of(folder: Path, *graphs: "nx.Graph[int]") -> Path:
    path = folder / "graphs.g6"
    path.write_bytes(b"".join(nx.to_graph6_bytes(graph, header=False) for graph in graphs))
    return path


def renumbered(graph: "nx.Graph[int]", seed: int) -> "nx.Graph[int]":
    """The graph with other numbers of its nodes, and so another line of graph6.

    `nx.relabel_nodes` keeps the order of the nodes, by which they are numbered in a file.
    """
    number = np.random.default_rng(seed).permutation(len(graph)).tolist()
    copy: nx.Graph[int] = nx.empty_graph(len(graph))
    copy.add_edges_from((number[source], number[target]) for source, target in graph.edges())
    return copy


@pytest.mark.parametrize(
    ("name", "count"), [("csl-pairs", 45), ("atlas-pairs", 26), ("atlas-6-pairs", 4)]
)
def test_pairs_that_1_wl_does_not_distinguish(name: str, count: int) -> None:
    found = load_pairs(name)
    assert len(found) == 2 * count
    classes, _ = refined_classes(found)
    assert classes[::2].tolist() == classes[1::2].tolist()
    forms = canonical_forms(found)
    assert all(first != second for first, second in zip(forms[::2], forms[1::2], strict=True))


def test_files_of_pairs_and_of_different_graphs(tmp_path: Path) -> None:
    path = file_of(tmp_path, nx.cycle_graph(6), TRIANGLES, nx.path_graph(4), nx.star_graph(3))
    assert len(load_pairs(f"pairs:{path}")) == 4
    assert len(load_pairs(f"different:{path}")) == 2


def copies_of(*pair: "nx.Graph[int]") -> list["nx.Graph[int]"]:
    """32 relabeled copies of both graphs of a pair, in turn."""
    return [renumbered(own, seed) for seed, own in enumerate(pair * 32)]


@pytest.mark.parametrize("prefix", ["pairs", "different"])
def test_isomorphic_graphs_with_different_lines(prefix: str, tmp_path: Path) -> None:
    """Graphs 1 and 2 are two numberings of one graph, whose edge lists differ."""
    copies = [renumbered(nx.cycle_graph(6), seed) for seed in range(2)]
    path = file_of(tmp_path, *copies, TRIANGLES, nx.cycle_graph(6))
    lines = path.read_bytes().splitlines()
    assert lines[0] != lines[1]
    with pytest.raises(DatasetFileError, match=r"lines 1 and 2 of .* are"):
        load_pairs(f"{prefix}:{path}")


def test_parallel_edges_make_graphs_different(tmp_path: Path) -> None:
    double: nx.MultiGraph[int] = nx.MultiGraph([(0, 1), (1, 2), (2, 0), (2, 0)])
    other: nx.MultiGraph[int] = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0)])
    lines = [nx.to_sparse6_bytes(own, header=False) for own in (double, nx.cycle_graph(3), other)]
    path = tmp_path / "graphs.s6"
    path.write_bytes(b"".join(lines[:2]))
    first, second = canonical_forms(load_pairs(f"pairs:{path}"))
    assert first != second
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(DatasetFileError, match=r"lines 1 and 2 of .* are"):
        load_pairs(f"pairs:{path}")


def test_a_file_of_copies(tmp_path: Path) -> None:
    copies = [*copies_of(nx.cycle_graph(6), TRIANGLES), *copies_of(*[nx.path_graph(4)] * 2)]
    lines = file_of(tmp_path, *copies).read_bytes().splitlines()
    assert len(set(lines[:64:2])) > 10
    assert len(set(lines[1:64:2])) > 5  # of the ten numberings of two triangles
    assert lines[64] != lines[65]
    with pytest.raises(DatasetFileError, match=r"lines 65 and 66 of .* are"):
        load_pairs(f"copies:{file_of(tmp_path, *copies)}")
    path = file_of(tmp_path, *copies[:64])
    found = load_pairs(f"copies:{path}")
    assert len(found) == 64
    assert canonical_forms(found) == canonical_forms(load_pairs(f"pairs:{path}"))
    assert len(set(canonical_forms(found))) == 2


@pytest.mark.parametrize(("copy", "original", "which"), [(6, 1, "first"), (63, 2, "second")])
def test_copies_that_are_not_isomorphic(
    copy: int, original: int, which: str, tmp_path: Path
) -> None:
    copies = copies_of(nx.cycle_graph(6), TRIANGLES)
    copies[copy] = nx.circulant_graph(6, [2, 3])  # regular, but of another degree
    message = rf"lines {original} and {copy + 1} of .* copies of the {which} graph of pair 1\."
    with pytest.raises(DatasetFileError, match=message):
        load_pairs(f"copies:{file_of(tmp_path, *copies)}")
    with pytest.raises(DatasetFileError, match=r"64 graphs for each pair.* Got 63\."):
        load_pairs(f"copies:{file_of(tmp_path, *copies[1:])}")


@pytest.mark.parametrize(
    ("graphs", "prefix", "message"),
    [
        ([nx.path_graph(3)], "pairs", "at least two graphs. Got 1"),
        ([nx.path_graph(3)] * 3, "pairs", "an even number of graphs"),
        ([nx.path_graph(3)] * 2, "pairs", "lines 1 and 2 of .* are"),
        ([nx.cycle_graph(6), TRIANGLES, nx.cycle_graph(6)], "different", "1 and 3 .*isomorphic"),
        ([nx.path_graph(3), nx.cycle_graph(3)], "different", r"It distinguishes all 2 graphs\.$"),
    ],
)
def test_unsuitable_files(
    graphs: list["nx.Graph[int]"], prefix: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DatasetFileError, match=message) as caught:
        load_pairs(f"{prefix}:{file_of(tmp_path, *graphs)}")
    assert f"{prefix}:" not in str(caught.value)


def test_blank_lines_are_counted(tmp_path: Path) -> None:
    path = file_of(tmp_path, nx.cycle_graph(6), TRIANGLES, nx.path_graph(4), nx.path_graph(4))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n"))
    with pytest.raises(DatasetFileError, match=r"lines 5 and 7 of .*graphs\.g6 are"):
        load_pairs(f"pairs:{path}")
    with pytest.raises(DatasetFileError, match=r"lines 5 and 7 of .*graphs\.g6 are isomorphic"):
        load_pairs(f"different:{path}")


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (b"", b"\r\n"),
        (b"", b"\r"),
        (b"\xef\xbb\xbf", b"\n"),
        (b">>graph6<<\n", b"\n"),
        (b"\xef\xbb\xbf>>graph6<<", b"\r\n"),
    ],
)
def test_line_ends_and_beginnings_of_files(start: bytes, end: bytes, tmp_path: Path) -> None:
    path = file_of(tmp_path, nx.cycle_graph(6), TRIANGLES)
    plain = load_pairs(f"pairs:{path}")
    path.write_bytes(start + path.read_bytes().replace(b"\n", end))
    assert load_pairs(f"pairs:{path}").fingerprint == plain.fingerprint
    path.write_bytes(path.read_bytes() + b"E1EG")
    line = 4 if start.endswith(b"\n") else 3
    with pytest.raises(DatasetFileError, match=f"line {line}: .*Got '1'"):
        load_pairs(f"pairs:{path}")


def test_directed_graphs(tmp_path: Path) -> None:
    path = tmp_path / "graphs.g6"
    for line in (b"&DOOW?", b">>digraph6<<&DOOW?"):
        path.write_bytes(line + b"\n")
        with pytest.raises(DatasetFileError, match=r"line 1: .*undirected graphs\. Got digraph6"):
            load_pairs(f"pairs:{path}")


def test_many_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MAX_PAIRS", 0)
    path = file_of(tmp_path, nx.cycle_graph(6), TRIANGLES)
    with pytest.raises(DatasetFileError, match=r"at most 0 pairs .* Got 1\. Use a part"):
        load_pairs(f"different:{path}")
    for prefix in ("pairs", "copies"):
        with pytest.raises(DatasetFileError, match=r"at most 0 graphs.* Got 2\. Use several files"):
            load_pairs(f"{prefix}:{path}")
    monkeypatch.setattr(pairs, "MAX_PAIRS", 1)
    assert len(load_pairs(f"pairs:{path}")) == 2


def test_what_is_no_file_of_pairs(tmp_path: Path) -> None:
    (tmp_path / "folder.g6").mkdir()
    os.mkfifo(tmp_path / "pipe.g6")
    for name, kind in (("folder.g6", "a folder"), ("pipe.g6", "a pipe or a device")):
        with pytest.raises(DatasetFileError, match=f"must be in a regular file.* is {kind}"):
            load_pairs(f"pairs:{tmp_path / name}")
    with pytest.raises(InvalidParameterError, match=r"Got 'brec-cfl'\. Did you mean 'brec-cfi'\?"):
        load_pairs("brec-cfl")


def test_malformed_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "graphs.g6"
    path.write_text("not graph6\n")
    with pytest.raises(DatasetFileError, match=r"line 1: .*graph6"):
        load_pairs(f"pairs:{path}")
    for text, message in (("E1EG", "Got '1'"), (":C!v", "Got '!'"), (":", "at least one. Got ''")):
        path.write_text(f"EhEG\n{text}\n")
        with pytest.raises(DatasetFileError, match=f"line 2: .*from . to ~ only.*{message}"):
            load_pairs(f"pairs:{path}")
    path.write_text("?\nEhEG\n")
    with pytest.raises(DatasetFileError, match=r"line 1: .*at least one node"):
        load_pairs(f"pairs:{path}")
    with pytest.raises(DatasetNotFoundError, match="cannot be read"):
        load_pairs(f"pairs:{tmp_path / 'none.g6'}")


def test_pairs_without_igraph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    monkeypatch.setattr(labeling, "_caches", {})
    with pytest.raises(MissingDependencyError, match="Pairs of graphs require igraph"):
        load_pairs(f"pairs:{file_of(tmp_path, nx.cycle_graph(6), TRIANGLES)}")


def test_brec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of text and of bytes; one pair in a row, or in two entries."""
    texts = [
        nx.to_graph6_bytes(own, header=False).strip() for own in (nx.cycle_graph(6), TRIANGLES)
    ]
    for family, array in (("str", np.array(texts)), ("cfi", np.array([texts]).astype(str))):
        path = tmp_path / f"{family}.npy"
        np.save(path, array)
        monkeypatch.setitem(brec.FAMILIES, family, sha256(path.read_bytes()).hexdigest())
        assert len(load_brec(family, tmp_path)) == 2
        assert load_pairs(f"brec-{family}", tmp_path).name == f"brec-{family}"


def test_brec_is_missing_or_damaged(tmp_path: Path) -> None:
    assert {name for name in PAIR_SETS if "brec" in name} == {f"brec-{own}" for own in FAMILIES}
    with pytest.raises(DatasetNotFoundError, match=f"MIT license.*{FAMILIES['dr']}.*set root"):
        load_brec("dr", tmp_path)
    (tmp_path / "dr.npy").write_bytes(b"")
    with pytest.raises(DatasetFileError, match="must have the SHA-256"):
        load_brec("dr", tmp_path)
    with pytest.raises(InvalidParameterError, match="Did you mean 'basic'"):
        load_brec("bassic", tmp_path)


@pytest.mark.slow
def test_the_real_files_of_brec() -> None:
    """400 pairs of different graphs, which 1-WL does not distinguish."""
    folder = brec._folder(None)
    if not folder.is_dir():
        pytest.skip(f"BREC is not in {folder}")
    families = {name: load_pairs(f"brec-{name}") for name in FAMILIES}
    assert {name: len(graphs) // 2 for name, graphs in families.items()} == {
        "basic": 60,
        "regular": 50,
        "str": 50,
        "extension": 100,
        "cfi": 100,
        "4vtx": 20,
        "dr": 20,
    }
    assert sum(map(len, families.values())) == 2 * 400
    for graphs in families.values():
        forms = canonical_forms(graphs)
        assert all(first != second for first, second in zip(forms[::2], forms[1::2], strict=True))
        classes, _ = refined_classes(graphs)
        assert classes[::2].tolist() == classes[1::2].tolist()


def test_the_folder_of_brec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of data sets, or beside it."""
    data = tmp_path / "TUDataset"
    monkeypatch.setenv("CLIPGNN_DATA", str(data))
    for folder in (data / "BREC", tmp_path / "BREC"):
        with pytest.raises(DatasetNotFoundError, match="MIT license") as caught:
            load_brec("dr")
        assert str(data / "BREC" / "dr.npy") in str(caught.value)
        folder.mkdir(parents=True)
        (folder / "dr.npy").write_bytes(b"")
        with pytest.raises(DatasetFileError, match=f"{folder / 'dr.npy'} must have the SHA-256"):
            load_brec("dr")
        (folder / "dr.npy").unlink()
        folder.rmdir()


def test_a_file_is_found_in_the_folder_of_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_of(tmp_path, nx.cycle_graph(6), TRIANGLES)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(DatasetNotFoundError, match="cannot be read"):
        load_pairs("pairs:graphs.g6")
    found = load_pairs("pairs:graphs.g6", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert found.fingerprint == load_pairs("pairs:graphs.g6", tmp_path / "other").fingerprint
