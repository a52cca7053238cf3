"""train, predict, evaluate, cv, inspect and draw: from files of graphs to files of results."""

import csv
import io
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from tests.estimators.examples import rings_and_chains

from clipgnn import CLIPClassifier, CLIPEmbedding, CLIPRegressor, cli
from clipgnn.commands.learning import LearningOptions

GRAPHS, CLASSES = rings_and_chains(24)
FAST = (
    *("--epochs", "10", "--num-layers", "1", "--hidden-channels", "8", "--num-colorings", "2"),
    *("--batch-size", "8", "--learning-rate", "0.02", "--device", "cpu"),
)
LEARNED = (*FAST, "--epochs", "30")
"""Enough epochs for predictions that are right."""

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs a command in a folder of its own: status, standard output, error output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("CLIPGNN_DATA", str(tmp_path / "data"))

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["clipgnn", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return command


def lines_of(graphs: list[Any], **columns: list[Any]) -> str:
    """JSON lines of graphs with columns."""
    return "".join(
        json.dumps(
            nx.node_link_data(graph, edges="edges")
            | {name: values[number] for name, values in columns.items() if values[number] != ""}
        )
        + "\n"
        for number, graph in enumerate(graphs)
    )


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def rings(tmp_path: Path) -> Path:
    """A file of rings and chains."""
    path = tmp_path / "rings.jsonl"
    path.write_text(lines_of(GRAPHS, kind=CLASSES), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of rings and chains."""
    path = tmp_path_factory.mktemp("trained") / "rings.safetensors"
    fitted = CLIPClassifier(
        epochs=30,
        num_layers=1,
        hidden_channels=8,
        num_colorings=2,
        batch_size=8,
        learning_rate=0.02,
        random_state=0,
    ).fit(GRAPHS, CLASSES)
    fitted.target_names_ = ["kind"]
    fitted.save(path)
    return path


@pytest.fixture
def model(tmp_path: Path, trained: Path) -> Path:
    """A copy of the model, which a test may change."""
    return Path(shutil.copy(trained, tmp_path))


def test_from_training_to_predictions(call: Command, rings: Path) -> None:
    status, out, messages = call("train", str(rings), "-o", "m.safetensors", *LEARNED)
    assert (status, out) == (0, "")
    assert "Trained on 24 graphs (classification of kind, 2 colorings of each graph)" in messages
    assert "epoch 30 of 30" in messages
    fitted = CLIPClassifier.load("m.safetensors")
    assert fitted.classes_.tolist() == ["chain", "ring"]
    assert fitted.target_names_ == ["kind"]

    status, out, _ = call("predict", "m.safetensors", str(rings), "--spread", "--n-draws", "3")
    assert status == 0
    rows = rows_of(out)
    assert list(rows[0]) == [
        *("graph", "kind", "predicted_kind", "probability_chain", "probability_ring"),
        *("spread_chain", "spread_ring", "problem"),
    ]
    assert [row["graph"] for row in rows] == [f"line {number}" for number in range(1, 25)]
    assert [row["predicted_kind"] for row in rows] == CLASSES
    fitted.n_draws = 3
    expected = fitted.predict_proba(GRAPHS)[:, 0]
    found = [float(row["probability_chain"]) for row in rows]
    assert found == pytest.approx(expected.tolist(), abs=1e-6)

    status, out, _ = call("evaluate", "m.safetensors", str(rings), "-o", "scores.json")
    assert status == 0
    assert "accuracy" in out
    assert "predicted ring" in out
    record = json.loads(Path("scores.json").read_text(encoding="utf-8"))
    assert record["graphs"] == 24
    assert record["scores"]["kind"]["accuracy"] == 1.0
    assert record["scores"]["kind"]["ROC AUC"] == pytest.approx(1.0)


def test_quiet(call: Command, rings: Path) -> None:
    status, out, messages = call("train", str(rings), "-o", "m.safetensors", "--quiet", *FAST)
    assert (status, out, messages) == (0, "", "")
    status, out, messages = call("predict", "m.safetensors", str(rings), "-o", "p.csv", "-q")
    assert (status, out, messages) == (0, "", "")
    assert len(rows_of(Path("p.csv").read_text(encoding="utf-8"))) == 24


def test_the_same_seed_gives_the_same_model(call: Command, rings: Path) -> None:
    contents = []
    for seed in ("1", "1", "2"):
        assert call("train", str(rings), "-o", "m.safetensors", "--seed", seed, *FAST)[0] == 0
        contents.append(call("predict", "m.safetensors", str(rings))[1])
    assert contents[0] == contents[1] != contents[2]


def test_several_numbers_with_missing_ones(call: Command, tmp_path: Path) -> None:
    sizes: list[Any] = [float(len(graph)) for graph in GRAPHS]
    halves: list[Any] = [size / 2 for size in sizes]
    halves[3] = ""
    sizes[5] = halves[5] = ""
    text = lines_of(GRAPHS, size=sizes, half=halves)
    (tmp_path / "sizes.jsonl").write_text(text, encoding="utf-8")
    chosen = ("--target", "half", "--target", "size")
    status, _, messages = call("train", "sizes.jsonl", *chosen, *FAST)
    assert status == 1
    assert "sizes.jsonl, line 6: There must be a value of 'half' or 'size'. Got none." in messages
    assert "1 of 24 graphs left out." in messages
    fitted = CLIPRegressor.load("model.safetensors")
    assert fitted.target_names_ == ["half", "size"]
    status, out, _ = call("predict", "model.safetensors", "sizes.jsonl")
    assert status == 0
    assert list(rows_of(out)[0])[-3:] == ["predicted_half", "predicted_size", "problem"]
    status, out, _ = call("evaluate", "model.safetensors", "sizes.jsonl")
    assert status == 1  # of one graph no target is known
    assert "RMSE" in out
    assert [line.split()[0] for line in out.splitlines()[3:]] == ["half", "size"]
    assert call("train", "sizes.jsonl", *chosen, "--strict", *FAST)[0] == 2


def test_an_unreadable_graph_does_not_stop_predictions(
    call: Command, rings: Path, model: Path
) -> None:
    lines = rings.read_text(encoding="utf-8").splitlines()
    bad = "\n".join([lines[0], "{", '{"nodes": []}', lines[1]])
    Path("bad.jsonl").write_text(bad, encoding="utf-8")
    status, out, messages = call("predict", str(model), "bad.jsonl")
    assert status == 1
    assert "bad.jsonl, line 2: The line must be valid JSON in UTF-8." in messages
    assert "bad.jsonl, line 3:" in messages
    assert "2 of 4 graphs left out." in messages
    rows = rows_of(out)
    assert [row["graph"] for row in rows] == ["line 1", "line 2", "line 3", "line 4"]
    assert [row["predicted_kind"] for row in rows] == ["chain", "", "", "ring"]
    assert [bool(row["problem"]) for row in rows] == [False, True, True, False]
    status, out, messages = call("predict", str(model), "bad.jsonl", "--strict", "-o", "p.csv")
    assert (status, out) == (2, "")
    assert "bad.jsonl, line 2" in messages
    assert not Path("p.csv").exists()


def test_a_graph_without_the_attributes_of_the_model_does_not_stop_predictions(
    call: Command, tmp_path: Path
) -> None:
    other_model(tmp_path / "m.safetensors", "numeric")
    graphs = [nx.path_graph(3) for _ in range(3)]
    nx.set_node_attributes(graphs[0], dict.fromkeys(graphs[0], 0.5), "height")
    nx.set_node_attributes(graphs[2], dict.fromkeys(graphs[2], float("inf")), "height")
    Path("g.jsonl").write_text(lines_of(graphs), encoding="utf-8")
    status, out, messages = call("predict", "m.safetensors", "g.jsonl")
    assert status == 1
    assert "g.jsonl, line 2:" in messages
    assert "g.jsonl, line 3:" in messages
    assert [bool(row["predicted_target"]) for row in rows_of(out)] == [True, False, False]


def test_cross_validation(call: Command, rings: Path) -> None:
    options = ("--folds", "3", "-o", "folds.csv", "--predictions", "tested.csv", *FAST)
    status, out, messages = call("cv", str(rings), *options)
    assert status == 0
    assert "Mean and standard deviation over 3 folds of 24 graphs." in out
    assert "fold 3 of 3: accuracy" in messages
    rows = rows_of(Path("folds.csv").read_text(encoding="utf-8"))
    assert {row["fold"] for row in rows} == {"1", "2", "3"}
    accuracies = [float(row["value"]) for row in rows if row["score"] == "accuracy"]
    tested = rows_of(Path("tested.csv").read_text(encoding="utf-8"))
    right = [row["predicted_kind"] == row["kind"] for row in tested]
    assert sum(right) / 24 == pytest.approx(sum(accuracies) / 3)
    assert sorted(row["fold"] for row in tested) == sorted("123" * 8)
    status, _, messages = call("cv", str(rings), "--folds", "13", *FAST)
    assert status == 2
    assert "--folds must be at most 12" in messages
    Path("one.jsonl").write_text(lines_of(GRAPHS[:3], kind=["a", "a", "b"]), encoding="utf-8")
    messages = call("cv", "one.jsonl", *FAST)[2]
    assert "at least two graphs of the smallest class. Got 1 graph." in messages


@pytest.mark.parametrize(
    "coloring",
    [
        "refined",
        "individualized",
        "all",
        pytest.param("canonical", marks=pytest.mark.needs("igraph")),
        pytest.param("orbits", marks=pytest.mark.needs("igraph")),
    ],
)
def test_coloring_schemes(call: Command, tmp_path: Path, coloring: str) -> None:
    rings = [nx.cycle_graph(size) for size in (3, 4, 5)]
    paths = [nx.path_graph(size) for size in (3, 4, 5)]
    kinds = ["ring"] * 3 + ["path"] * 3
    (tmp_path / "small.jsonl").write_text(lines_of(rings + paths, kind=kinds))
    status, _, messages = call(
        *("train", "small.jsonl", "--target", "kind", "--coloring", coloring, *FAST),
        *("-o", "model.safetensors"),
    )
    assert (status, "Trained on 6 graphs" in messages) == (0, True), messages
    status, out, _ = call("predict", "model.safetensors", "small.jsonl")
    assert status == 0
    assert len(rows_of(out)) == 6


def test_a_graph_with_too_many_colorings_has_its_line(call: Command, tmp_path: Path) -> None:
    """Not its number in a fold, nor among the graphs that can be read."""
    graphs = [nx.path_graph(2)] * 5 + [nx.cycle_graph(9)] + [nx.path_graph(3)] * 4
    text = "not a graph\n" + lines_of(graphs, kind=["a", "b"] * 5)
    (tmp_path / "large.jsonl").write_text(text)
    for command in ("cv", "train"):
        status, _, messages = call(
            *(command, "large.jsonl", "--target", "kind", "--coloring", "all", *FAST),
            *(("--folds", "2") if command == "cv" else ("-o", "model.safetensors")),
        )
        assert status == 2
        assert "large.jsonl, line 7, has 362,880. Use --coloring=canonical" in messages
    without = ("train", "large.jsonl", "--target", "kind", "--coloring", "all", *FAST)
    status = call(*without, "--num-colorings", "00", "-o", "model.safetensors")[0]
    assert status == 1  # the first line is not a graph


def test_inspect(call: Command, rings: Path) -> None:
    status, out, _ = call("inspect", str(rings), "--isomorphism", "-o", "numbers.json")
    assert status == 0
    shown = {line[:38].strip(): line[38:].strip() for line in out.splitlines()}
    assert shown["graphs"] == "24 of 24, undirected"
    assert shown["node attributes"] == "letter (2 values)"
    assert shown["classes of kind"] == "chain: 12, ring: 12"
    assert shown["colorings of a graph"] == "4 to 576; 0 graphs with one"
    assert shown["suggested number of colorings k"] == "16"
    record = json.loads(Path("numbers.json").read_text(encoding="utf-8"))
    assert record["nodes"] == {"smallest": 4.0, "mean": pytest.approx(5.92, abs=0.05), "largest": 8}
    assert record["confused_others"] == 0
    assert record["confused"] == 24


def test_inspect_finds_graphs_that_message_passing_confuses(call: Command, tmp_path: Path) -> None:
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    graphs = [nx.cycle_graph(6), triangles, nx.path_graph(3), nx.path_graph(3)]
    content = b"".join(nx.to_graph6_bytes(graph) for graph in graphs)
    (tmp_path / "graphs.g6").write_bytes(content)
    status, out, _ = call("inspect", "graphs.g6", "--isomorphism")
    assert status == 0
    assert "4 of 4 graphs; 2 with a graph that is not isomorphic" in out
    assert "columns                                none" in out
    assert "largest group of identical nodes       3 to 6" in out


def test_draw(call: Command, rings: Path) -> None:
    status, _, messages = call("draw", str(rings), "--number", "2", "-o", "ring.svg")
    assert status == 0
    assert "Graph 2 (line 2) of rings.jsonl, 3 colorings. Figure: ring.svg" in messages
    assert Path("ring.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    for name in ("ring.png", "ring.pdf"):
        assert call("draw", str(rings), "-o", name, "-q")[0] == 0
        assert Path(name).stat().st_size > 1000
    assert "--number must be at most 24" in call("draw", str(rings), "--number", "25")[2]
    assert "must end in .png" in call("draw", str(rings), "-o", "ring.jpg")[2]


def write_tu(folder: Path, name: str) -> None:
    """A TU folder of rings and chains of up to six nodes."""
    folder.mkdir(parents=True)
    edges, indicator, labels, nodes = [], [], [], 0
    for number in range(12):
        size = 4 + number % 3
        graph = nx.cycle_graph(size) if number % 2 else nx.path_graph(size)
        for one, other in graph.edges():
            edges += [f"{nodes + one + 1}, {nodes + other + 1}"]
            edges += [f"{nodes + other + 1}, {nodes + one + 1}"]
        indicator += [str(number + 1)] * size
        labels.append(str(number % 2))
        nodes += size
    for part, lines in {"A": edges, "graph_indicator": indicator, "graph_labels": labels}.items():
        (folder / f"{name}_{part}.txt").write_text("\n".join(lines) + "\n")


def test_data_sets_of_the_tu_collection(call: Command, tmp_path: Path) -> None:
    write_tu(tmp_path / "data" / "OWN" / "raw", "OWN")
    write_tu(tmp_path / "elsewhere" / "OTHER", "OTHER")
    assert call("train", "OWN", "-q", *FAST)[0] == 0
    fitted = CLIPClassifier.load("model.safetensors")
    assert fitted.target_names_ == ["class"]
    status, out, _ = call("predict", "model.safetensors", "elsewhere/OTHER")
    assert status == 0
    rows = rows_of(out)
    assert [row["graph"] for row in rows] == [f"graph {number}" for number in range(1, 13)]
    assert call("inspect", "OTHER", "--root", "elsewhere")[0] == 0
    status, _, messages = call("inspect", "elsewhere", "--format", "tu")
    assert status == 2
    assert "must be a folder in the TU layout" in messages


@pytest.mark.needs("rdkit")
def test_molecules(call: Command, tmp_path: Path) -> None:
    molecules = ["CCO", "CCN", "CCC", "c1ccccc1", "CC(=O)O", "C1CC", "CO", "CN", "O=C=O"]
    lines = [f"{text},{len(text)}.5,m{number}" for number, text in enumerate(molecules)]
    (tmp_path / "m.csv").write_text("structure,value,name\n" + "\n".join(lines), encoding="utf-8")
    status, _, messages = call("train", "m.csv", *FAST)
    assert status == 2
    assert "--smiles-column must be given for m.csv" in messages
    columns = ("--smiles-column", "structure")
    status, _, messages = call("train", "m.csv", *columns, *FAST)
    assert status == 2
    assert "--target must be given. The columns of m.csv are 'value', 'name'." in messages
    status, _, messages = call("train", "m.csv", *columns, "--target", "value", *FAST)
    assert status == 1
    assert "m.csv, line 7: SMILES must have a valid syntax. Got 'C1CC'." in messages
    status, out, _ = call("predict", "model.safetensors", "m.csv", *columns)
    assert status == 1
    rows = rows_of(out)
    assert [row["structure"] for row in rows] == molecules
    assert [row["name"] for row in rows] == [f"m{number}" for number in range(9)]
    assert rows[5]["predicted_value"] == ""
    assert all(float(row["predicted_value"]) for row in rows if row["name"] != "m5")


def test_a_folder_of_files_with_labels(call: Command, tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    for number, graph in enumerate(GRAPHS):
        nx.write_graphml(graph, folder / f"{number:02}.graphml")
    rows = [f"{number:02}.graphml,{own}" for number, own in enumerate(CLASSES) if number != 4]
    (tmp_path / "labels.csv").write_text("file,kind\n" + "\n".join(reversed(rows)))
    status, _, messages = call("train", "graphs", "--labels", "labels.csv", *LEARNED)
    assert status == 1
    assert "graphs, 04.graphml: There must be a value of 'kind'. Got none." in messages
    status, out, _ = call("predict", "model.safetensors", "graphs")
    assert status == 0
    assert [row["file"] for row in rows_of(out)] == [f"{number:02}.graphml" for number in range(24)]
    assert [row["predicted_kind"] for row in rows_of(out)] == CLASSES


def other_model(path: Path, kind: str) -> None:
    """A file that is not a model for predictions of rings and chains."""
    numbers = [nx.path_graph(size) for size in (3, 4, 5, 6)]
    if kind == "embedding":
        CLIPEmbedding(num_layers=1, hidden_channels=4).fit(GRAPHS).save(path)
    elif kind == "damaged":
        other_model(path, "numeric")
        path.write_bytes(path.read_bytes()[:-50])
    elif kind == "foreign":
        path.write_bytes(b"\x80\x04not a model")
    else:
        for number, graph in enumerate(numbers):
            nx.set_node_attributes(graph, dict.fromkeys(graph, 0.5 * number), "height")
        CLIPRegressor(epochs=1, num_layers=1, hidden_channels=4, num_colorings=0).fit(
            numbers, [1.0, 2.0, 3.0, 4.0]
        ).save(path)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("embedding", "must be the file of a CLIPClassifier or CLIPRegressor. Got 'CLIPEmbedding'"),
        ("damaged", "must be a safetensors file written by clipgnn.save"),
        ("foreign", "must be a safetensors file written by clipgnn.save"),
        ("missing", "MODEL must be an existing file. There is no other.safetensors"),
        ("numeric", "height"),
    ],
)
def test_models_that_cannot_predict(call: Command, rings: Path, kind: str, message: str) -> None:
    path = Path("other.safetensors")
    if kind != "missing":
        other_model(path, kind)
    for command in ("predict", "evaluate"):
        status, out, messages = (
            call(command, str(path), str(rings), "--target", "kind")[:3]
            if (command == "evaluate")
            else call(command, str(path), str(rings), "-o", "p.csv")
        )
        assert (status, out) == (2, "")
        if not (kind == "numeric" and command == "evaluate"):
            assert message in messages
        assert not Path("p.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "none.jsonl"), "There must be a file or folder 'none.jsonl'"),
        (("train", "empty.jsonl"), "empty.jsonl must have at least one graph. Got none."),
        (("train", "text.jsonl"), "None of its 2 graphs can be read; line 1: The line must be"),
        (("train", "rings.jsonl", "--format", "graph6"), "in the format graph6. None of its 24"),
        (("train", "rings.jsonl", "--format", "json"), "--format must be one of tu, smiles"),
        (("train", "rings.jsonl", "--target", "king"), "Did you mean 'kind'?"),
        (("train", "rings.jsonl", "-o", "none/m.safetensors"), "--output 'none/m.safetensors'"),
        (("train", "rings.jsonl", "--loss", "absolute-error"), "--loss must not be given"),
        (("train", "rings.jsonl", "--num-colorings", "many"), "--num-colorings must be an integer"),
        (("train", "rings.jsonl", "--epochs", "0"), "--epochs must be an integer from 1"),
        (("train", "rings.jsonl", "--task", "regression"), "must be a finite number. Got 'chain'"),
        (("train", "rings.jsonl", "--device", "tpu"), "--device must be"),
        (("train", "rings.jsonl", "--node-attributes", "letters"), "--node-attributes must"),
        (
            ("train", "one.jsonl"),
            "The column 'kind' of one.jsonl must have at least two classes. Got one class, 'ring'.",
        ),
        (("train", "bare.jsonl"), "bare.jsonl must have a column or attribute to predict"),
        (("train", "rings.jsonl", "--labels", "short.csv"), "must have a row for each of the 24"),
        (("train", "rings.jsonl", "--labels", "none.csv"), "There must be a file 'none.csv'"),
        (("predict", "rings.jsonl", "rings.jsonl"), "must be a safetensors file"),
        (("inspect", "NO-SUCH-SET"), "NO-SUCH-SET"),
    ],
)
def test_bad_input_is_one_line(
    call: Command,
    rings: Path,
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr("clipgnn.datasets.tu.download_tu", refuse)
    Path("empty.jsonl").write_text("", encoding="utf-8")
    Path("text.jsonl").write_text("not\njson\n", encoding="utf-8")
    Path("one.jsonl").write_text(lines_of(GRAPHS[1:4:2], kind=["ring", "ring"]), encoding="utf-8")
    Path("bare.jsonl").write_text(lines_of(GRAPHS[:3]), encoding="utf-8")
    Path("short.csv").write_text("kind\nring\n", encoding="utf-8")
    before = sorted(Path().iterdir())
    status, out, messages = call(*arguments)
    assert (status, out) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1
    assert "Traceback" not in messages
    assert sorted(Path().iterdir()) == before


def test_unknown_classes_are_an_error_of_evaluation(
    call: Command, rings: Path, model: Path
) -> None:
    lines = lines_of(GRAPHS[:3], kind=["ring", "chain", "star"])
    Path("stars.jsonl").write_text(lines, encoding="utf-8")
    status, out, messages = call("evaluate", str(model), "stars.jsonl")
    assert (status, out) == (2, "")
    assert "classes of the model (chain, ring). Got 'star', line 3." in messages
    status, _, messages = call("evaluate", str(model), "stars.jsonl", "--target", "nothing")
    assert "must have the column 'nothing'" in messages


def test_values_that_the_model_does_not_know_are_a_warning(call: Command, model: Path) -> None:
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, dict.fromkeys(graph, "z"), "letter")
    Path("z.jsonl").write_text(lines_of([graph]), encoding="utf-8")
    status, out, messages = call("predict", str(model), "z.jsonl")
    assert status == 0
    assert len(rows_of(out)) == 1
    assert "does not know" in messages
    assert "Warning" not in messages


def test_whole_numbers_are_classes_if_they_are_few(call: Command, tmp_path: Path) -> None:
    numbers = [1 if own == "ring" else 0 for own in CLASSES]
    (tmp_path / "n.jsonl").write_text(lines_of(GRAPHS, y=numbers), encoding="utf-8")
    assert call("train", "n.jsonl", "-q", *FAST)[0] == 0
    assert CLIPClassifier.load("model.safetensors").classes_.tolist() == [0, 1]
    assert call("train", "n.jsonl", "-q", "--task", "regression", *FAST)[0] == 0
    assert CLIPRegressor.load("model.safetensors").target_names_ == ["y"]
    sizes = list(range(24))
    (tmp_path / "s.jsonl").write_text(lines_of(GRAPHS, y=sizes), encoding="utf-8")
    assert call("train", "s.jsonl", "-q", *FAST)[0] == 0
    CLIPRegressor.load("model.safetensors")


def test_an_interrupted_training_leaves_the_earlier_file(
    call: Command, rings: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = model.read_bytes()
    monkeypatch.setattr(CLIPClassifier, "fit", interrupt)
    assert call("train", str(rings), "-o", str(model), *FAST)[0] == 130
    assert model.read_bytes() == before
    assert sorted(own.name for own in rings.parent.iterdir()) == [rings.name, model.name]


def test_completion_is_offered(call: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_CLIPGNN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "clipgnn train data --format s")
    monkeypatch.setenv("COMP_CWORD", "4")
    status, out, _ = call("train")
    assert status == 0
    assert out.split() == ["smiles"]


@pytest.mark.parametrize("estimator", [CLIPClassifier(), CLIPRegressor()])
def test_defaults_are_those_of_the_estimators(estimator: Any) -> None:
    parameters = estimator.get_params()
    for own in fields(LearningOptions):
        if own.name in parameters:
            assert own.default == parameters[own.name], own.name
    assert {own.name for own in fields(LearningOptions)} - parameters.keys() <= {"balanced", "loss"}


@pytest.mark.parametrize("command", ["train", "predict", "evaluate", "cv", "inspect", "draw"])
def test_help_has_an_example(call: Command, command: str) -> None:
    status, out, _ = call(command, "--help")
    assert status == 0
    assert f"Example: clipgnn {command}" in out


def test_gml_does_not_read_the_names_of_nodes(call: Command, tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    for number, size in enumerate((4, 5, 6, 7)):
        nx.write_gml(nx.path_graph(size), folder / f"{number}.gml")
    status, out, _ = call("inspect", "graphs")
    assert status == 0
    assert "node attributes                        none" in out
    (folder / "folder.gml").mkdir()
    (folder / "5.gml").write_text("graph 5", encoding="utf-8")
    (folder / "6.gml").write_text("graph [" * 5000, encoding="utf-8")
    status, out, messages = call("inspect", "graphs")
    assert status == 1
    assert "graphs, 5.gml: The graph must be GraphML or GML." in messages
    assert "4 of 6, undirected" in out


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["0.5", "1.5", "NA"] * 4, "numbers"),
        (["0", "1", "nan"] * 4, "classes"),
        (["01", "02", ""] * 4, "classes"),
        (["0.5", "1.5", "2.5", "abc"] * 3, "--task must be given, because most values"),
        (["0.5", "1.5", "2.5", "inf"] * 3, "--task must be given, because most values"),
        ([f"{number},5" for number in range(24)], "occur only once"),
    ],
)
def test_missing_and_mixed_values(
    call: Command, tmp_path: Path, values: list[str], task: str
) -> None:
    lines = ['"' + value + '"' for value in values]
    (tmp_path / "y.csv").write_text("\n".join(["y", *lines]) + "\n", encoding="utf-8")
    content = b"".join(nx.to_graph6_bytes(nx.path_graph(4 + own % 3)) for own in range(len(values)))
    (tmp_path / "g.g6").write_bytes(content)
    status, _, messages = call("train", "g.g6", "--labels", "y.csv", *FAST)
    if task.startswith(("--task", "occur")):
        assert status == 2
        assert task in messages
        assert "task must be given" in call("inspect", "g.g6", "--labels", "y.csv")[1]
        return
    assert status == 1
    assert "4 of 12 graphs left out." in messages
    if task == "numbers":
        CLIPRegressor.load("model.safetensors")
    else:
        expected = sorted({value for value in values if value not in ("", "nan")})
        found = CLIPClassifier.load("model.safetensors").classes_.tolist()
        assert list(map(str, found)) == expected


def test_large_integers_are_classes_as_text(call: Command, tmp_path: Path) -> None:
    names = ["9007199254740992", "9007199254740993", "1" * 30]
    lines = lines_of(GRAPHS[:12], y=[f"{names[own % 3]}" for own in range(12)])
    (tmp_path / "g.jsonl").write_text(lines, encoding="utf-8")
    chosen = ("--task", "classification")
    assert call("train", "g.jsonl", "-q", *chosen, *FAST)[0] == 0
    assert CLIPClassifier.load("model.safetensors").classes_.tolist() == sorted(names)
    assert call("evaluate", "model.safetensors", "g.jsonl")[0] == 0


def test_columns_of_the_input_are_kept(call: Command, model: Path, tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text(lines_of(GRAPHS[:2]), encoding="utf-8")
    columns = "empty,graph,predicted_kind\n,a,x\n,b,y\n"
    (tmp_path / "labels.csv").write_text(columns, encoding="utf-8")
    status, out, _ = call("predict", str(model), "g.jsonl", "--labels", "labels.csv")
    assert status == 0
    [first, _] = rows_of(out)
    assert first["graph"] == "line 1"
    assert first["input_graph"] == "a"
    assert first["input_predicted_kind"] == "x"
    assert first["predicted_kind"] == "chain"
    assert first["empty"] == ""
    assert list(first)[:3] == ["graph", "empty", "input_graph"]


def test_targets_without_known_values_have_no_scores(call: Command, tmp_path: Path) -> None:
    sizes: list[Any] = [len(graph) + 0.5 for graph in GRAPHS]
    text = lines_of(GRAPHS, size=sizes, half=[own / 2 for own in sizes])
    (tmp_path / "train.jsonl").write_text(text, encoding="utf-8")
    both = ("--target", "size", "--target", "half")
    assert call("train", "train.jsonl", "-q", *both, *FAST)[0] == 0
    text = lines_of(GRAPHS[:4], size=sizes[:4], half=["nan"] * 4)
    (tmp_path / "test.jsonl").write_text(text, encoding="utf-8")
    status, _, messages = call("evaluate", "model.safetensors", "test.jsonl", "-o", "s.json")
    assert (status, messages) == (0, "")
    assert list(json.loads(Path("s.json").read_text(encoding="utf-8"))["scores"]) == ["size"]


def test_models_of_other_kinds_of_data(call: Command, model: Path, tmp_path: Path) -> None:
    write_tu(tmp_path / "data" / "OWN" / "raw", "OWN")
    assert (
        "MODEL was trained on graphs with named attributes" in call("predict", str(model), "OWN")[2]
    )
    assert call("train", "OWN", "-q", *FAST)[0] == 0
    (tmp_path / "g.jsonl").write_text(lines_of(GRAPHS[:2]), encoding="utf-8")
    messages = call("predict", "model.safetensors", "g.jsonl")[2]
    assert "MODEL was trained on a TU data set" in messages


@pytest.mark.parametrize(("wrong", "expected"), [(1, 1), (4, 1), (5, 2), (30, 2)])
def test_graphs_that_do_not_fit_to_the_others_are_left_out(
    call: Command, tmp_path: Path, wrong: int, expected: int
) -> None:
    graphs = [nx.path_graph(3) for _ in range(40)]
    for number, graph in enumerate(graphs):
        values = [0.5] * (2 if 4 < number <= 4 + wrong else 3)
        nx.set_node_attributes(graph, dict.fromkeys(graph, values), "z")
    text = "\n\n".join(lines_of(graphs, y=[0, 1] * 20).splitlines())
    (tmp_path / "g.jsonl").write_text(text, encoding="utf-8")
    status, _, messages = call("train", "g.jsonl", *FAST)
    assert status == expected
    assert "in line 11" in messages or expected == 2
    assert (f"{wrong} of 40 graphs left out." in messages) == (expected == 1)


def test_labels_of_a_folder_need_the_names_of_files(call: Command, tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    for number in range(2):
        nx.write_gml(nx.path_graph(3), folder / f"{number}.gml")
    (tmp_path / "labels.csv").write_text("y\n0\n1\n")
    status, _, messages = call("inspect", "graphs", "--labels", "labels.csv")
    assert status == 2
    assert "labels.csv must have a column 'file'" in messages


def test_a_spread_of_a_single_network_has_ten_draws(call: Command, model: Path) -> None:
    Path("g.jsonl").write_text(lines_of(GRAPHS[:2]), encoding="utf-8")
    status, out, messages = call("predict", str(model), "g.jsonl", "--spread", "-q")
    assert (status, messages) == (0, "")
    assert any(float(row["spread_ring"]) > 0 for row in rows_of(out))


def test_flags_in_messages_of_estimators(call: Command, rings: Path) -> None:
    for arguments, message in {
        ("--dropout", "1.5"): "--dropout must be",
        ("--n-ensemble", "0"): "--n-ensemble must be",
        ("--validation-fraction", "2"): "--validation-fraction is not possible",
        ("--coloring", "canonicl"): "--coloring must be one of random, all, refined, orbits, "
        "canonical, individualized, precomputed. Got 'canonicl'. Did you mean 'canonical'?",
        ("--coloring", "precomputed"): "--coloring=precomputed needs colorings",
    }.items():
        status, _, messages = call("train", str(rings), *arguments)
        assert status == 2
        assert f"clipgnn: {message}" in messages
    missing = call("cv", str(rings), "--predictions", "none/p.csv")[2]
    assert "--predictions 'none/p.csv' must be a file" in missing
