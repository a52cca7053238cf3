"""Stores of experiments by name or path."""

from pathlib import Path

from clipgnn.errors import StoreError
from clipgnn.experiments.store import Store

ENDING = ".sqlite"
"""Ending of the files of stores."""


def experiment_name(name: str) -> str:
    """Return the name of an experiment that was given by name or by the path of its file."""
    return Path(name).name.removesuffix(".toml")


def default_store(name: str) -> Path:
    """Return the store of an experiment that was given by name or by the path of its file."""
    return Path("runs") / f"{experiment_name(name)}{ENDING}"


def is_store_path(text: str) -> bool:
    """Return whether an argument is the path of a store, rather than the name of an experiment."""
    path = Path(text)
    if path.suffix == ".toml":
        return False
    return path.suffix == ENDING or len(path.parts) != 1 or path.is_file()


def check_exists(path: Path, name: str, option: str = "--store") -> None:
    """Check that the store of an experiment exists.

    Args:
        path: path of the store.
        name: name of the experiment.
        option: option or argument of the command that is the path of a store.

    Raises:
        StoreError: if it does not.
    """
    if not path.exists():
        raise StoreError(
            f"There is no store {path}. Run `clipgnn experiment run {name}` first, or give its "
            f"path as {option}."
        )


def open_store(path: Path, name: str, option: str = "--store") -> Store:
    """Open the store of an experiment; the arguments are those of `check_exists`.

    Raises:
        StoreError: if it does not exist, or is damaged or not a store.
    """
    check_exists(path, name, option)
    return Store(path)
