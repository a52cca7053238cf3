"""Import paths: objects of a user's own modules, written as "module:attribute".

Importing a module runs its code. Only functions whose names say so import; checks of names do not.
"""

import re
import sys
import traceback
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from clipgnn.errors import InvalidParameterError, suggestion

EXAMPLE = "my_package.nets:Net"
"""An import path for messages."""

_NAME = r"[^\W\d]\w*"
_PATH = re.compile(rf"{_NAME}(\.{_NAME})*:{_NAME}")


def is_import_path(name: object) -> bool:
    """Return whether a name has the form of an import path; imports nothing.

    Example:
        >>> is_import_path("my_package.nets:Net"), is_import_path("clip")
        (True, False)
    """
    return isinstance(name, str) and _PATH.fullmatch(name) is not None


def top_level(path: str) -> str:
    """Return the package or module of an import path at the top level.

    Example:
        >>> top_level("my_package.nets:Net")
        'my_package'
    """
    return path.partition(":")[0].partition(".")[0]


def search_in(folders: Iterable[str]) -> None:
    """Let this process find modules in folders too, after all other modules."""
    sys.path += [folder for folder in dict.fromkeys(folders) if folder not in sys.path]


def import_object(path: str) -> Any:
    """Import the object of an import path, which runs the code of its module.

    Raises:
        InvalidParameterError: if there is no such module or attribute, or the import raises.
    """
    name, _, attribute = path.partition(":")
    try:
        module = import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise InvalidParameterError(
                f"The module of {path!r} must be found by Python. Got: {error}. Check the "
                "spelling, run the command in the folder of the package, or set PYTHONPATH."
            ) from error
        raise InvalidParameterError(
            f"The module of {path!r} must be importable. The import raised {described(error)}."
        ) from error
    try:
        return getattr(module, attribute)
    except AttributeError as error:
        known = [own for own in vars(module) if not own.startswith("_")]
        raise InvalidParameterError(
            f"{path!r} must be the import path of an object. The module {name!r} has no "
            f"{attribute!r}.{suggestion(attribute, known)}"
        ) from error


def described(error: BaseException) -> str:
    """Return an error of a user's code in one line, with its place in this code.

    Args:
        error: an error that was raised, with its traceback.
    """
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    places = [frame for frame in frames if _is_own(frame.filename)]
    if not places or isinstance(error, SyntaxError):  # whose text has the place
        return text
    return f"{text} ({Path(places[-1].filename).name}, line {places[-1].lineno})"


def _is_own(file: str) -> bool:
    """Return whether a file is neither of this package, nor of Python, nor installed."""
    others = (Path(__file__).parents[1], Path(sys.prefix), Path(sys.base_prefix))
    return not file.startswith("<") and not any(Path(file).is_relative_to(own) for own in others)
