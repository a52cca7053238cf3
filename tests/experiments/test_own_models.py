"""Data sets and networks of users in experiments: what is read, checked, recorded and trained."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.own_files import DATA, NETS, write_package

from clipgnn.errors import DatasetFileError, InvalidExperimentError, InvalidParameterError
from clipgnn.experiments import own_models
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.data import _joined
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.plans import stored_experiment
from clipgnn.experiments.preparing import prepare_experiment
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.work import run_trials
from clipgnn.training.models import ModelSpec, network_named

NUMBERS = count()


class Package:
    """A package of a user in a folder, and experiments with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"own_package_{next(NUMBERS)}"
        self.options = RunOptions(search_path=(str(folder),))

    @property
    def net(self) -> str:
        return f"{self.name}.nets:Net"

    @property
    def load(self) -> str:
        return f"{self.name}.data:load"

    def write(self, data: str = DATA, nets: str = NETS) -> None:
        """Write the modules and forget the imported ones, as a new process has not any."""
        write_package(self.folder, self.name, data=data, nets=nets)
        for module in [own for own in sys.modules if own.partition(".")[0] == self.name]:
            del sys.modules[module]
        own_models._imported.cache_clear()
        _joined.cache_clear()

    def experiment(self, row: dict[str, Any] | None = None, **changes: Any) -> Experiment:
        content = {
            "datasets": [self.load],
            "folds": 2,
            "grid": {"epochs": 2, "batch_size": 4},
            "models": [{"name": "own", "model": self.net, **(row or {})}],
            **changes,
        }
        return parse_experiment(content, "own", "own.toml")

    def run(self, experiment: Experiment) -> int:
        """Run an experiment; return the number of trials that had a result before."""
        prepared = prepare_experiment(experiment, self.options)
        work = partial(run_trials, search_path=self.options.search_path)
        with Store(self.folder / "own.sqlite", create=True) as store:
            progress = run_experiment(prepared, store, InProcessExecutor(work))
        assert progress.finished == progress.total, progress.last_failure
        return progress.reused


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # sources change within a second
    package = Package(tmp_path)
    package.write()
    yield package
    package.write()  # forgets its modules


def test_reading_imports_nothing(package: Package) -> None:
    spec = package.experiment({"width": [1, 2], "bias": "none", "learning_rate": 0.1})
    assert spec.own_models == (package.net,)
    assert spec.data_names == (package.load, package.net)
    assert len(spec.trials()) == 4
    assert spec.trials()[0].parameters == {"width": 1, "bias": "none"}
    assert spec.trials()[0].recipe["learning_rate"] == 0.1
    assert parse_experiment(spec.content(), "own", "own.sqlite") == spec
    assert package.name not in sys.modules


def test_folders_are_searched_only_for_import_paths(package: Package) -> None:
    spec = package.experiment(datasets=["csl"], models=[{"model": "gin", "num_layers": 1}])
    trials = prepare_experiment(spec, package.options).trials()
    assert str(package.folder) not in sys.path
    assert not spec.uses_own_code
    run_trials(trials[:1], search_path=package.options.search_path)
    assert str(package.folder) not in sys.path
    prepare_experiment(package.experiment(models=[{"model": "gin"}]), package.options)
    assert str(package.folder) in sys.path


def test_values_of_rows_and_data_sets(package: Package) -> None:
    both = {"datasets": ["csl", package.load]}
    spec = package.experiment(
        {"width": [1, 2], "only": {"csl": {"width": 3}}}, only={"csl": {"epochs": 7}}, **both
    )
    csl, own = (spec.axes(spec.rows[0], name) for name in spec.datasets)
    assert (csl["width"], csl["epochs"]) == ((3,), (7,))
    assert (own["width"], own["epochs"]) == ((1, 2), (2,))
    part = Overrides(where={"width": (2,)}, datasets=[package.load], epochs=9)(spec)
    assert [trial.parameters for trial in part.trials()] == [{"width": 2}] * 2
    assert {trial.recipe["epochs"] for trial in part.trials()} == {9}


def test_an_experiment_is_trained_once(package: Package) -> None:
    spec = package.experiment({"width": [1, 2], "bias": "none", "keep_predictions": True})
    assert package.run(spec) == 0
    assert package.run(spec) == 4
    with Store(package.folder / "own.sqlite") as store:
        stored = stored_experiment(store)
        assert stored.trials() == store.trials()
        assert {trial.model_source for trial in store.trials()} == {stored.data[package.net]}
    assert prepare_experiment(stored, package.options) == stored


def test_changed_source_is_a_new_trial_and_a_resumed_run_refuses_it(package: Package) -> None:
    spec = package.experiment()
    assert package.run(spec) == 0
    with Store(package.folder / "own.sqlite") as store:
        stored = stored_experiment(store)
    package.write(nets=f"{NETS}\n# changed\n")
    with pytest.raises(InvalidParameterError, match=rf"source of '{package.net}' must have the ha"):
        prepare_experiment(stored, package.options)
    assert package.run(spec) == 0
    package.write()
    assert package.run(spec) == 2


def test_a_change_of_the_source_is_reported(
    package: Package, caplog: pytest.LogCaptureFixture
) -> None:
    package.run(package.experiment())
    package.write(data=f"{DATA}\n# in the same package\n")
    package.run(package.experiment())
    assert f"{package.net} has changed since the last run" in caplog.text
    assert "2 results of the old source are kept and not used." in caplog.text


def test_data_are_compared_by_content_and_not_by_source(package: Package) -> None:
    clip = {"model": "clip", "num_colorings": 1, "hidden_channels": 2, "num_layers": 1}
    spec = package.experiment(models=[clip])
    assert package.run(spec) == 0
    package.write(data=f"{DATA}\n# changed\n")
    assert package.run(spec) == 2
    package.write(data=DATA.replace("range(4, 10)", "range(5, 11)"))
    assert package.run(spec) == 0


def test_a_worker_with_other_source_or_data_refuses_the_trial(package: Package) -> None:
    trial = prepare_experiment(package.experiment(), package.options).trials()[0]
    with pytest.raises(InvalidParameterError, match=r"must have the hash other of this run. Got"):
        run_trials([replace(trial, model_source="other")])
    with pytest.raises(DatasetFileError, match="same source, which returns the same graphs in eve"):
        run_trials([replace(trial, data="other")])


def test_source_that_changes_while_python_runs(package: Package) -> None:
    prepared = prepare_experiment(package.experiment(), package.options)
    (package.folder / package.name / "nets.py").write_text(f"{NETS}\n# changed\n")
    with pytest.raises(InvalidParameterError, match="must not change while Python runs"):
        prepare_experiment(package.experiment(), package.options)
    run_trials(prepared.trials()[:1])  # with the source that was imported


def test_the_source_of_bases_is_part_of_the_hash(package: Package) -> None:
    (package.folder / f"{package.name}_module.py").write_text(
        f"from {package.name}.nets import Net\n\n\nclass Other(Net):\n    pass\n"
    )
    path = f"{package.name}_module:Other"
    spec = package.experiment({"model": path})
    first = prepare_experiment(spec, package.options).data[path]
    package.write(nets=f"{NETS}\n# changed\n")
    del sys.modules[f"{package.name}_module"]
    assert prepare_experiment(spec, package.options).data[path] != first


def test_a_specification_can_name_it(package: Package) -> None:
    prepare_experiment(package.experiment(), package.options)
    assert network_named(package.net).__name__ == "Net"
    assert ModelSpec(package.net).parameters == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": ["my.data:load@edge_labels"]}, "must not have an option after @"),
        ({"datasets": ["my.data.load"]}, "one of your own 'module:function'"),
        ({"datasets": ["my data:load"]}, "one of your own 'module:function'"),
        ({"models": [{"model": "my.nets.Net"}]}, "of your own is written 'module:Class'"),
        ({"fresh": True}, "fresh: must be false, or absent, for data sets that are not generated"),
        ({"groups": "pairs"}, 'groups: groups must not be "pairs"'),
        ({"grid": {"width": 1}}, r"grid.width: is an unknown key. .*in its table \[\[models\]\]"),
        ({"row": {"width": [[1]]}}, "width: must be a finite number"),
        ({"row": {"width": {}}}, "width: must be a finite number"),
        ({"row": {"width": float("nan")}}, "width: must be a finite number"),
        ({"row": {"width": 2**63}}, "width: must be a finite number"),
        ({"row": {"width": "a\nb"}}, "width: must be a finite number"),
        ({"row": {"width": []}}, "width: must have at least one value"),
        ({"row": {"a b": 1}}, "a b: is an unknown key"),
        ({"row": {"epochs": 0}}, "epochs: must be an integer from 1"),
        ({"row": {"keep_models": True}}, "keep_models: must be false for .*keep_predictions"),
        ({"keep_models": True}, "keep_models: must be false for .*keep_predictions"),
    ],
)
def test_files_that_are_refused(changes: dict[str, Any], message: str) -> None:
    changes = dict(changes)
    row = {"model": "my.nets:Net", **changes.pop("row", {})}
    content = {"datasets": ["my.data:load"], "models": [row], **changes}
    with pytest.raises(InvalidExperimentError, match=message):
        parse_experiment(content, "own", "own.toml")


@pytest.mark.parametrize(
    ("row", "changes", "message"),
    [
        ({"widht": 2}, {}, r"^own: the row 'own': Net has no parameter 'widht'.*mean 'width'\?"),
        ({"width": 0}, {}, r"own': width must be an integer from 1 to 64. Got 0"),
        ({"width": "none"}, {}, "width must be an integer from 1 to 64. Got 'none'"),
        ({"only": {"csl": {"width": 0}}}, {"datasets": ["csl"]}, "width must be an integer"),
        ({"num_members": 2}, {}, "Net has no parameter 'num_members'"),
        ({"in_channels": 2}, {}, "Net has no parameter 'in_channels'"),
    ],
)
def test_parameters_that_are_refused(
    package: Package, row: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        prepare_experiment(package.experiment(row, **changes), package.options)


@pytest.mark.parametrize("table", ["grid", "only"])
def test_a_value_for_all_rows_is_not_silently_left_out(package: Package, table: str) -> None:
    package.write(nets=NETS.replace("width", "hidden_channels"))
    values = {"hidden_channels": 8}
    shared = {"grid": values} if table == "grid" else {"only": {"csl": values}}
    models: list[dict[str, Any]] = [{"model": "clip"}, {"model": package.net, "name": "own"}]
    spec = package.experiment(datasets=["csl"], models=models, **shared)
    with pytest.raises(InvalidParameterError, match=rf"hidden_channels must be .* not .*\[{table}"):
        prepare_experiment(spec, package.options)
    models[1] |= values if table == "grid" else {"only": {"csl": values}}
    spec = package.experiment(datasets=["csl"], models=models, **shared)
    assert prepare_experiment(spec, package.options).own_models == (package.net,)


@pytest.mark.parametrize(
    ("nets", "message"),
    [
        ("Net = 3", r"'own_package_\d+.nets:Net' must be a subclass of clipgnn.nn.network.Network"),
        ("Net = dict", "must be a subclass of clipgnn.nn.network.Network"),
        ("from clipgnn.nn.network import Network as Net", "with the method forward_batch"),
        (f"{NETS}\ndel Net.schema", "must have its parameters in the class attribute schema"),
        (NETS.replace("self.last = Lin", "1 / 0  #"), r"raised ZeroDiv.* \(nets.py, line \d+\)"),
        (NETS.replace(", bias=0.0)", ")"), "raised TypeError: .*'bias'|raised NameError"),
        (NETS.replace("width", "epochs"), "must not have the names of the recipe's values"),
        (NETS.replace("*self.config", "/0  #"), None),
    ],
)
def test_networks_that_are_refused(package: Package, nets: str, message: str | None) -> None:
    package.write(nets=nets)
    if message is None:  # an error of a trial, not of the network's construction
        assert prepare_experiment(package.experiment(), package.options).data
        return
    with pytest.raises(InvalidParameterError, match=message):
        prepare_experiment(package.experiment(), package.options)


def test_a_module_without_source(package: Package) -> None:
    (package.folder / package.name / "nets.py").unlink()
    spec = package.experiment()
    with pytest.raises(InvalidParameterError, match="must be found by Python"):
        prepare_experiment(spec, package.options)
    with pytest.raises(InvalidParameterError, match=r"must be Python files.*'builtins' has none"):
        own_models._files("builtins", "builtins:Net")
    with pytest.raises(InvalidParameterError, match="'__main__' has none"):
        own_models._files("__main__", "__main__:Net")


def test_a_network_of_clipgnn_by_its_path_has_no_source_of_its_own(package: Package) -> None:
    spec = package.experiment({"model": "clipgnn:GIN"})
    assert prepare_experiment(spec, package.options).data["clipgnn:GIN"]
