"""The example of an own data set and an own network at the command line.

tests/faults/test_ray.py runs it with Ray.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.experiments.own_files import write_paths
from tests.faults.command import experiment, numbers, report

from clipgnn import ModelSpec, Recipe, Split, train
from clipgnn.datasets.own import load_own
from clipgnn.errors import ClipGNNError
from clipgnn.experiments import own_models
from clipgnn.experiments.store import Store
from clipgnn.parameters.import_paths import search_in

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_experiment"
SHORT = ("--epochs", "2", "--folds", "1", "--device", "cpu", "--format", "csv")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the example in a folder, with a TU data set in another; the working directory."""
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "example" / "ladders.toml"
    text = path.read_text().replace('["ladders.data:load"]', '["ladders.data:load", "tu:OWN"]')
    path.write_text(text)
    write_paths(tmp_path / "data" / "OWN", nodes=5, graphs=20)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("CLIPGNN_DATA", str(tmp_path / "none"))
    yield tmp_path
    forget()


def forget() -> None:
    """Forget the modules of the example, as a new process has not imported them."""
    for name in [own for own in sys.modules if own.partition(".")[0] == "ladders"]:
        del sys.modules[name]
    own_models._imported.cache_clear()


def run(*words: str) -> str:
    return experiment("run", "example/ladders.toml", "--root", "data", *SHORT, *words)


def test_the_example_in_this_process_and_in_others(folder: Path) -> None:
    here = run("--executor", "in-process", "--store", "here.sqlite")
    there = run("--executor", "processes", "--workers", "1", "--store", "there.sqlite")
    assert numbers(there) == numbers(here)
    rows = [row.split("\t")[:2] for row in numbers(here).splitlines()[1:]]
    assert rows == [
        [model, data] for model in ("SumNet", "4-CLIP") for data in ("ladders.data:load", "tu:OWN")
    ]
    assert "ladders.nets:SumNet" in here, "the provenance has the hash of its source"


def test_folds_that_train_together_train_as_they_do_alone(folder: Path) -> None:
    """The batches of several members have padding, which a network must leave out."""
    search_in([str(folder / "example")])
    graphs = load_own("ladders.data:load")
    spec, recipe = ModelSpec("ladders.nets:SumNet", {"num_steps": 1}), Recipe(epochs=2)
    splits = [Split(train=range(10 + own, 60), test=range(7 + own)) for own in range(3)]
    together = train(graphs, spec, recipe, splits, [0, 1, 2], together=True)
    alone = train(graphs, spec, recipe, splits, [0, 1, 2], together=False)
    for own, other in zip(together, alone, strict=True):
        curves = own.history.curves.train_loss, other.history.curves.train_loss
        assert curves[0] == pytest.approx(curves[1], rel=1e-4)


def test_commands_that_read_a_store_import_nothing(folder: Path) -> None:
    run("--executor", "in-process", "--store", "runs/ladders.sqlite")
    forget()
    for module in (folder / "example" / "ladders").glob("*.py"):
        module.write_text("raise RuntimeError('imported')\n")
    assert "6 of 6 trials finished" in experiment("status", "ladders")
    assert "SumNet" in report("ladders")
    part = ("--epochs", "2", "--folds", "1")
    assert "SumNet" in report("ladders", "--experiment", "example/ladders.toml", *part)
    assert "6 new results" in experiment("merge", "--any-source", "to", "runs/ladders.sqlite")
    assert "No damaged entries" in experiment("repair", "ladders")
    assert "ladders" not in sys.modules
    with pytest.raises(ClipGNNError, match="The import raised RuntimeError: imported"):
        experiment("resume", "example/ladders.toml", "--root", "data")


def test_a_run_is_resumed_by_the_path_of_its_file(folder: Path) -> None:
    run("--executor", "in-process")
    again = ("--root", "data", "--executor", "in-process", "--format", "csv")
    assert experiment("resume", "example/ladders.toml", *again)
    nets = folder / "example" / "ladders" / "nets.py"
    nets.write_text(nets.read_text() + "\n# changed\n")
    forget()
    with pytest.raises(ClipGNNError, match=r"source of 'ladders.nets:SumNet' must have the hash"):
        experiment("resume", "example/ladders.toml", *again)
    forget()
    (folder / "example").rename(folder / "moved")
    sys.path.remove(str(folder / "example"))
    with pytest.raises(ClipGNNError, match=r"module of 'ladders.nets:SumNet' must be found by Pyt"):
        experiment("resume", "ladders", *again)


def test_the_folder_of_the_data_is_no_part_of_a_trial(folder: Path) -> None:
    run("--executor", "in-process")
    (folder / "data").rename(folder / "moved")
    table = experiment(
        *("run", "example/ladders.toml", "--root", str(folder / "moved"), *SHORT),
        *("--executor", "in-process", "--format", "markdown"),
    )
    assert "--root moved" in table, "the command has no folder of this machine"
    with Store("runs/ladders.sqlite") as store:
        assert len(store.trials()) == len(store.results()) == 6


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ladders.data:load", "ladders.dada:load", "No module named 'ladders.dada'"),
        ("ladders.data:load", "ladders.data:laod", r"has no 'laod'. Did you mean 'load'\?"),
        ("ladders.nets:SumNet", "ladders.nets:SumParameters", "must be a subclass of"),
        ("num_steps =", "num_step =", r"SumNet has no parameter 'num_step'.* 'num_steps'\?"),
        ("num_steps = [1, 2]", "num_steps = -1", "num_steps must be an integer from 0 to 100"),
    ],
)
def test_errors_come_before_the_first_trial(
    folder: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    monkeypatch.setattr("clipgnn.commands.experiment.make_executor", lambda *_: 1 / 0)
    path = folder / "example" / "ladders.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ClipGNNError, match=message) as caught:
        run()
    assert len(str(caught.value).splitlines()) == 1
    assert not (folder / "runs").exists()
