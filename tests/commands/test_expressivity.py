"""`clipgnn expressivity`: comparisons, resumption, reports and errors."""

import sys
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from clipgnn import cli

pytestmark = pytest.mark.needs("igraph")

Command = Callable[..., tuple[int, str, str]]

TRIANGLES = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs a command in a folder of its own: status, standard output, error output."""
    monkeypatch.chdir(tmp_path)
    graphs = [nx.cycle_graph(6), TRIANGLES]
    lines = b"".join(nx.to_graph6_bytes(graph, header=False) for graph in graphs)
    Path("graphs.g6").write_bytes(lines)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["clipgnn", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return command


RUN = (
    "--models",
    "0-CLIP,CLIP canonical",
    "--executor",
    "in-process",
    "--device",
    "cpu",
    "--quiet",
)


def test_a_file_of_pairs(call: Command) -> None:
    status, out, _ = call("expressivity", "graphs.g6", *RUN, "--seeds", "0,1", "--format", "csv")
    assert status == 0
    assert "CLIP canonical" in out
    status, out, _ = call("report", "runs/expressivity.sqlite", "-o", "page.html")
    assert status == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "1 of 1" in page
    assert "0 of 1" in page
    status, out, _ = call("report", "runs/expressivity.sqlite", "--format", "markdown")
    assert "| CLIP canonical | 1 of 1 |" in out
    assert "mean of 2 seeds" in out
    assert "Pairs: 32 relabeled copies" in out


def test_finished_comparisons_are_not_repeated(call: Command) -> None:
    arguments = ("expressivity", "graphs.g6", "--different", *RUN)
    first = call(*arguments)
    Path("graphs.g6").touch()
    assert call(*arguments)[1].splitlines()[:6] == first[1].splitlines()[:6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("expressivity", "brecc"), "Did you mean 'brec'?"),
        (("expressivity", "brec", "--root", "."), "MIT license"),
        (("expressivity", "graphs.g6", "--models", "CLAP"), "--models 'CLAP' is not in"),
        (("expressivity", "graphs.g6", "--groups", "pairs"), "--groups"),
        (("experiment", "run", "table2", "--protocol", "pairs"), "--protocol must be"),
    ],
)
def test_errors(call: Command, arguments: tuple[str, ...], message: str) -> None:
    status, out, messages = call(*arguments)
    assert (status, out) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1
