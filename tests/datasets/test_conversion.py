"""Conversions: the same graphs as reading all at once, continued after any interruption."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.datasets.conversion_examples import (
    molecules,
    random_lines,
    read_at_once,
    rows_of,
)
from tests.graphs.test_storage import FIELDS

from clipgnn import PackedGraphs
from clipgnn.datasets.conversion import convert as conversion
from clipgnn.datasets.conversion import inputs, shards
from clipgnn.datasets.conversion.convert import convert
from clipgnn.datasets.conversion.options import Converted, ConvertOptions, RejectedGraphError
from clipgnn.datasets.conversion.parsing import parse_chunk
from clipgnn.datasets.conversion.pool import workers
from clipgnn.errors import ClipGNNError, DatasetFileError, InvalidGraphError, WorkerError
from clipgnn.graphs.storage.stored import RECORD, UNFINISHED, is_stored
from clipgnn.parameters.targets import Task

PLAIN = ConvertOptions()


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Chunks of four graphs, and shards of two chunks."""
    with pytest.MonkeyPatch.context() as patch:  # also for tests of Hypothesis
        patch.setattr(inputs, "CHUNK_GRAPHS", 4)
        patch.setattr(conversion, "CHUNK_GRAPHS", 4)
        patch.setattr(shards, "SHARD_GRAPHS", 8)
        yield


def same(one: PackedGraphs, other: PackedGraphs) -> bool:
    """Whether all fields of two data sets are equal."""
    pairs = [(getattr(one, name), getattr(other, name)) for name in FIELDS]
    return one.encoding == other.encoding and all(
        a is b is None
        or (a is not None and b is not None and a.dtype == b.dtype and a.shape == b.shape
            and bool(((a == b) | ((a != a) & (b != b))).all()))
        for a, b in pairs
    )  # fmt: skip


def check(path: Path, folder: Path, options: ConvertOptions = PLAIN) -> Converted:
    """Convert a file, and compare it with reading all graphs at once."""
    expected, rows, rejected, classes = read_at_once(str(path), options)
    converted = convert(str(path), folder, options)
    stored = PackedGraphs.open(folder)
    stored.check()
    assert stored.fingerprint == converted.stored.fingerprint
    assert same(stored.load(), expected)
    assert rows_of(stored) == rows
    assert list(converted.rejected) == rejected
    assert converted.given == len(rows) + len(rejected)
    if stored.target_names is not None:
        assert stored.target_names.classes == (None if classes is None else tuple(classes))
    assert not (folder / UNFINISHED).exists()
    assert len((folder / "rejected.csv").read_text().splitlines()) == len(rejected) + 1
    return converted


@pytest.mark.needs("rdkit")
@pytest.mark.parametrize(
    "options",
    [
        ConvertOptions(),
        ConvertOptions(task=Task.classification),
        ConvertOptions(targets=["target"], attributes={"nodes": ["element"], "edges": []}),
        ConvertOptions(targets=[]),
        ConvertOptions(workers=2),
    ],
)
def test_molecules(options: ConvertOptions, tmp_path: Path) -> None:
    path = molecules(tmp_path / "molecules.csv")
    converted = check(path, tmp_path / "set", options)
    assert len(converted.stored.records) >= 2
    assert (tmp_path / "set" / "rejected.csv").read_text().startswith("row,place,problem\n")


@pytest.mark.needs("rdkit")
@pytest.mark.parametrize(
    ("target", "task", "classes"),
    [
        (["10", "9", "2"], Task.classification, (2, 9, 10)),
        (["b", "a", "10", "NA"], Task.classification, ("10", "a", "b")),
        ([str(own / 2) for own in range(15)], Task.regression, None),
        ([str(own) for own in range(23)], Task.regression, None),
    ],
)
def test_the_task_is_decided_for_all_chunks(
    target: list[str], task: Task, classes: tuple[int | str, ...] | None, tmp_path: Path
) -> None:
    path = molecules(tmp_path / "molecules.csv", 40, target)
    converted = check(path, tmp_path / "set")
    assert converted.task is task
    assert converted.stored.target_names is not None
    assert converted.stored.target_names.classes == classes


@pytest.mark.needs("rdkit")
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([*map(str, range(30)), "x"], "most values of 'target' in .* are numbers"),
        ([f"t{own}" for own in range(40)], "occur only once"),
        ([*map(str, range(19)), *[f"t{own}" for own in range(21)]], "occur only once"),
    ],
)
def test_an_undecided_task(target: list[str], message: str, tmp_path: Path) -> None:
    path = molecules(tmp_path / "molecules.csv", 40, target)
    for read in (read_at_once, lambda data, own: convert(data, tmp_path / "set", own)):
        with pytest.raises(ClipGNNError, match=message):
            read(str(path), PLAIN)


@pytest.mark.needs("rdkit")
def test_several_targets(tmp_path: Path) -> None:
    rows = ["smiles,a,b", *(f"{'C' * (n + 1)},{n},{'' if n % 3 else n}" for n in range(11)), "N,,"]
    path = tmp_path / "molecules.csv"
    path.write_text("\n".join(rows))
    converted = check(path, tmp_path / "set", ConvertOptions(targets=["b", "a"]))
    assert [own.place for own in converted.rejected] == ["line 13"]


@pytest.mark.needs("rdkit")
def test_smi_files_have_no_targets(tmp_path: Path) -> None:
    path = tmp_path / "molecules.smi"
    path.write_text("smiles\nCCO ethanol\nC1\n\nCC ethane\n" * 2)
    converted = convert(str(path), tmp_path / "set")
    assert (len(converted.stored), converted.stored.has_targets) == (4, False)
    assert [own.place for own in converted.rejected] == ["line 3", "line 6", "line 8"]


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_random_lines(tmp_path_factory: pytest.TempPathFactory, seed: int, chance: float) -> None:
    folder = tmp_path_factory.mktemp("lines")
    path = random_lines(folder / "graphs.jsonl", seed, chance=chance)
    try:
        read_at_once(str(path), PLAIN)
    except ClipGNNError as error:
        with pytest.raises(type(error)):
            convert(str(path), folder / "set")
        return
    try:
        check(path, folder / "set")
    except InvalidGraphError:  # attributes that cannot be categories, see the next test
        assert chance


def test_graphs_that_do_not_fit_are_rejected(tmp_path: Path) -> None:
    graphs = [nx.path_graph(3) for _ in range(30)]
    for number, graph in enumerate(graphs):
        for node in graph:
            graph.nodes[node]["a"] = 0.5 + node + number
    del graphs[17].nodes[1]["a"]
    path = tmp_path / "graphs.jsonl"
    lines = [json.dumps(nx.node_link_data(own, edges="edges") | {"y": 1}) for own in graphs]
    path.write_text("\n".join(lines))
    converted = check(path, tmp_path / "set")
    assert [own.row for own in converted.rejected] == [17]
    assert "Got None in graph 0, node 1" in converted.rejected[0].problem


def test_too_many_graphs_that_do_not_fit(tmp_path: Path) -> None:
    graphs = [nx.path_graph(3) for _ in range(20)]
    for number, graph in enumerate(graphs):
        for node in graph if number % 3 else ():
            graph.nodes[node]["a"] = 0.5 + node
    path = tmp_path / "graphs.jsonl"
    path.write_text("\n".join(json.dumps(nx.node_link_data(own, edges="edges")) for own in graphs))
    with pytest.raises(InvalidGraphError, match=r"'a' of the nodes must be a finite number"):
        convert(str(path), tmp_path / "set", ConvertOptions(targets=[]))


def test_graph6_with_labels(tmp_path: Path) -> None:
    path = tmp_path / "graphs.g6"
    path.write_bytes(b"".join(nx.to_graph6_bytes(nx.path_graph(n)) for n in range(2, 12)))
    labels = tmp_path / "labels.csv"
    labels.write_text("kind\n" + "\n".join("ab"[n % 2] for n in range(10)) + "\n")
    check(path, tmp_path / "set", ConvertOptions(labels=labels))
    for rows in (9, 11):
        labels.write_text("kind\n" + "x\n" * rows)
        with pytest.raises(DatasetFileError, match=r"a row for each of the 10 graphs"):
            convert(str(path), tmp_path / str(rows), ConvertOptions(labels=labels))


def test_a_folder_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    for number in range(9):
        graph = nx.cycle_graph(number + 3, create_using=nx.Graph)
        graph.graph["label"] = number % 2
        nx.write_graphml(graph, folder / f"{number}.graphml")
    (folder / "bad.graphml").write_text("<")
    check(folder, tmp_path / "set")


def test_data_sets_by_name(tmp_path: Path) -> None:
    converted = convert("csl", tmp_path / "set")
    expected = read_at_once("csl", PLAIN)[0]
    assert same(converted.stored.load(), expected)
    assert converted.stored.target_names is not None
    assert converted.stored.target_names.classes == tuple(range(10))
    assert convert("csl", tmp_path / "set").before
    again = convert(str(tmp_path / "set"), tmp_path / "copy")
    assert same(again.stored.load(), expected)
    assert not convert("csl", tmp_path / "other", ConvertOptions(targets=[])).stored.has_targets


@pytest.mark.needs("rdkit")
@pytest.mark.parametrize("finished", range(7))
def test_an_interrupted_conversion_is_continued(
    finished: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = molecules(tmp_path / "molecules.csv")
    whole = convert(str(path), tmp_path / "whole").stored
    parsed: list[str] = []

    def interrupted(task: Any) -> int:
        if len(parsed) == finished:
            raise KeyboardInterrupt
        parsed.append(task.path.name)
        return parse_chunk(task)

    monkeypatch.setattr(conversion, "parse_chunk", interrupted)
    if finished < 6:
        with pytest.raises(KeyboardInterrupt):
            convert(str(path), tmp_path / "set")
    assert not is_stored(tmp_path / "set")
    finished = 100
    assert convert(str(path), tmp_path / "set").stored.fingerprint == whole.fingerprint
    assert len(parsed) == len(set(parsed)) == 6


@pytest.mark.needs("rdkit")
@pytest.mark.parametrize("function", ["write_chunks", "finish", "record_shards"])
def test_an_interruption_while_shards_are_written(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clipgnn.datasets.conversion import all_chunks

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    path = molecules(tmp_path / "molecules.csv")
    whole = convert(str(path), tmp_path / "whole").stored
    monkeypatch.setattr(all_chunks, function, interrupted)
    with pytest.raises(KeyboardInterrupt):
        convert(str(path), tmp_path / "set")
    monkeypatch.undo()
    assert not is_stored(tmp_path / "set")
    (tmp_path / "set" / f".shard-000000.safetensors.{'0a' * 8}").write_bytes(b"half")
    converted = convert(str(path), tmp_path / "set")
    assert not any(own.name.startswith(".") for own in (tmp_path / "set").iterdir())
    assert converted.stored.fingerprint == whole.fingerprint
    assert len(converted.rejected) > 0
    again = convert(str(path), tmp_path / "set")
    assert (again.before, again.given, again.task) == (True, 23, Task.regression)
    assert again.rejected == converted.rejected
    with pytest.raises(RejectedGraphError, match="line 6"):
        convert(str(path), tmp_path / "set", ConvertOptions(strict=True))


@pytest.mark.needs("rdkit")
def test_another_input_or_other_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    path = molecules(tmp_path / "molecules.csv")
    monkeypatch.setattr(conversion, "store_chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        convert(str(path), tmp_path / "set")
    monkeypatch.undo()
    other = molecules(tmp_path / "other.csv", 24)
    begun = "was begun as another conversion: its"
    for state in (begun, "has the graphs of another conversion: its"):
        changed = state.replace("its", "the content of its input has changed")
        with pytest.raises(ClipGNNError, match=changed):
            convert(str(other), tmp_path / "set")
        with pytest.raises(ClipGNNError, match=f"{state} task must be 'auto'. Got 'regression'"):
            convert(str(path), tmp_path / "set", ConvertOptions(task=Task.regression))
        if state == begun:
            record = tmp_path / "set" / UNFINISHED / RECORD
            content = record.read_text()
            record.write_text(content.replace('"clipgnn":', '"other":'))
            with pytest.raises(ClipGNNError, match="versions"):
                convert(str(path), tmp_path / "set")
            record.write_text("{")
            with pytest.raises(DatasetFileError, match=r"conversion.json must describe"):
                convert(str(path), tmp_path / "set")
            record.write_text(content)
        assert convert(str(path), tmp_path / "set", ConvertOptions(workers=3)).given == 23


@pytest.mark.needs("rdkit")
def test_a_damaged_chunk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    path = molecules(tmp_path / "molecules.csv")
    monkeypatch.setattr(conversion, "store_chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        convert(str(path), tmp_path / "set")
    monkeypatch.undo()
    chunk = tmp_path / "set" / UNFINISHED / "chunk-000002.safetensors"
    chunk.write_bytes(chunk.read_bytes()[:-8])
    with pytest.raises(DatasetFileError, match=r"chunk-000002.*damaged.*Remove it"):
        convert(str(path), tmp_path / "set")
    chunk.unlink()
    assert convert(str(path), tmp_path / "set").given == 23


def die(number: int) -> int:
    """End the process as the kernel does when memory is full."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_killed_worker() -> None:
    with pytest.raises(WorkerError, match="One was killed"), workers(2) as run:
        list(run(die, range(6)))


def test_results_are_in_the_order_of_tasks() -> None:
    with workers(2) as run:
        assert list(run(abs, range(-20, 0))) == list(range(20, 0, -1))


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DatasetFileError, match="must be a file or a folder"):
        convert(str(tmp_path / "pipe.csv"), tmp_path / "set")


def test_strict(tmp_path: Path) -> None:
    path = random_lines(tmp_path / "graphs.jsonl", 0, chance=0)
    path.write_text(path.read_text() + "{\n")
    with pytest.raises(DatasetFileError, match="line 10: The line must be valid JSON"):
        convert(str(path), tmp_path / "set", replace(PLAIN, strict=True))
    assert len(convert(str(path), tmp_path / "set").rejected) == 2
