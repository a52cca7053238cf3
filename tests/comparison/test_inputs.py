"""Graphs given as text: files with numbers, graph6 and sparse6, names, and what is none of them."""

from pathlib import Path

import networkx as nx
import pytest

from clipgnn.comparison.inputs import MOST_NODES, FileOptions, GivenGraph, read_graph, told_apart
from clipgnn.errors import ClipGNNError, InvalidGraphError, InvalidParameterError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.g6").write_text("Bw\nCF\n")
    (tmp_path / "one.g6").write_text(">>graph6<<Bw\n")
    (tmp_path / "bad.g6").write_text("Bw\nBxxx\n")
    (tmp_path / "bad.gml").write_text("graph [ node [")
    (tmp_path / "other.gml").write_text("graph [ node [ id 0 ] ]")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "name", "nodes", "edges"),
    [
        ("hexagon", "hexagon", 6, 6),
        ("csl-11-3", "csl-11-3", 11, 22),
        ("Bw", "Bw", 3, 3),
        (">>graph6<<Bw", ">>graph6<<Bw", 3, 3),
        (":Cdv", ":Cdv", 4, 3),
        ("one.g6", "one.g6", 3, 3),
        ("two.g6#2", "two.g6, line 2", 4, 3),
    ],
)
def test_ways_to_give_a_graph(text: str, name: str, nodes: int, edges: int) -> None:
    found = read_graph(text)
    assert found.name == name
    assert (len(found.graph), found.graph.number_of_edges()) == (nodes, edges)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("two.g6", "It has 2 graphs. Write two.g6#1"),
        ("two.g6#3", "must be from 1 to 2. Got 3"),
        ("two.g6#0", "must be from 1 to 2. Got 0"),
        ("bad.g6#2", "bad.g6, line 2: A graph in graph6 or sparse6 must have"),
        ("missing.g6", "There must be a file or folder 'missing.g6'. It is missing."),
        ("missing.g6#1", "It is missing"),
        ("Hexagon", "Got Hexagon. Write hexagon or >>graph6<<Hexagon."),
        ("Decalin", "Did you mean 'decalin'"),
        (".", ". must have one graph, or the number of a graph must be given. It has 2 graphs."),
        ("bad.gml", "bad.gml: The graph must be GraphML or GML"),
        ("hexagn", "Did you mean 'hexagon'"),
        ("Dhxxx", "its number of nodes requires. Expected 10 bits"),
        (
            "~~",
            "As graph6: A graph in graph6 or sparse6 must have as many characters as its number",
        ),
        ("~~", "It ends too early."),
        (
            ">>graph6<<Bxx",
            "'>>graph6<<Bxx' is not valid. A graph in graph6 or sparse6 must have as",
        ),
        (">>graph6<<E1EG", "must have characters from ? to ~ only, and at least one. Got '1'"),
        (">>graph6<<", "and at least one. Got ''"),
        (">>sparse6<<:", "and at least one. Got ''"),
        ("hexagon#2", "The example hexagon is one graph, without a number. Got 'hexagon#2'. Write"),
        (":~~~~~~~~~~", f"at most {MOST_NODES} nodes to be compared. :~~~~~~~~~~ has 68719476735"),
        ("csl-11-9", "S of csl-N-S must be"),
        ("cycle-201", "must be from 3 to 200"),
        ("smiles:C(C", "SMILES must have a valid syntax. Got 'C(C'"),
        ("smiles:", "must have at least one atom"),
        ("", "Got ''"),
        ("a\0b", "must be a file"),
        ("x" * 5000, "must be a file"),
    ],
)
def test_other_text_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ClipGNNError, match=r".") as caught:
        read_graph(text)
    assert message in str(caught.value)
    assert "bad.gml, bad.gml" not in str(caught.value)


def test_molecules() -> None:
    """Many SMILES are valid graph6 too: CC is a graph of four nodes."""
    assert read_graph("CC").graph.number_of_nodes() == 4
    found = read_graph("smiles:CC")
    assert (found.name, found.graph.number_of_nodes()) == ("CC", 2)
    assert {own["element"] for _, own in found.graph.nodes(data=True)} == {"C"}
    long = read_graph(f"smiles:{'C' * 60}").name
    assert long == "C" * 40 + "…"


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (("two.g6#1", "two.g6#2"), ("two.g6, line 1", "two.g6, line 2")),
        (("old/one.g6", "new/one.g6"), ("old/one.g6", "new/one.g6")),
        (("one.g6", "new/one.g6"), ("one.g6", "new/one.g6")),
        (("a/old/two.g6#2", "b/old/two.g6#2"), ("a/old/two.g6, line 2", "b/old/two.g6, line 2")),
        (("one.g6", "./one.g6"), ("one.g6 (A)", "one.g6 (B)")),
        (("Bw", "Bw"), ("Bw (A)", "Bw (B)")),
    ],
)
def test_equal_names_are_told_apart(
    folder: Path, texts: tuple[str, str], names: tuple[str, str]
) -> None:
    for own in (".", "old", "new", "a/old", "b/old"):
        (folder / own).mkdir(parents=True, exist_ok=True)
        for name in ("one.g6", "two.g6"):
            (folder / own / name).write_bytes((folder / name).read_bytes())
    one, other = told_apart(*map(read_graph, texts))
    assert (one.name, other.name) == names


def test_what_is_both_is_an_error(folder: Path) -> None:
    (folder / "hexagon").touch()
    (folder / "Bw").write_text("Bw\n")
    with pytest.raises(InvalidParameterError, match="'hexagon' is a file and a name of an example"):
        read_graph("hexagon")
    with pytest.raises(InvalidParameterError, match="'Bw' is a file and a graph in graph6"):
        read_graph("Bw")
    assert read_graph("./Bw", FileOptions(format="graph6")).name == "Bw"


def test_large_graphs_are_errors(folder: Path) -> None:
    nx.write_graph6(nx.empty_graph(MOST_NODES + 1), folder / "large.g6")
    with pytest.raises(InvalidGraphError, match=r"large\.g6 has 201"):
        read_graph("large.g6")
    largest = nx.to_graph6_bytes(nx.path_graph(MOST_NODES), header=False).decode().strip()
    assert len(read_graph(largest).graph) == MOST_NODES


def test_folders_are_added_to_names_that_are_not_those_of_files() -> None:
    given = [GivenGraph("x, graph 1", nx.Graph(), f"{folder}/c") for folder in ("old", "new")]
    assert [own.name for own in told_apart(*given)] == ["old/c, x, graph 1", "new/c, x, graph 1"]
