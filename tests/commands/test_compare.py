"""`clipgnn compare`: from two graphs to a page."""

import sys
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from clipgnn import cli
from clipgnn.coloring import labeling

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs the command in a folder of its own: status, standard output, error output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLIPGNN_DATA", str(tmp_path / "data"))

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["clipgnn", "compare", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return command


@pytest.mark.needs("igraph")
def test_a_page(call: Command) -> None:
    status, out, messages = call("hexagon", "two-triangles", "-o", "page.html")
    assert (status, out) == (0, "")
    assert messages.startswith("The graphs are not isomorphic. Message passing cannot")
    assert messages.endswith("Page: page.html\n")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<title>hexagon and two-triangles</title>" in page
    assert len(page) < 60_000
    assert call("hexagon", "two-triangles", "-o", "page.html", "-q") == (0, "", "")
    assert Path("page.html").read_text(encoding="utf-8") == page, "the same page every time"
    assert call("hexagon", "two-triangles", "-q", "--seed", "1", "--colorings", "3")[0] == 0
    assert "Coloring 1 of 3:" in Path("comparison.html").read_text(encoding="utf-8")
    assert "The graphs are isomorphic." in call("Bw", "cycle-3")[2]


def test_without_igraph(call: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    monkeypatch.setattr(labeling, "_caches", {})
    status, _, messages = call("hexagon", "hexagon")
    assert status == 0
    assert "Whether they are isomorphic was not computed. Canonical colorings require" in messages
    assert (
        "igraph, which is not installed. Install it: pip install 'clipgnn[canonical]'" in messages
    )
    assert "equal too, which does not prove that the graphs are isomorphic" in messages
    assert "equal too" not in call("shrikhande", "rook-4x4")[2]
    assert call("hexagon", "two-triangles")[2].startswith("The graphs are not isomorphic.")


def test_the_list_of_examples(call: Command) -> None:
    status, out, _ = call("--list")
    assert status == 0
    assert "hexagon           ring of 6 nodes; compare with two-triangles" in out
    assert "csl-N-S" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hexagon", "hexagn"), "Did you mean 'hexagon'"),
        (("hexagon", "Dhxxx"), "requires. Expected 10 bits"),
        (("hexagon", "path", "-o", "page.png"), "--output must end in .html"),
        (("hexagon", "path", "-o", "no/page.html"), "Create its folder first"),
        (("hexagon", "path", "--node-attributes", "element"), "element"),
        (("graphs.g6", "path"), "It has 2 graphs. Write graphs.g6#1"),
        (("graphs.g6#1", "path", "--format", "g6"), "--format must be one of"),
    ],
)
def test_bad_input_is_one_line(call: Command, arguments: tuple[str, ...], message: str) -> None:
    Path("graphs.g6").write_text("Bw\nBw\n")
    Path("comparison.html").write_text("earlier")
    status, out, messages = call(*arguments)
    assert (status, out) == (2, "")
    assert messages.startswith("clipgnn: ")
    assert messages.count("\n") == 1
    assert message in messages
    assert Path("comparison.html").read_text() == "earlier"


@pytest.mark.needs("rdkit")
def test_molecules(call: Command) -> None:
    Path("molecules.csv").write_text("smiles\nCCO\nCOC\n")
    status, _, messages = call("molecules.csv#1", "molecules.csv#2", "--node-attributes", "element")
    assert status == 0
    assert "Attributes of edges are not compared: bond" in messages
    assert "C, 1</text>" in Path("comparison.html").read_text(encoding="utf-8")


@pytest.mark.needs("rdkit")
def test_a_molecule_with_a_configuration_and_one_without(call: Command) -> None:
    Path("alanine.csv").write_text("smiles\nC[C@H](N)C(=O)O\nCC(N)C(=O)O\n")
    status, _, messages = call("alanine.csv#1", "alanine.csv#2")
    assert status == 0
    assert "differ from round 0 on" in messages
    page = Path("comparison.html").read_text(encoding="utf-8")
    assert '<th scope="col">configuration</th>' in page


@pytest.mark.needs("igraph")
@pytest.mark.needs("rdkit")
def test_attributes_that_were_not_compared_are_named(call: Command) -> None:
    Path("two.csv").write_text("smiles\nC=C\nCC\n")
    _, _, messages = call("two.csv#1", "two.csv#2", "--node-attributes", "element")
    assert (
        "The graphs are isomorphic without attributes of edges (bond, conjugated, ring) and of"
        in messages
    )
    assert "nodes (aromatic, charge, hybridization, hydrogens, isotope)." in messages
    page = Path("comparison.html").read_text(encoding="utf-8")
    assert "Attributes of nodes are not compared: aromatic" in page.split("<nav")[0]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph([(0, 1)]), "must be undirected to be compared. one.gml has directed edges."),
        (nx.Graph([(0, 1, {"weight": 2.5})]), "must have no weights of edges to be compared."),
        (nx.MultiGraph([(0, 1), (0, 1)]), "must have no parallel edges to be compared."),
    ],
)
def test_graphs_that_cannot_be_compared(call: Command, graph: "nx.Graph[int]", message: str):
    nx.write_gml(graph, "one.gml")
    status, out, messages = call("one.gml", "hexagon")
    assert (status, out) == (2, "")
    assert message in messages
    assert messages.endswith(" first.\n")
    assert messages.count("\n") == 1
