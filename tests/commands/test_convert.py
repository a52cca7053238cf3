"""`clipgnn convert`: messages, exit statuses, and folders that other commands read."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from tests.datasets.conversion_examples import molecules

from clipgnn import PackedGraphs, cli
from clipgnn.estimators import load_estimator
from clipgnn.graphs.storage.stored import is_stored

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs a command in a folder of its own: status, standard output, error output."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["clipgnn", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return command


@pytest.fixture
def graph6(tmp_path: Path) -> Path:
    """A file of ten paths."""
    path = tmp_path / "paths.g6"
    path.write_bytes(b"".join(nx.to_graph6_bytes(nx.path_graph(n)) for n in range(2, 12)))
    return path


@pytest.mark.needs("rdkit")
def test_molecules(call: Command, tmp_path: Path) -> None:
    molecules(tmp_path / "m.csv", 40)
    status, out, messages = call("convert", "m.csv", "set", "--target", "target")
    lines = messages.splitlines()
    assert (status, out) == (1, "")
    assert lines[0].startswith("m.csv, line 6: ")
    assert lines[-2] == "7 more like these; 17 of 40 graphs left out."
    assert lines[-1].startswith("Converted 23 graphs of m.csv, with regression targets target, in")
    assert len(PackedGraphs.open("set")) == 23
    status, _, messages = call("convert", "m.csv", "set", "--target", "target")
    assert status == 1
    assert messages.splitlines()[:-1] == lines[:-1]
    finished = "set is finished: it has 23 graphs of m.csv, with regression targets target."
    assert messages.splitlines()[-1] == finished
    status, _, messages = call("convert", "m.csv", "set", "--target", "target", "--strict")
    assert status == 2
    assert "Leave out --strict" in messages
    shard = Path("set/shard-000000.safetensors")
    shard.write_bytes(shard.read_bytes()[:-1])
    status, _, messages = call("convert", "m.csv", "set", "--target", "target")
    assert status == 2
    assert "Remove the folder, and convert again" in messages


@pytest.mark.needs("rdkit")
def test_molecules_are_inspected(call: Command, tmp_path: Path) -> None:
    molecules(tmp_path / "m.csv", 40)
    call("convert", "m.csv", "set", "--target", "target")
    status, out, _ = call("inspect", "set")
    assert status == 0
    assert "m.csv (stored)" in out
    assert "numbers in target" in out


def test_named_attributes_are_evaluated(call: Command, tmp_path: Path) -> None:
    graphs = [nx.path_graph(own) for own in range(3, 15)]
    for number, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {node: "ab"[node % 2] for node in graph}, "letter")
        graph.graph["kind"] = number % 2
    lines = [json.dumps(nx.node_link_data(graph)) for graph in graphs]
    (tmp_path / "g.jsonl").write_text("\n".join(lines) + "\n")
    assert call("convert", "g.jsonl", "set", "--target", "kind")[0] == 0
    fast = ("--epochs", "1", "--num-layers", "1", "--hidden-channels", "4", "--quiet")
    for data, options in (("set", ()), ("g.jsonl", ("--target", "kind"))):
        assert call("train", data, "-o", f"{data}.safetensors", *options, *fast)[0] == 0
        assert load_estimator(f"{data}.safetensors").classes_.tolist() == [0, 1]
        for given in ("set", "g.jsonl"):
            status, out, messages = call("evaluate", f"{data}.safetensors", given)
            assert status == 0, messages
            assert "accuracy" in out


def test_an_unfinished_conversion(
    call: Command, graph6: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("clipgnn.datasets.conversion.convert.store_chunks", interrupted)
    assert call("convert", "paths.g6", "set")[0] == 130
    for command in ("train", "inspect"):
        status, _, messages = call(command, "set")
        assert status == 2
        assert "set must be a finished conversion" in messages


def test_without_targets(call: Command, graph6: Path) -> None:
    status, _, messages = call("convert", "paths.g6", "set", "--no-targets", "--quiet")
    assert (status, messages) == (0, "")
    assert not PackedGraphs.open("set").has_targets
    assert call("inspect", "set")[0] == 0


def test_classes_are_read_by_other_commands(call: Command, graph6: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("kind\n" + "even\nodd\n" * 5)
    assert call("convert", "paths.g6", "set", "--labels", "labels.csv")[0] == 0
    status, out, _ = call("inspect", "set")
    assert status == 0
    assert "classes of kind" in out
    assert "even: 5, odd: 5" in out


def test_a_folder_that_is_too_large(
    call: Command, graph6: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("convert", "paths.g6", "set")[0] == 0
    monkeypatch.setattr("clipgnn.datasets.sources.MOST_BYTES", 100)
    status, _, messages = call("inspect", "set")
    assert status == 2
    assert "set must fit into memory for this command" in messages


@pytest.mark.needs("rdkit")
@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("none.csv", None, (), "There must be a file or folder 'none.csv'. It is missing."),
        ("m.csv", "", (), "m.csv must have a line of column names. It is empty."),
        ("m.csv", "smiles,y\n", (), "m.csv must have at least one graph. Got none."),
        ("m.g6", "", (), "m.g6 must have at least one graph. Got none."),
        ("m.xyz", "C", (), "--format must be given for 'm.xyz'"),
        ("m.csv", "smiles,y\nC,1\n", ("--format", "smile"), "--format must be one of"),
        ("m.csv", "smiles,y\nC1,1\nC2,2\n", (), "None of its 2 graphs can be used; line 2: SMI"),
        ("m.csv", "smiles,y\nC,\nN,\n", (), "None of its 2 graphs can be used; line 2: There m"),
        ("m.csv", "smiles,y\nC,1\n", ("--target", "z"), "must have the column 'z'. Got 'y'."),
        ("m.csv", "smiles,a,b\nC,1,2\n", (), "--target must be given. The columns of m.csv are"),
        ("m.jsonl", "{}\n", ("--target", "z"), "m.jsonl must have the column 'z'. Got none."),
        ("m.csv", "smiles,y\nC,1\n", ("--node-attributes", "z"), "Got 'z'."),
        ("m.csv", "smiles,y\nC,1\n", ("--target", "y", "--no-targets"), "Leave one out."),
        ("m.csv", "smiles,y\nC,1\nC1,2\n", ("--strict",), "Leave out --strict to skip"),
        ("m.csv", b"smiles,y\nC,1\n\xff,2\n", (), "must be a text file in UTF-8. Line 3 is not"),
        ("m.csv", 'smiles,y\nC,1\n"C,2\n', (), "m.csv must be a CSV file. Line 3 is not"),
    ],
)
def test_bad_input(
    name: str,
    content: str | bytes | None,
    options: tuple[str, ...],
    message: str,
    call: Command,
    tmp_path: Path,
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    status, out, messages = call("convert", name, "set", *options)
    assert (status, out) == (2, "")
    assert message in messages
    assert len(messages.splitlines()) == 1
    assert not is_stored("set")


def test_a_folder_with_other_content(call: Command, graph6: Path, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "thesis.tex").write_text("")
    status, _, messages = call("convert", "paths.g6", "set")
    assert status == 2
    assert "set must be a new or an empty folder. It has 'thesis.tex'." in messages
    PackedGraphs.from_networkx([nx.path_graph(3)]).save(tmp_path / "saved")
    status, _, messages = call("convert", "paths.g6", "saved")
    assert status == 2
    assert "saved must be a new folder. It has graphs of PackedGraphs.save." in messages
    status, _, messages = call("convert", "paths.g6", "paths.g6")
    assert status == 2
    assert "paths.g6 must be a folder that can be written" in messages


def test_no_space_left(
    call: Command, graph6: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("clipgnn.writing.os.fsync", full)
        status, _, messages = call("convert", "paths.g6", "set")
    assert status == 2
    assert "No space left on device. Free some space" in messages
    assert not is_stored("set")
    assert call("convert", "paths.g6", "set")[0] == 0


@pytest.mark.needs("rdkit")
@pytest.mark.parametrize("victim", ["command", "worker"])
def test_a_killed_conversion_is_continued(victim: str, call: Command, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("smiles,y\n" + "".join(f"{'C' * (n % 50 + 1)},{n}.5\n" for n in range(20_000)))
    command = [
        sys.executable,
        "-m",
        "clipgnn.cli",
        "convert",
        "m.csv",
        "set",
        "--workers",
        "2",
        "-q",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    _wait_for(lambda: any((tmp_path / "set" / "unfinished").glob("chunk-*")), process)
    killed = process.pid if victim == "command" else _worker_of(process.pid)
    os.kill(killed, signal.SIGKILL)
    _, messages = process.communicate(timeout=120)
    if victim == "worker" and process.returncode == 2:  # it may have been finished before
        assert "One was killed" in messages
        assert len(messages.splitlines()) == 1
    if process.returncode != 0:
        assert not is_stored(tmp_path / "set")
    done = {own.name for own in (tmp_path / "set").glob("unfinished/chunk-*")}
    assert done or process.returncode == 0
    assert call("convert", "m.csv", "set", "--workers", "1")[0] == 0
    stored = PackedGraphs.open(tmp_path / "set")
    stored.check()
    assert len(stored) == 20_000


def _wait_for(ready: Callable[[], bool], process: Any) -> None:
    end = time.monotonic() + 120
    while not ready() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


def _worker_of(pid: int) -> int:
    """A worker of a conversion: a grandchild, of the process that starts workers."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")")[1].split()[1])
        except OSError:
            continue
    children = [own for own, parent in parents.items() if parent == pid]
    return next(own for own, parent in parents.items() if parent in children)
