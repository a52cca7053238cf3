"""Experiments from TOML files."""

import tomllib
from pathlib import Path

from clipgnn.errors import InvalidExperimentError, one_line, suggestion
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.experiment import Experiment
from clipgnn.parameters import LARGEST_INTEGER

MAX_BYTES = 2**20
"""Largest size of an experiment file."""


def find_experiment(name: str) -> Path:
    """The file of an experiment, by its path or by its name in `experiments/`.

    The folder is searched for in the working directory, beside the source, and in the installed
    package.

    Raises:
        InvalidExperimentError: if there is no such file.
    """
    path = Path(name)
    if path.suffix == ".toml" or len(path.parts) > 1:
        _check_file(path)
        return path
    package = Path(__file__).parents[1]
    folders = [Path("experiments"), package.parents[1] / "experiments", package / "tables"]
    known = {file.stem: file for folder in reversed(folders) for file in folder.glob("*.toml")}
    if name not in known:
        raise InvalidExperimentError(
            f"There is no experiment {name!r}. Use one of {', '.join(sorted(known)) or 'none'}, or "
            f"the path of a .toml file.{suggestion(name, known)}"
        )
    return known[name]


def read_experiment(path: Path) -> Experiment:
    """Read an experiment from a TOML file.

    Raises:
        InvalidExperimentError: if the file cannot be read, or has an unknown key or invalid value.
    """
    _check_file(path)
    try:
        with path.open("rb") as file:
            given = file.read(MAX_BYTES + 1)
        text = given.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidExperimentError(f"{path}: cannot be read: {error}.") from error
    if len(given) > MAX_BYTES:
        raise InvalidExperimentError(f"{path}: must be a file of at most {MAX_BYTES} bytes.")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidExperimentError(f"{path}: is not TOML: {one_line(str(error))}.") from error
    except ValueError as error:  # Python reads integers of at most 4300 digits
        raise InvalidExperimentError(
            f"{path}: must have integers of at most {LARGEST_INTEGER.bit_length()} bits: "
            "one has thousands of digits."
        ) from error
    except RecursionError as error:
        raise InvalidExperimentError(
            f"{path}: must not have lists or tables nested hundreds of levels deep."
        ) from error
    return parse_experiment(content, path.stem, str(path))


def _check_file(path: Path) -> None:
    """Refuse pipes and devices, because reading them might never end."""
    try:
        is_file = path.is_file()
    except OSError as error:
        raise InvalidExperimentError(f"{path}: cannot be read: {error.strerror}.") from error
    if not is_file:
        if path.exists():
            raise InvalidExperimentError(
                f"An experiment must be a regular file. {path} is not one."
            )
        raise InvalidExperimentError(f"There is no experiment file {path}.")
