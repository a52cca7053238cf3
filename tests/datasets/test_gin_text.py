"""GIN text: what is read, and what is reported about invalid files."""

import random
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.datasets.gin_text_files import gin_text, planar_pair, write_pairs

from clipgnn.datasets.graph_files import read_graph_file
from clipgnn.datasets.graph_files.entries import GraphFile
from clipgnn.datasets.isomorphism import isomorphism_classes, refined_classes
from clipgnn.datasets.sources import load_file
from clipgnn.errors import ClipGNNError, DatasetFileError, DatasetNotFoundError
from clipgnn.graphs.packed import PackedGraphs

PATH = "3 7\n2 1 1\n-1 2 0 2\n2 1 1\n"
"""A path of three nodes, of class 7."""


def read(folder: Path, text: str) -> GraphFile:
    (folder / "graphs.txt").write_bytes(text.encode())
    return read_graph_file(folder / "graphs.txt")


def test_graphs_tags_and_classes(tmp_path: Path) -> None:
    graphs = planar_pair(random.Random(1))
    found = read(tmp_path, gin_text(graphs, [3, -1]))
    assert found.format == "gin-text"
    assert found.column("label") == ["3", "-1"]
    for entry, graph in zip(found.entries, graphs, strict=True):
        tags = {node: {"tag": str(tag)} for node, tag in graph.nodes(data="tag")}
        assert dict(entry.graph.nodes(data=True)) == tags
        assert nx.utils.edges_equal(entry.graph.edges, graph.edges)


@pytest.mark.parametrize("text", [f"1\r\n{PATH}", f"\ufeff1\n\n{PATH}\n\n", f"1\n{PATH.strip()}"])
def test_line_breaks(text: str, tmp_path: Path) -> None:
    [entry] = read(tmp_path, text).entries
    assert entry.place in ("line 2", "line 3")
    assert nx.is_isomorphic(entry.graph, nx.path_graph(3))


def test_attributes_loops_and_graphs_without_nodes(tmp_path: Path) -> None:
    found = read(tmp_path, "2\n2 0\n0 2 0 1 0.5 -1e3\n0 1 0 1 2\n0 1\n")
    first, second = (entry.graph for entry in found.entries)
    assert first.nodes[0] == {"tag": "0", "attributes": [0.5, -1000.0]}
    assert sorted(first.edges) == [(0, 0), (0, 1)]
    assert len(second) == 0
    columns = PackedGraphs.from_networkx([first])
    assert columns.in_channels == 3  # one tag, two numbers


def test_tags_are_categories_however_many_there_are(tmp_path: Path) -> None:
    graph = nx.path_graph(100)
    nx.set_node_attributes(graph, {node: node for node in graph}, "tag")
    (tmp_path / "graphs.txt").write_text(gin_text([graph, nx.path_graph(2)], [0, 1]))
    assert load_file(f"file:{tmp_path / 'graphs.txt'}").in_channels == 100


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ("0 1 1\n0", "Line 4 must begin with a tag and a number of neighbors"),
        ("0 1 1\nx 1 0", "Line 4 must begin with a tag and a number of neighbors, both integers"),
        ("0 1 1\n0 1.0 0", "Line 4 must begin with a tag and a number of neighbors"),
        ("0 -1\n0 0", "Got '0 -1'"),
        ("0 1 1\n0 2 0", "Line 4 must have 2 neighbors. Got 1"),
        ("0 1 2\n0 1 0", "Neighbors in line 3 must be nodes from 0 to 1. Got '2'"),
        ("0 1 -1\n0 1 0", "must be nodes from 0 to 1. Got '-1'"),
        ("0 1 b\n0 1 0", "must be nodes from 0 to 1. Got 'b'"),
        ("0 2 1 1\n0 1 0", "Line 3 must have each neighbor once"),
        ("0 1 1\n0 0", "Node 0 (line 3) has the neighbor 1 (line 4), which does not have it"),
        ("0 1 1 5\n0 1 0", "same number of attributes. Got 1 and, in line 4, 0"),
        ("0 1 1 nan\n0 1 0 1", "Attributes in line 3 must be finite numbers"),
        ("0 1 1 0\n0 1 0 1_0", "Attributes in line 4 must be finite numbers after the neighbors"),
    ],
)
def test_an_invalid_node_is_a_problem_of_its_graph(
    nodes: str, problem: str, tmp_path: Path
) -> None:
    found = read(tmp_path, f"2\n2 0\n{nodes}\n{PATH}")
    assert found.valid == [1]
    assert found.entries[0].place == "line 2"
    assert problem in str(found.entries[0].problem)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "at least one graph. Got none"),
        ("0\n", "at least one graph. Got none"),
        ("graphs\n", "Line 1 of graphs.txt must be the number of graphs in GIN text"),
        ("-1\n", r"Line 1 .* Got '-1'"),
        (f"{'9' * 5000}\n", "Line 1 of graphs.txt"),
        ("CCO\nCCN\n", "Give format for a file of another format"),
        (f"2\n{PATH}", "must have 2 graphs, as its first line says. It ends after graph 1"),
        ("2\n", "It ends after line 1"),
        ("1\n3 0\n0 0\n", "ends after 1 of the 3 nodes of graph 1"),
        ("1\n999999999999 0\n0 0\n", "ends after 1 of the 999999999999 nodes"),
        (f"1\n{PATH}{PATH}", "must have 1 graph, as its first line says. .* at line 6"),
        (f"2\n{PATH}3\n", "Line 6 of graphs.txt must be a number of nodes and a class. Got '3'"),
        ("1\n-3 0\n", "Line 2 .*Got '-3 0'"),
        ("1\n1 0.5\n0 0\n", "Line 2 .*Got '1 0.5'"),
        ("1\n1 0 0\n0 0\n", "Line 2 .*Got '1 0 0'"),
    ],
)
def test_a_file_that_is_invalid_as_a_whole(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetFileError, match=message):
        read(tmp_path, text)


@given(
    place=st.integers(0, 200), size=st.integers(0, 5), new=st.text("0123456789- \n.xé", max_size=4)
)
def test_any_change_is_read_or_reported(
    place: int, size: int, new: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = gin_text(planar_pair(random.Random(2)), [0, 1])
    path = tmp_path_factory.mktemp("changed") / "graphs.txt"
    path.write_text(text[:place] + new + text[place + size :], encoding="utf-8")
    try:
        found = read_graph_file(path)
    except ClipGNNError:
        return
    for entry in found.entries:
        assert (entry.graph is None) == (entry.problem is not None)


@pytest.mark.needs("igraph")
def test_generated_pairs_are_planar_and_hard(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.txt", 20)
    source = read_graph_file(tmp_path / "pairs.txt")
    assert all(nx.check_planarity(entry.graph)[0] for entry in source.entries)
    graphs = load_file(f"file:{tmp_path / 'pairs.txt'}")
    classes, _ = refined_classes(graphs)
    assert (classes[::2] == classes[1::2]).all()
    assert isomorphism_classes(graphs).unique().numel() == len(graphs)
    assert graphs.targets.tolist() == [1, 0] * 20


def test_files_with_targets(tmp_path: Path) -> None:
    path = tmp_path / "numbers.jsonl"
    line = '{"nodes": [{"id": 0}], "edges": [], "y": %s}\n'
    path.write_text(line % 0.5 + line % 2)
    assert load_file(f"file:{path}").targets.tolist() == [0.5, 2.0]
    path.write_text(line % '"b"' + line % '"a"')
    assert load_file(f"file:{path}").targets.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", f"2\n{PATH}1 0\n0 1 1\n", "a.txt, line 6: Neighbors in line 7"),
        ("a.txt", f"1\n{PATH}", "at least two classes. Got one class, 7"),
        ("a.g6", "A_\n", "must have a column or attribute to predict"),
        ("a.jsonl", '{"nodes": [], "edges": [], "a": 1, "b": 2}', "target must be given"),
        ("a.abc", "", "format must be given .*module:function"),
    ],
)
def test_files_without_valid_targets(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DatasetFileError, match=message):
        load_file(f"file:{tmp_path / name}")


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match="must be a file or folder"):
        load_file(f"file:{tmp_path / 'none.txt'}")
