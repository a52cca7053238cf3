"""Damaged files of a TU data set: refused, or read as a plain parser reads them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.fuzz.oracle import budget, judge
from tests.faults.fuzz.strategies import damage

from clipgnn import PackedGraphs, load_tu

NAME = "SMALL"
FILES: Mapping[str, bytes] = {
    "A": b"1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n5, 5\n4, 5\n",
    "graph_indicator": b"1\n1\n1\n2\n2\n3\n",
    "graph_labels": b"1\n-1\n1\n",
    "node_labels": b"0\n3\n0\n7\n0\n3\n",
    "edge_labels": b"0\n0\n1\n1\n2\n2\n0\n1\n",
    "node_attributes": b"0.5, 1\n1.5, 2\n-2, 3e1\n0, 0\n1, 1\n2, 2\n",
}
WORDS = (
    *(b"", b" ", b"0", b"1", b"2", b"6", b"7", b"-1", b"1.0", b"1.5", b"1e0", b"1e400", b"nan"),
    *(b"inf", b"-0", b"+1", b"0x1", b"1_0", b"1 2", b"1,2", b"a", b"#", b'"1"', b"\xff", b"\x00"),
    *(
        "１".encode(),
        b"99999999999999999999",
        b"9007199254740993",
        b"1,",
        b",1",
        b"1;2",
        b"\xef\xbb\xbf1",
    ),
)
PLAIN_NUMBER = re.compile(rb"-?\d{1,6}(\.\d{1,6})?")


@st.composite
def folders(draw: st.DrawFn) -> dict[str, bytes]:
    """The files of a small data set with a few of their lines or bytes changed."""
    files = dict(FILES)
    for optional in ("node_labels", "edge_labels", "node_attributes"):
        if draw(st.integers(0, 3)) == 0:
            del files[optional]
    for _ in range(draw(st.integers(0, 2))):
        part = draw(st.sampled_from(sorted(files)))
        if draw(st.integers(0, 2)) == 0:
            files[part] = draw(damage(files[part]))
            continue
        lines = files[part].split(b"\n")
        place = draw(st.integers(0, len(lines) - 1))
        kind = draw(
            st.sampled_from(["word", "word", "line", "lose", "double", "swap", "end", "file"])
        )
        if kind == "word":
            words = lines[place].split(b",")
            words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(WORDS))
            lines[place] = b",".join(words)
        elif kind == "line":
            lines[place] = draw(st.sampled_from(WORDS))
        elif kind == "lose":
            del lines[place]
        elif kind == "double":
            lines.insert(place, lines[place])
        elif kind == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[place], lines[other] = lines[other], lines[place]
        files[part] = (b"\r\n" if kind == "end" else b"\n").join(lines)
        if kind == "file":
            del files[part]
            if not files:
                break
    return files


class UnreadableError(Exception):
    """The plain parser finds no data set in the files."""


def _table(content: bytes) -> list[list[float]]:
    try:
        lines = content.decode("utf-8").splitlines()
        return [[float(word) for word in line.split(",")] for line in lines if line.strip()]
    except ValueError as error:
        raise UnreadableError(str(error)) from error


def _whole(rows: list[list[float]], columns: int) -> list[tuple[int, ...]]:
    if any(len(row) != columns or any(value != int(value) for value in row) for row in rows):
        raise UnreadableError("whole numbers")
    return [tuple(int(value) for value in row) for row in rows]


def _ranks(values: list[Any]) -> list[int]:
    order = sorted(set(values))
    return [order.index(value) for value in values]


def parsed(files: Mapping[str, bytes], options: Mapping[str, bool]) -> list[dict[str, Any]]:
    """The graphs in the files, one by one: a plain reading of the format's description."""
    try:
        graph_of = [row[0] for row in _whole(_table(files["graph_indicator"]), 1)]
        edges = _whole(_table(files["A"]), 2)
        classes = _ranks([row[0] for row in _whole(_table(files["graph_labels"]), 1)])
        labels = None
        if "node_labels" in files:
            labels = _ranks([row[0] for row in _whole(_table(files["node_labels"]), 1)])
        rows: list[list[float]] = [[] for _ in graph_of]
        if options["node_attributes"]:
            rows = [list(row) for row in _table(files["node_attributes"])]
        edge_labels = [0] * len(edges)
        if options["edge_labels"]:
            edge_labels = _ranks([row[0] for row in _whole(_table(files["edge_labels"]), 1)])
    except (KeyError, OverflowError, ValueError) as error:
        raise UnreadableError(str(error)) from error
    proper = {(a, b) for a, b in edges if a != b}
    if labels is None and not options["node_attributes"]:
        labels = [sum(1 for a, _ in proper if a == node) for node in range(1, len(graph_of) + 1)]
    kinds = max(edge_labels, default=-1) + 1
    graphs = []
    for graph in range(1, len(classes) + 1):
        nodes = [node for node in range(1, len(graph_of) + 1) if graph_of[node - 1] == graph]
        own = sorted(edge for edge in proper if edge[0] in nodes)
        found = {
            edge: [
                float(any(edges[i] == edge and edge_labels[i] == kind for i in range(len(edges))))
                for kind in range(kinds)
            ]
            for edge in own
        }
        graphs.append(
            {
                "labels": None if labels is None else [labels[node - 1] for node in nodes],
                "attributes": [rows[node - 1] for node in nodes],
                "edges": [(nodes.index(a), nodes.index(b)) for a, b in own],
                "edge_attr": [found[edge] for edge in own] if options["edge_labels"] else None,
                "y": classes[graph - 1],
            }
        )
    return graphs


def _check(packed: PackedGraphs, files: Mapping[str, bytes], options: Mapping[str, bool]) -> None:
    graphs = parsed(files, options)
    assert len(packed) == len(graphs)
    assert sum(len(graph["attributes"]) for graph in graphs) == packed.x.shape[0]
    one_hot = max((label for graph in graphs for label in graph["labels"] or []), default=-1) + 1
    for back, graph in zip(packed.to_data_list(), graphs, strict=True):
        assert back.y.tolist() == [graph["y"]]
        assert list(zip(*back.edge_index.tolist(), strict=True)) == graph["edges"]
        for node, row in enumerate(back.x.tolist()):
            expected = list(graph["attributes"][node])
            if graph["labels"] is not None:
                expected += [float(graph["labels"][node] == column) for column in range(one_hot)]
            assert row == pytest.approx(expected, rel=1e-6)
        if graph["edge_attr"] is not None:
            assert back.edge_attr.tolist() == graph["edge_attr"]


def _must_be_read(files: Mapping[str, bytes], options: Mapping[str, bool]) -> bool:
    """Plain numbers in every line, and files that agree: nothing to refuse."""
    for content in files.values():
        lines = content.decode("latin-1").encode("latin-1").split(b"\n")
        words = [word.strip(b" ") for line in lines if line for word in line.split(b",")]
        if not all(PLAIN_NUMBER.fullmatch(word) for word in words):
            return False
    try:
        graph_of = [row[0] for row in _whole(_table(files["graph_indicator"]), 1)]
        edges = _whole(_table(files["A"]), 2)
        classes = _whole(_table(files["graph_labels"]), 1)
        rows = [(part, _table(files[part])) for part in files if part.startswith(("node", "edge"))]
        labels = [_whole(table, 1) for part, table in rows if part.endswith("labels")]
    except (KeyError, UnreadableError):
        return False
    nodes = len(graph_of)
    sizes = {"node_labels": nodes, "node_attributes": nodes, "edge_labels": len(edges)}
    return (
        bool(labels or graph_of)
        and graph_of == sorted(graph_of)
        and graph_of[:1] > [0]
        and graph_of[-1:] == [len(classes)]
        and all(1 <= node <= nodes for edge in edges for node in edge)
        and all(graph_of[a - 1] == graph_of[b - 1] for a, b in edges)
        and all(len(table) == sizes[part] for part, table in rows)
        and all(len({len(row) for row in table}) <= 1 for _, table in rows)
        and all(part in files for part, wanted in options.items() if wanted)
        and (not options["edge_labels"] or bool(edges))
    )


@budget("load_tu")
@given(
    folders(),
    st.fixed_dictionaries({"edge_labels": st.booleans(), "node_attributes": st.booleans()}),
)
def test_load_tu(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], options: dict[str, bool]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "tu" / NAME
    folder.mkdir(parents=True, exist_ok=True)
    for part in FILES:
        path: Path = folder / f"{NAME}_{part}.txt"
        if part in files:
            path.write_bytes(files[part])
        else:
            path.unlink(missing_ok=True)
    accepted = []

    def check(packed: PackedGraphs) -> None:
        accepted.append(packed)
        _check(packed, files, options)

    given_files = (files, options)
    judge(
        "load_tu",
        given_files,
        lambda: load_tu(NAME, folder.parent, download=False, **options),
        check,
    )
    if _must_be_read(files, options):
        assert accepted, f"nothing is wrong with {given_files}"
