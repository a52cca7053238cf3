"""Files of graphs: what is read from each format, and what is reported about invalid graphs."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from clipgnn.datasets.graph_files import read_graph_file
from clipgnn.datasets.graph_files.graph6 import MOST_NODES, num_nodes
from clipgnn.errors import DatasetFileError, DatasetNotFoundError, InvalidParameterError

GRAPHS = [nx.cycle_graph(4), nx.path_graph(3), nx.complete_graph(5)]
LABELS = ["ring", "chain", "complete"]


def written(folder: Path, format: str) -> Path:
    """Write `GRAPHS` in a format, with labels where the format can hold them."""
    if format == "json-lines":
        path = folder / "graphs.jsonl"
        lines = [
            json.dumps({**nx.node_link_data(graph, edges="edges"), "label": label})
            for graph, label in zip(GRAPHS, LABELS, strict=True)
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path
    if format == "graph6":
        path = folder / "graphs.g6"
        path.write_bytes(b"".join(nx.to_graph6_bytes(graph) for graph in GRAPHS))
        return path
    path = folder / "graphs"
    path.mkdir()
    for number, graph in enumerate(GRAPHS):
        if number % 2:
            nx.write_gml(graph, path / f"{number}.gml")
        else:
            nx.write_graphml(graph, path / f"{number}.graphml")
    return path


def labels_of(folder: Path, *, file: bool) -> Path:
    """Write a CSV file of labels, in another order if it names the files."""
    rows = [
        (f"{number}.{'gml' if number % 2 else 'graphml'}", own) for number, own in enumerate(LABELS)
    ]
    lines = ["file,label", *map(",".join, reversed(rows))] if file else ["label", *LABELS]
    path = folder / "labels.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("format", ["json-lines", "graph6", "graphml"])
def test_graphs_and_labels(format: str, tmp_path: Path) -> None:
    path = written(tmp_path, format)
    labels = None if format == "json-lines" else labels_of(tmp_path, file=format == "graphml")
    found = read_graph_file(path, labels=labels)
    assert found.format == format
    assert found.valid == [0, 1, 2]
    assert found.column("label") == LABELS
    for entry, graph in zip(found.entries, GRAPHS, strict=True):
        assert nx.is_isomorphic(entry.graph, graph)


def test_sparse6(tmp_path: Path) -> None:
    path = tmp_path / "graphs.txt"
    path.write_bytes(b"".join(nx.to_sparse6_bytes(graph) for graph in GRAPHS))
    found = read_graph_file(path, format="graph6")
    assert [len(entry.graph) for entry in found.entries] == [4, 3, 5]


@pytest.mark.needs("rdkit")
def test_smiles(tmp_path: Path) -> None:
    path = tmp_path / "molecules.csv"
    path.write_text(
        "name,SMILES,y\nethanol,CCO,1.5\nbad,C1CC,2\n,c1ccccc1,\n", encoding="utf-8-sig"
    )
    found = read_graph_file(path)
    assert [entry.graph for entry in found.entries] == ["CCO", None, "c1ccccc1"]
    assert found.valid == [0, 2]
    assert found.entries[1].place == "line 3"
    assert "C1CC" in str(found.entries[1].problem)
    assert found.columns == ["name", "y"]
    assert found.column("y") == ["1.5", "2", None]
    assert read_graph_file(path, smiles_column="name").valid == []


def test_attributes_are_kept(tmp_path: Path) -> None:
    graph = nx.path_graph(2)
    graph.nodes[0]["element"] = "C"
    graph.edges[0, 1]["weight"] = 0.5
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(nx.node_link_data(graph, edges="links")), encoding="utf-8")
    [entry] = read_graph_file(path).entries
    assert entry.graph.nodes[0] == {"element": "C"}
    assert entry.graph.edges[0, 1] == {"weight": 0.5}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"nodes": []}',
        '{"nodes": [1], "edges": []}',
        '{"nodes": 3, "edges": []}',
        "[" * 5000,
    ],
)
def test_an_invalid_line_of_json_is_a_problem(line: str, tmp_path: Path) -> None:
    good = json.dumps(nx.node_link_data(GRAPHS[0], edges="edges"))
    path = tmp_path / "some.jsonl"
    path.write_text(f"{good}\n\n{line}\n{good}\n", encoding="utf-8")
    found = read_graph_file(path)
    assert found.valid == [0, 2]
    assert found.entries[1].place == "line 3"
    assert found.entries[1].problem


@pytest.mark.parametrize(
    ("name", "content"), [("a.g6", b"\x01\n"), ("a.g6", b"C\n"), ("a.s6", b":\n")]
)
def test_an_invalid_line_of_graph6_is_a_problem(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    found = read_graph_file(tmp_path / name)
    assert found.valid == []
    assert found.entries[0].place == "line 1"


@pytest.mark.parametrize("line", [b":~~~~~~~~", b":~~?Eig@", b"~~?????~", b":~_AAAA"])
def test_graphs_of_too_many_nodes_are_not_created(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.g6").write_bytes(line + b"\n")
    [entry] = read_graph_file(tmp_path / "a.g6").entries
    size = num_nodes(line)
    expected = size > MOST_NODES
    assert ("must have at most 100,000 nodes. Got" in (entry.problem or "")) == expected
    assert expected or entry.problem


def test_the_largest_number_of_nodes(tmp_path: Path) -> None:
    graphs = [nx.empty_graph(MOST_NODES), nx.empty_graph(MOST_NODES + 1)]
    texts = [nx.to_sparse6_bytes(graph, header=False) for graph in graphs]
    (tmp_path / "a.s6").write_bytes(b"".join(texts))
    assert [num_nodes(text.strip()) for text in texts] == [MOST_NODES, MOST_NODES + 1]
    assert read_graph_file(tmp_path / "a.s6").valid == [0]


@pytest.mark.parametrize("name", ["a.graphml", "a.gml"])
def test_an_invalid_file_of_a_folder_is_a_problem(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("nothing of this kind", encoding="utf-8")
    nx.write_gml(GRAPHS[0], tmp_path / "b.gml")
    found = read_graph_file(tmp_path)
    assert found.valid == [1]
    assert found.entries[0].place == name


@pytest.mark.parametrize(
    ("files", "options", "error", "message"),
    [
        ({}, {}, DatasetNotFoundError, "must be a file or folder .*data.jsonl'. It is missing"),
        ({"data.jsonl": ""}, {}, DatasetFileError, "at least one graph. Got none"),
        (
            {"data.jsonl": "{}"},
            {"format": "jsonl"},
            InvalidParameterError,
            "Did you mean 'json-lines'",
        ),
        ({"data.jsonl": "{}"}, {"labels": "none.csv"}, DatasetNotFoundError, "none.csv'"),
        (
            {"data.jsonl": "{}", "y.csv": "y\n1\n2\n"},
            {"labels": "y.csv"},
            DatasetFileError,
            "a row for each of the 1 graphs of data.jsonl, or a column 'file'. Got 2 rows",
        ),
    ],
)
def test_what_is_wrong_as_a_whole(
    files: dict[str, str],
    options: dict[str, Any],
    error: type[Exception],
    message: str,
    tmp_path: Path,
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    if "labels" in options:
        options = {**options, "labels": tmp_path / options["labels"]}
    with pytest.raises(error, match=message):
        read_graph_file(tmp_path / "data.jsonl", **options)


def test_a_format_that_is_not_recognized(tmp_path: Path) -> None:
    (tmp_path / "data.abc").write_text("x", encoding="utf-8")
    with pytest.raises(InvalidParameterError, match=r"format must .*smiles, json-lines, graph6"):
        read_graph_file(tmp_path / "data.abc")


@pytest.mark.needs("rdkit")
@pytest.mark.parametrize(
    ("content", "column", "message"),
    [
        ("a,b\n1,2\n", None, "smiles_column must be given .* columns are 'a', 'b'"),
        ("smile,b\nC,2\n", "smiles", "Got 'smiles'. .* are 'smile', 'b'. Did you mean 'smile'"),
        ("", None, "line of column names. It is empty"),
    ],
)
def test_columns_of_smiles(content: str, column: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "molecules.csv"
    path.write_text(content, encoding="utf-8")
    error = InvalidParameterError if content else DatasetFileError
    with pytest.raises(error, match=message):
        read_graph_file(path, smiles_column=column)


def test_a_column_that_is_missing(tmp_path: Path) -> None:
    found = read_graph_file(written(tmp_path, "json-lines"))
    with pytest.raises(
        DatasetFileError, match=r"must have the column 'labels'. Got 'label'. Did you"
    ):
        found.column("labels")


@pytest.mark.parametrize(
    "line",
    [
        '{"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 9}]}',
        '{"nodes": [{"id": 0}, {"id": 0}], "edges": []}',
        '{"nodes": [], "edges": [], "graph": [1]}',
        '{"nodes": [], "edges": [], "graph": "abc"}',
    ],
)
def test_a_graph_that_contradicts_itself_is_a_problem(line: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line, encoding="utf-8")
    [entry] = read_graph_file(path).entries
    assert entry.graph is None
    assert entry.problem


def test_bytes_that_are_not_utf8_are_a_problem_of_their_line(tmp_path: Path) -> None:
    good = json.dumps(nx.node_link_data(GRAPHS[0], edges="edges")).encode()
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + good + b"\r\n\xff\xfe\r\n" + good)
    found = read_graph_file(path)
    assert found.valid == [0, 2]
    assert "UTF-8" in str(found.entries[1].problem)


@pytest.mark.parametrize(
    "content",
    [
        "<graphml><graph><node id='a'/><edge source='a'/></graph></graphml>",
        "<graphml><graph/><graph/></graphml>",
        "<graphml></graphml>",
    ],
)
def test_graphml_that_contradicts_itself_is_a_problem(content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(content, encoding="utf-8")
    [entry] = read_graph_file(path, format="graphml").entries
    assert entry.problem


@pytest.mark.needs("rdkit")
def test_tables_of_several_forms(tmp_path: Path) -> None:
    files = {
        "a.csv": ' smiles , y\n"CCO", 1 \n\n"CCN",2\n',
        "b.csv": "smiles;y\nCCO;1\nCCN;2\n",
        "C.TSV": "smiles\ty\nCCO\t1\nCCN\t2\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        found = read_graph_file(tmp_path / name)
        assert [own.graph for own in found.entries] == ["CCO", "CCN"]
        assert found.column("y") == ["1", "2"]
    assert [own.place for own in read_graph_file(tmp_path / "a.csv").entries] == [
        "line 2",
        "line 4",
    ]
    (tmp_path / "d.smi").write_text("CCO ethanol\nCCN\n\n", encoding="utf-8")
    found = read_graph_file(tmp_path / "d.smi")
    assert [own.graph for own in found.entries] == ["CCO", "CCN"]
    assert found.column("name") == ["ethanol", None]


@pytest.mark.needs("rdkit")
def test_places_of_rows_that_are_not_valid(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('smiles,note\nCCO,"two\nlines"\nC1CC,x\nCC,x,y\n', encoding="utf-8")
    found = read_graph_file(path)
    assert [own.place for own in found.entries] == ["line 2", "line 4", "line 5"]
    assert found.valid == [0]
    assert "at most 2 columns. Got 3" in str(found.entries[2].problem)
    path.write_bytes(b"smiles,note\nCCO,ok\nCCO,\xff\n")
    with pytest.raises(DatasetFileError, match=r"UTF-8. Line 3 is not"):
        read_graph_file(path)
    path.write_text("smiles,y,y\nC,1,2\n", encoding="utf-8")
    with pytest.raises(DatasetFileError, match=r"different names. Got 'y' twice"):
        read_graph_file(path)


def test_labels_with_empty_cells(tmp_path: Path) -> None:
    path = written(tmp_path, "graph6")
    labels = tmp_path / "labels.csv"
    labels.write_text("y\n1\n\n2\n", encoding="utf-8")
    assert read_graph_file(path, labels=labels).column("y") == ["1", None, "2"]
    labels.write_text("y\n1\n2\n\n\n", encoding="utf-8")
    assert read_graph_file(path, labels=labels).column("y") == ["1", "2", None]
    labels.write_text("", encoding="utf-8")
    with pytest.raises(DatasetFileError, match=r"line of column names. It is empty"):
        read_graph_file(path, labels=labels)
    labels.write_text("file,y\na,1\na,2\n", encoding="utf-8")
    with pytest.raises(DatasetFileError, match=r"each file once. Got 'a' twice"):
        read_graph_file(path, labels=labels)
