"""Networks of users in experiments: the hash of their source, and their parameters.

Torch is imported inside the functions, so that stores and reports work without it.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.experiments.experiment import Experiment, ModelRow
from clipgnn.experiments.machine import hash_of_files
from clipgnn.experiments.trial import Trial
from clipgnn.parameters import Parameters, Recipe
from clipgnn.parameters.import_paths import top_level

if TYPE_CHECKING:
    from clipgnn.nn.network import Network

_LIBRARIES = ("abc", "builtins", "clipgnn", "torch", "typing")
"""Top-level modules of base classes whose versions results record instead of their source."""


def source_of(path: str) -> str:
    """Import a network of the user and return a hash of its source.

    The hash covers all Python files of its top-level package, and of those of its base classes.

    Raises:
        InvalidParameterError: if the network cannot be imported or has no source files, or the
            source has changed since this process imported it.
    """
    network, imported = _imported(path)
    current = _hash(path, network)
    if current != imported:
        raise InvalidParameterError(
            f"The source of {path!r} must not change while Python runs, because a module is "
            f"imported only once. Got {current} instead of {imported}. Start Python again."
        )
    return current


def check_source(trial: Trial) -> None:
    """Check that the network of a trial, as this process has imported it, has the trial's source.

    Raises:
        InvalidParameterError: if it does not.
    """
    _, imported = _imported(trial.model)
    if imported != trial.model_source:
        raise InvalidParameterError(
            f"The source of {trial.model!r} must have the hash {trial.model_source} of this run. "
            f"Got {imported}. Use the same source on every machine and during the whole run, or "
            "start the run again if the change was intended."
        )


def check_parameters(experiment: Experiment, row: ModelRow) -> None:
    """Check the values of a row whose model is a network of the user.

    Raises:
        InvalidParameterError: if the network has no such parameter or does not allow a value, or
            if a table for all rows has one of its parameters.
    """
    network, _ = _imported(row.model)
    schema, at = network.schema, f"{experiment.name}: the row {row.name!r}"
    if conflicts := sorted(set(schema.names()) & set(Recipe.names())):
        raise InvalidParameterError(
            f"{at}: parameters of {row.model!r} must not have the names of the recipe's values. "
            f"Got {conflicts[0]!r}. Rename it."
        )
    _check_shared(experiment, row, schema, at)
    for axes in (row.axes, *row.only.values()):
        own = {key: values for key, values in axes.items() if key not in Recipe.names()}
        try:
            schema.check_names(own, schema.chosen())
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{at}: {error}") from error
        for key, values in own.items():
            rule = schema.rules()[key]
            for value in values:
                if not rule.accepts_toml(value):
                    raise InvalidParameterError(
                        f"{at}: {key} must be {rule.in_toml()}. Got {shown(value)}."
                        f"{rule.hint(value)}"
                    )


def _check_shared(experiment: Experiment, row: ModelRow, schema: type[Parameters], at: str) -> None:
    """Check that no value for all rows is meant for this row, which does not use it."""
    for dataset in row.datasets:
        own = row.only.get(dataset, {})
        shared = {
            "[grid]": experiment.grid.keys() - row.axes.keys() - own.keys(),
            f"[only.{dataset}]": experiment.only.get(dataset, {}).keys() - own.keys(),
        }
        for table, keys in shared.items():
            if left := [key for key in schema.chosen() if key in keys]:
                raise InvalidParameterError(
                    f"{at}: {left[0]} must be in the row's own table, because parameters of a "
                    f"network of your own are not read from {table}. Got it there only. Add it to "
                    f"[[models]]{' or [models.only]' if table != '[grid]' else ''}."
                )


@cache
def _imported(path: str) -> tuple[type["Network"], str]:
    """Import a network; return it with the hash of its source at that time."""
    from clipgnn.training.models import network_named

    network = network_named(path)
    return network, _hash(path, network)


def _hash(path: str, network: type["Network"]) -> str:
    bases = {top_level(own.__module__) for own in network.__mro__}
    contents: dict[str, bytes] = {}
    for name in sorted({top_level(path), *bases}.difference(_LIBRARIES)):
        contents.update(_files(name, path))
    return hash_of_files(contents)


def _files(name: str, path: str) -> dict[str, bytes]:
    """Read the Python files of a top-level package or module, by their names from there."""
    try:
        spec = None if name == "__main__" else find_spec(name)
    except ValueError:  # a module that was not imported from a file
        spec = None
    files: dict[str, Path] = {}
    if spec is not None and spec.submodule_search_locations:
        for folder in map(Path, spec.submodule_search_locations):
            for file in folder.rglob("*.py"):
                files.setdefault(f"{name}/{file.relative_to(folder).as_posix()}", file)
    elif spec is not None and spec.origin and spec.origin.endswith(".py"):
        files[f"{name}.py"] = Path(spec.origin)
    if not files:
        raise InvalidParameterError(
            f"The source of {path!r} must be Python files, which every process can import. "
            f"{name!r} has none."
        )
    return {own: file.read_bytes() for own, file in files.items()}
