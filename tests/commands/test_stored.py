"""train and predict on folders of graphs, alone and in several processes."""

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.commands.test_graph_commands import FAST, call
from tests.estimators.test_stored import CLASSES, GRAPHS, _classes

from clipgnn import CLIPClassifier, PackedGraphs, load
from clipgnn.graphs.storage.stored import TargetNames, save_graphs

__all__ = ["call"]

Command = Callable[..., tuple[int, str, str]]
SHORT = (*FAST, "--epochs", "3")


def test_train_and_predict(call: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    _classes(Path("graphs"))
    status, _, err = call("train", "graphs", "-o", "model.safetensors", *SHORT)
    assert status == 0
    assert "Trained on 24 graphs" in err
    assert "model.safetensors" in err
    monkeypatch.setattr("clipgnn.commands.stored_predictions.PART_GRAPHS", 10)
    assert call("predict", "model.safetensors", "graphs", "-o", "found.csv")[0] == 0
    rows = list(csv.DictReader(Path("found.csv").read_text().splitlines()))
    assert [int(row["graph"]) for row in rows] == list(range(1, 25))
    model = CLIPClassifier.load("model.safetensors")
    assert [row["predicted_shape"] for row in rows] == model.predict(GRAPHS).tolist()
    expected = model.predict_proba(GRAPHS)[:, 1].tolist()
    assert [float(row["probability_ring"]) for row in rows] == pytest.approx(expected, abs=1e-6)
    status, out, _ = call("predict", "model.safetensors", "graphs")
    assert (status, out) == (0, Path("found.csv").read_text())


def test_predictions_name_the_rows_of_the_input(call: Command) -> None:
    from clipgnn.graphs.storage.stored import append_graphs

    stored = _classes(Path("graphs"))
    call("train", "graphs", *SHORT)
    append_graphs("again", stored[:4], rows=torch.tensor([0, 2, 3, 7]))
    _, out, _ = call("predict", "model.safetensors", "again")
    assert [row["row"] for row in csv.DictReader(out.splitlines())] == ["1", "3", "4", "8"]


def test_a_training_continues_and_its_checkpoints_are_deleted(call: Command) -> None:
    stored = _classes(Path("graphs"))
    call("train", "graphs", "-o", "expected.safetensors", *SHORT)
    assert (
        call("train", "graphs", "-o", "found.safetensors", "--checkpoint", "kept", *SHORT)[0] == 0
    )
    assert not Path("kept").exists()
    expected, found = (CLIPClassifier.load(f"{name}.safetensors") for name in ("expected", "found"))
    assert (expected.predict_proba(stored) == found.predict_proba(stored)).all()


def test_processes_of_torchrun(call: Command, tmp_path: Path) -> None:
    _classes(Path("graphs"))
    call("train", "graphs", "-o", "one.safetensors", *SHORT)
    arguments = ["train", "graphs", "-o", "two.safetensors", *SHORT]
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    finished = subprocess.run(
        [*run, "-m", "clipgnn.cli", *arguments],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=120,
        capture_output=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr.decode()
    assert finished.stderr.decode().count("Trained on 24 graphs") == 1
    one, two = load("one.safetensors"), load("two.safetensors")
    for name, weight in one.state_dict().items():
        torch.testing.assert_close(two.state_dict()[name], weight, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "shape"), "--target must not be given for graphs on disk"),
        (("--node-attributes", "letter"), "--node-attributes must not be given for graphs on disk"),
        (("--num-workers", "2"), "--num-workers must only be given with --executor ray"),
        (("--address", "127.0.0.1:6379"), "--address must only be given with --executor ray"),
        (("--executor", "ray"), "--checkpoint must be given with --executor ray"),
        (("--executor", "rya"), "Invalid value for '--executor'"),
    ],
)
def test_bad_options(call: Command, arguments: tuple[str, ...], message: str) -> None:
    _classes(Path("graphs"))
    status, out, err = call("train", "graphs", *arguments)
    assert (status, out) == (2, "")
    assert message in " ".join(err.split())
    assert not Path("model.safetensors").exists()


def test_ray_needs_graphs_on_disk(call: Command) -> None:
    status, _, err = call("train", "MUTAG", "--executor", "ray")
    assert status == 2
    assert "DATA must be a folder of graphs that clipgnn convert has written" in err


def test_graphs_of_another_vocabulary_are_read_with_that_of_the_model(call: Command) -> None:
    _classes(Path("graphs"))
    call("train", "graphs", *SHORT)
    others = [graph.copy() for graph in GRAPHS]
    for graph in others:
        graph.nodes[0]["letter"] = "c"
    PackedGraphs.from_networkx(others).save("others")
    status, out, err = call("predict", "model.safetensors", "others")
    assert status == 0
    assert "'letter' that the encoding does not know, 'c'" in err
    assert len(out.splitlines()) == len(CLASSES) + 1


def test_only_checkpoints_are_deleted(call: Command) -> None:
    """Also if the model is written to their folder, and its name is similar."""
    _classes(Path("graphs"))
    kept = Path("kept")
    kept.mkdir()
    for name in ("models-mine.safetensors", "notes.txt"):
        (kept / name).write_text("precious")
    (kept / ".models-0.safetensors.0123456789abcdef").write_text("left by a kill")
    output = kept / "models-1.safetensors"
    status, _, _ = call("train", "graphs", "-o", str(output), "--checkpoint", "kept", *SHORT)
    assert status == 0
    found = {own.name for own in kept.iterdir()}
    assert found == {"models-mine.safetensors", "notes.txt", "models-1.safetensors"}
    assert CLIPClassifier.load(output).classes_.tolist() == ["chain", "ring"]


def test_names_with_line_separators(call: Command) -> None:
    y = [int(own == "ring") for own in CLASSES]
    names = TargetNames(("shape",), ("a\u2028x", "b\nc"))
    save_graphs(PackedGraphs.from_networkx(GRAPHS, y=y), "graphs", names)
    call("train", "graphs", *SHORT)
    call("predict", "model.safetensors", "graphs", "-o", "found.csv")
    with Path("found.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(GRAPHS)
    expected = {"graph", "predicted_shape", "probability_a\u2028x", "probability_b\nc"}
    assert set(rows[0]) == expected
