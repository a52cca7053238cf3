"""`clipgnn expressivity`: comparisons, classes of files, resumption, reports and errors."""

import csv
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from tests.datasets.gin_text_files import write_pairs

from clipgnn import cli
from clipgnn.commands.expressivity import on_sets
from clipgnn.errors import StoreError
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.experiments.store import Store

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
    Path("good.txt").write_bytes(lines)
    Path("folder.g6").mkdir()
    for name in ("pipe.g6", "pipe.txt"):
        os.mkfifo(name)
    Path("folder.toml").write_text(
        'protocol = "pairs"\ndatasets = ["pairs:folder.g6"]\n[[models]]\nmodel = "gin"\n',
        encoding="utf-8",
    )
    Path("one.txt").write_text("2\n1 0\n0 0\n1 0\n0 0\n", encoding="utf-8")
    Path("three.txt").write_text("3\n1 0\n0 0\n1 1\n0 0\n1 0\n0 0\n", encoding="utf-8")

    for name, number in (("nine", 9), ("eighteen", 18)):
        nodes = "".join(f"1 {graph % 2}\n0 0\n" for graph in range(number))
        Path(f"{name}.txt").write_text(f"{number}\n{nodes}", encoding="utf-8")

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["clipgnn", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return command


def line_of(graph: "nx.Graph[int]", seed: int) -> bytes:
    """The line of graph6 of a graph whose nodes are renumbered at random."""
    number = np.random.default_rng(seed).permutation(len(graph)).tolist()
    copy: nx.Graph[int] = nx.empty_graph(len(graph))
    copy.add_edges_from((number[source], number[target]) for source, target in graph.edges())
    return nx.to_graph6_bytes(copy, header=False)


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
    rows = {row["model"]: row for row in csv.DictReader(io.StringIO(out))}
    assert rows["CLIP canonical"]["separated_by_seed"] == "0:1 1:1"
    assert (rows["0-CLIP"]["separated_mean"], rows["0-CLIP"]["failed_max"]) == ("0.0", "1")
    again = call("expressivity", "graphs.g6", *RUN[:-1], "--seeds", "0,1", "-o", "run.html")
    assert again[:2] == (0, "")
    assert again[2].splitlines()[-1] == "Report: run.html"
    status, out, _ = call("report", "runs/expressivity.sqlite", "-o", "page.html")
    assert status == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<h3>pairs:graphs.g6</h3>" in page
    assert "Learning curves" not in page
    report = ("report", "runs/expressivity.sqlite", "--format", "markdown")
    status, out, messages = call(*report, "--figures", "figures")
    assert messages == "This report has no figures.\n"
    assert not Path("figures").exists()
    assert "| CLIP canonical | 1 | 1 | 0 | 0 | 2 |" in out
    assert "| 0-CLIP | 1 | 0 | 1 | 0 | 2 |" in out
    assert "Numbers of 2 seeds: their mean" in out
    assert "Pairs: 32 relabeled copies" in out


def test_all_files_of_a_store_are_reported(call: Command) -> None:
    models = ("--models", "0-CLIP", *RUN[2:], "--epochs", "1")
    Path("other.g6").write_bytes(Path("graphs.g6").read_bytes())
    assert call("expressivity", "graphs.g6", *models)[0] == 0
    assert call("expressivity", "other.g6", *models)[0] == 0
    report = ("report", "expressivity", "--format", "markdown")
    status, out, messages = call(*report, "--epochs", "1")
    assert status == 0
    assert "## pairs:other.g6" in out
    assert "## pairs:graphs.g6" not in out
    assert "--experiment expressivity reports the whole experiment" in messages
    whole = (*report, "--experiment", "expressivity")
    _, out, _ = call(*whole)
    assert "## pairs:other.g6" in out
    assert "## pairs:graphs.g6" in out
    status, out, _ = call(*whole, "--datasets", "pairs:graphs.g6")
    assert status == 0
    assert "## pairs:other.g6" not in out
    assert "--experiment expressivity" in call(*report, "--epochs", "7")[2]


def csv_rows(text: str) -> dict[tuple[str, str], dict[str, str]]:
    return {(row["model"], row["dataset"]): row for row in csv.DictReader(io.StringIO(text))}


def test_the_commands_of_a_store_are_reported_together(call: Command) -> None:
    """Rows, sets and seeds are those that commands asked for, with their own values."""
    Path("other.g6").write_bytes(Path("graphs.g6").read_bytes())

    def run(file: str, models: str, *others: str) -> None:
        given = ("--models", models, *RUN[2:])
        assert call("expressivity", file, *given, *others)[0] == 0

    run("graphs.g6", "CLIP canonical", "--seeds", "0,1", "--epochs", "2")
    run("graphs.g6", "0-CLIP,GIN", "--epochs", "1")
    run("other.g6", "0-CLIP", "--epochs", "2")
    run("graphs.g6", "GIN", "--epochs", "2")
    report = ("report", "expressivity", "--experiment", "expressivity")
    status, text, _ = call(*report, "--format", "csv")
    assert status == 0
    rows = csv_rows(text)
    graphs = "pairs:graphs.g6"
    assert list(rows) == [
        ("GIN", graphs),
        ("0-CLIP", graphs),
        ("CLIP canonical", graphs),
        ("0-CLIP", "pairs:other.g6"),
    ]
    assert {row["complete"] for row in rows.values()} == {"True"}
    assert rows["CLIP canonical", graphs]["seeds_expected"] == "2"
    assert rows["GIN", graphs]["seeds_expected"] == "1"
    assert "epochs 2" in rows["GIN", graphs]["chosen"], "of the latest run"
    assert "epochs 1" in rows["0-CLIP", graphs]["chosen"]
    _, text, _ = call(*report, "--format", "markdown")
    assert "INCOMPLETE" not in text
    assert "Not in this table" not in text
    assert "Trials: 5 of 5 finished" in text
    assert "Numbers of up to 2 seeds" in text
    for part, number in (
        (("--datasets", graphs, "--models", "GIN,CLIP canonical"), 2),
        (("--epochs", "1"), 2),
        (("--seeds", "1"), 1),
    ):
        assert len(csv_rows(call(*report, "--format", "csv", *part)[1])) == number
    message = "Nothing of expressivity is left"
    assert message in call(*report, "--datasets", "pairs:other.g6", "--models", "GIN")[2]


def test_rows_are_not_called_inapplicable_where_nobody_asked_for_them(call: Command) -> None:
    first = ("expressivity", "csl", "atlas-6", "--models", "CLIP orbits")
    assert call(*first, *RUN[2:], "--epochs", "1")[0] == 0
    second = ("expressivity", "graphs.g6", "--models", "0-CLIP")
    assert call(*second, *RUN[2:], "--epochs", "1")[0] == 0
    report = ("report", "expressivity", "--experiment", "expressivity", "--format", "csv")
    reason = csv_rows(call(*report)[1])["CLIP orbits", "pairs:graphs.g6"]["not_applicable"]
    assert reason.startswith("Not asked for on pairs:graphs.g6. Others: Graphs have more than")


def test_finished_comparisons_are_not_repeated(call: Command) -> None:
    arguments = ("expressivity", "graphs.g6", "--lines", "different", *RUN)
    first = call(*arguments)
    Path("graphs.g6").touch()
    assert call(*arguments)[1].splitlines()[:6] == first[1].splitlines()[:6]


def test_a_file_of_copies(call: Command) -> None:
    pair = [nx.cycle_graph(6), TRIANGLES]
    copies = b"".join(line_of(own, seed) for seed, own in enumerate(pair * 32))
    assert len(set(copies.splitlines())) > 20
    Path("copies.g6").write_bytes(copies)
    arguments = ("expressivity", "copies.g6", "--lines", "copies", *RUN, "--epochs", "2")
    status, out, _ = call(*arguments, "--format", "csv")
    assert status == 0
    rows = {row["model"]: row for row in csv.DictReader(io.StringIO(out))}
    assert (rows["CLIP canonical"]["pairs"], rows["CLIP canonical"]["separated_mean"]) == (
        "1",
        "1.0",
    )
    assert rows["0-CLIP"]["separated_mean"] == "0.0"
    with Path("copies.g6").open("ab") as file:
        file.write(b"".join(line_of(nx.path_graph(6), seed) for seed in range(64)))
    status, out, messages = call(*arguments)
    assert (status, out) == (2, "")
    assert "lines 65 and 66 of copies.g6 are" in messages


def test_a_run_is_resumed_in_another_folder(
    call: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of a file is part of its trials, and the file is looked for in --root too."""
    models = ("--models", "0-CLIP", *RUN[2:], "--epochs", "1")
    assert call("expressivity", "graphs.g6", *models)[0] == 0
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    again = ("experiment", "resume", "expressivity", "--store", "../runs/expressivity.sqlite")
    assert "Set --root to the folder that its path starts from" in call(*again, *RUN[2:])[2]
    status, out, _ = call(*again, "--root", str(tmp_path), *RUN[2:], "--format", "markdown")
    assert status == 0
    assert "Trials: 1 of 1 finished" in out


def test_a_file_is_found_in_the_folder_of_root(
    call: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name in the report is the path that was given."""
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    models = ("--models", "0-CLIP", *RUN[2:], "--epochs", "1", "--format", "csv")
    assert "There is no file 'graphs.g6'" in call("expressivity", "graphs.g6", *models)[2]
    status, out, _ = call("expressivity", "graphs.g6", "--root", str(tmp_path), *models)
    assert status == 0
    assert list(csv_rows(out)) == [("0-CLIP", "pairs:graphs.g6")]
    write_pairs(tmp_path / "classes.txt", 10)
    classes = ("expressivity", "classes.txt", "--root", "..", *models, "--folds", "1")
    assert list(csv_rows(call(*classes)[1])) == [("0-CLIP", "file:classes.txt")]


def test_a_file_of_graph6_with_another_ending(call: Command) -> None:
    models = ("--models", "CLIP canonical", *RUN[2:], "--epochs", "2", "--format", "csv")
    for lines in ("pairs", "different"):
        status, out, _ = call("expressivity", "good.txt", "--lines", lines, *models)
        assert status == 0
        [row] = csv_rows(out).values()
        assert (row["dataset"], row["separated_mean"]) == (f"{lines}:good.txt", "1.0")


@pytest.mark.parametrize("model", ["∞-CLIP", "CLIP orbits"])
def test_a_pair_with_too_many_colorings_is_refused_before_training(
    call: Command, model: str
) -> None:
    graphs = [nx.cycle_graph(6), TRIANGLES, nx.path_graph(9), nx.star_graph(8)]
    lines = b"".join(nx.to_graph6_bytes(graph, header=False) for graph in graphs)
    Path("large.g6").write_bytes(lines)
    status, out, messages = call("expressivity", "large.g6", "--models", f"GIN,{model}", *RUN[2:])
    assert (status, out) == (2, "")
    assert f"pairs:large.g6, {model}: In pair 2: A graph must have at most 1,024" in messages
    assert messages.count("\n") == 1
    assert not Path("runs").exists()


def test_a_file_of_classes(call: Command) -> None:
    write_pairs(Path("classes.txt"), 10)
    arguments = ("expressivity", "classes.txt", *RUN, "--folds", "1", "--epochs", "2")
    first = call(*arguments, "--format", "csv")
    assert first[0] == 0
    rows = {row["model"]: row for row in csv.DictReader(io.StringIO(first[1]))}
    assert rows["0-CLIP"]["mean"] == "0.5"  # exactly, because the graphs of a pair look the same
    assert {row["protocol"] for row in rows.values()} == {"last"}
    assert call(*arguments, "--format", "markdown", "-o", "again.md")[0] == 0  # no new trial
    again = Path("again.md").read_text(encoding="utf-8")
    assert "pairs kept in one fold" in again
    assert "Trials: 2 of 2 finished" in again
    assert call("report", "exp", "-o", "page.html")[0] == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "file:classes.txt" in page
    assert "<h1>Files of graphs with classes</h1>" in page


def test_all_rows_learn_a_file_of_classes(call: Command) -> None:
    """They are those for pairs, except for schemes that need all colorings of a graph."""
    write_pairs(Path("classes.txt"), 10)
    arguments = ("expressivity", "classes.txt", *RUN[2:], "--folds", "1", "--epochs", "2")
    status, out, messages = call(*arguments, "--format", "csv")
    assert (status, messages) == (0, "")
    names = [row.name for row in read_experiment(find_experiment("expressivity")).rows]
    rows = csv_rows(out)
    assert [model for model, _ in rows] == [
        name for name in names if name not in ("CLIP orbits", "∞-CLIP")
    ]
    assert all(row["mean"] for row in rows.values())


def test_a_failed_run_does_not_hide_earlier_ones(
    call: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in ("classes.txt", "others.txt"):
        write_pairs(Path(file), 10)
    models = ("--models", "0-CLIP", *RUN[2:], "--folds", "1", "--epochs", "2")
    assert call("expressivity", "classes.txt", *models)[0] == 0

    def fail(*_: object, **__: object) -> None:
        raise ValueError

    monkeypatch.setattr("clipgnn.experiments.work.run_trials", fail)
    assert call("expressivity", "others.txt", *models, "--groups", "none")[0] == 1
    assert "--experiment exp reports all of its runs" in call("report", "exp")[2]
    report = ("report", "exp", "--experiment", "exp", "--format", "csv")
    assert set(csv_rows(call(*report)[1])) == {("0-CLIP", "file:classes.txt")}
    assert call("expressivity", "others.txt", *models)[0] == 1
    status, text, _ = call(*report[:-1], "markdown")
    assert status == 0
    assert "Missing: 1 of 2 trials asked for, 1 of them failed." in text
    status, text, _ = call(*report, "--datasets", "file:classes.txt")
    assert set(csv_rows(text)) == {("0-CLIP", "file:classes.txt")}


def test_a_diverged_training_is_reported_and_not_repeated(call: Command) -> None:
    Path("own.toml").write_text(
        'protocol = "pairs"\ndatasets = ["pairs:graphs.g6"]\n'
        '[[models]]\nmodel = "gin"\nlearning_rate = 1e30\n',
        encoding="utf-8",
    )
    run = ("experiment", "run", "own.toml", *RUN[2:], "--epochs", "2", "--format", "markdown")
    status, out, messages = call(*run)
    assert status == 0
    assert "| gin | – | – | – | – | diverged |" in out
    assert "seed 0 diverged in pair 1, learning rate 1e+30" in out
    assert "INCOMPLETE" not in out
    assert "1 of 1 trials diverged" in messages
    assert call("experiment", "status", "own")[1].count("diverged in pair 1") == 1
    [row] = csv_rows(call("report", "own", "--format", "csv")[1]).values()
    assert "seed 0 diverged in pair 1" in row["diverged"]
    with Store("runs/own.sqlite") as store:
        assert [own.attempts for own in store.diverged().values()] == [1]
    assert call(*run)[1] == out
    with Store("runs/own.sqlite") as store:
        assert [own.attempts for own in store.diverged().values()] == [1]
    call(*run, "--retry-failed")
    with Store("runs/own.sqlite") as store:
        assert [own.attempts for own in store.diverged().values()] == [2]


def test_rows_that_are_not_applicable(call: Command) -> None:
    """They are explained for sets, left out for files, and run on a file if they are named."""

    def rows(*given: str) -> dict[tuple[str, str], dict[str, str]]:
        arguments = (*given, "--epochs", "1", *RUN[2:], "--format", "csv")
        status, out, _ = call("expressivity", *arguments)
        assert status == 0
        return {(row["model"], row["dataset"]): row for row in csv.DictReader(io.StringIO(out))}

    models = ("--models", "∞-CLIP,CLIP orbits")
    of_sets = rows("csl", "atlas-6", *models)
    assert "1,024 classes" in of_sets["CLIP orbits", "csl-pairs"]["not_applicable"]
    assert {own["separated_mean"] for own in of_sets.values()} == {"", "4.0"}
    of_file = rows("graphs.g6", *models)
    assert {own["separated_mean"] for own in of_file.values()} == {"1.0"}
    others = {model for model, _ in rows("graphs.g6")}
    assert {"GIN", "DGCNN", "DCNN", "PATCHY-SAN", "64-CLIP"} < others
    assert not {"∞-CLIP", "CLIP orbits", "Ring-GNN"} & others
    whole = read_experiment(find_experiment("expressivity"))
    both = on_sets(whole, ("pairs:graphs.g6", "atlas-6-pairs"), ())
    [own] = [row for row in both.rows if row.name == "∞-CLIP"]
    assert own.datasets == ("atlas-6-pairs",)
    assert own.not_applicable.startswith("Not run on files unless --models names it.")


@pytest.mark.slow
def test_ten_folds_of_a_file_of_classes(call: Command) -> None:
    write_pairs(Path("classes.txt"), 60)
    arguments = ("--models", "GIN,0-CLIP,CLIP canonical", *RUN[2:], "--epochs", "20")
    status, out, _ = call("expressivity", "classes.txt", *arguments, "--format", "csv")
    assert status == 0
    means = {row["model"]: float(row["mean"]) for row in csv.DictReader(io.StringIO(out))}
    assert means["GIN"] == means["0-CLIP"] == 0.5
    # 0.94 to 0.98 for three seeds: the last epoch fluctuates at a constant learning rate.
    assert means["CLIP canonical"] > 0.8


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("CLIP canonical", '"canonical" and "orbits" require igraph'),
        ("PATCHY-SAN", "PATCHY-SAN requires igraph"),
    ],
)
def test_igraph_is_missing(
    call: Command, monkeypatch: pytest.MonkeyPatch, model: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    monkeypatch.setattr("clipgnn.coloring.labeling._caches", {})
    status, out, messages = call("expressivity", "csl", "--models", model)
    assert (status, out) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("expressivity", "brecc"), "Did you mean 'brec'?"),
        (("expressivity", "brec", "--root", "."), "MIT license"),
        (("expressivity", "none.g6"), "There is no file 'none.g6'"),
        (("expressivity", "graphs.g6", "none.csv"), "There is no file 'none.csv'"),
        (("expressivity", "graphs.g6", "none/graphs"), "There is no file 'none/graphs'"),
        (("compare", "none.gml", "graphs.g6#1"), "must be a file or folder 'none.gml'"),
        (("expressivity", "csl", "--datasets", "csl"), "Did you mean 'csl-pairs'?"),
        (("expressivity", "graphs.g6", "--models", "CLAP"), "--models 'CLAP' is not in"),
        (
            ("expressivity", "csl", "--models", "∞-CLIP"),
            "chosen values. ∞-CLIP: Graphs have more than 1,024 colorings",
        ),
        (("expressivity", "graphs.g6", "--groups", "pairs"), "--groups"),
        (("expressivity", "graphs.g6", "one.txt"), "Use two commands"),
        (("expressivity", "one.txt", "--lines", "different"), "one.txt, line 1: A graph in graph6"),
        (("expressivity", "good.txt"), "'good.txt' has graph6. Use --lines pairs"),
        (("expressivity", "folder.g6"), "'folder.g6' is a folder without graphs"),
        (("expressivity", "folder.g6", "--lines", "pairs"), "'folder.g6' is a folder"),
        (("expressivity", "pipe.g6"), "'pipe.g6' is a pipe or a device"),
        (("expressivity", "pipe.txt"), "'pipe.txt' is a pipe or a device"),
        (("expressivity", "none.g6", "--root", "folder.g6"), "not in 'folder.g6', the folder of"),
        (("experiment", "run", "folder.toml"), "folder.g6 is a folder. Use a file of graph6"),
        (("expressivity", "csl", "--lines", "pairs"), "--lines must be given for a file"),
        (("expressivity", "graphs.g6", "--lines", "copy"), "Did you mean 'copies'?"),
        (("expressivity", "graphs.g6", "--lines", "copies"), "64 graphs for each pair"),
        (("expressivity", "one.txt"), "at least two classes. Got one class, 0"),
        (("expressivity", "three.txt"), '--groups must not be "pairs" for three.txt'),
        (("expressivity", "three.txt", "--groups", "isomorphic", "--folds", "20"), "--folds must"),
        (("expressivity", "nine.txt", "--groups", "none"), "nine.txt with 9 graphs: folds must be"),
        (("expressivity", "eighteen.txt"), "eighteen.txt with 18 graphs: A class must have"),
        (("expressivity", "eighteen.txt"), "of a class. Use more graphs, or an experiment file"),
        (("experiment", "run", "table2", "--protocol", "pairs"), "--protocol must be"),
    ],
)
def test_errors(call: Command, arguments: tuple[str, ...], message: str) -> None:
    status, out, messages = call(*arguments)
    assert (status, out) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1


def num_results(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with Store(path) as store:
            return len(store.finished())
    except StoreError:  # it is being created
        return 0


def test_an_interrupted_run_is_continued(call: Command) -> None:
    """Seeds that are finished when a process gets Ctrl-C are not trained again."""
    arguments = ["expressivity", "graphs.g6", "--models", "0-CLIP", *RUN[2:]]
    arguments += ["--seeds", ",".join(map(str, range(20))), "--format", "csv"]
    store = Path("runs/expressivity.sqlite")
    process = subprocess.Popen(
        [sys.executable, "-m", "clipgnn.cli", *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A process in the background ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        end = time.monotonic() + 60
        while num_results(store) < 2:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert errors == f"Interrupted. Finished results are in {store}; the same command continues.\n"
    with Store(store) as opened:
        before = {key: own.finished for key, own in opened.results().items()}
    assert 2 <= len(before) < 20
    status, text, _ = call(*arguments)
    assert status == 0
    [row] = csv_rows(text).values()
    assert (row["complete"], row["seeds_finished"]) == ("True", "20")
    with Store(store) as opened:
        after = {key: own.finished for key, own in opened.results().items()}
    assert {key: after[key] for key in before} == before


def test_the_usage_names_sets(call: Command) -> None:
    assert "clipgnn expressivity [OPTIONS] [SET]..." in call("expressivity", "--help")[1]
