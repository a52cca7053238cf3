"""Exceptions of the package: one base class, and a subclass for each kind of cause.

Each subclass also inherits the built-in exception a caller would expect, so that
`except ValueError` works. A message states the requirement, the received value and the fix.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

_LONGEST_SHOWN = 200
"""Maximum number of characters of a value in a message."""


class ClipGNNError(Exception):
    """Base class of all errors of this package."""


class InvalidGraphError(ClipGNNError, ValueError):
    """Node attributes, edges or batch vector that do not describe a batch of graphs."""


class InvalidColoringError(ClipGNNError, ValueError):
    """Invalid colors, groups or number of colorings."""


class TooManyColoringsError(InvalidColoringError):
    """Request for all colorings of a graph that has too many to enumerate."""


class InvalidParameterError(ClipGNNError, ValueError):
    """Invalid value of a parameter of a model or function.

    Args:
        message: the message.
        parameter: name of the parameter in the message, which the command line replaces by its
            flag.
    """

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class UnsupportedTransformError(ClipGNNError, NotImplementedError):
    """Torch transform, such as `torch.func.vmap`, that a model does not support."""


class DivergedError(ClipGNNError, ArithmeticError):
    """A training whose loss or score is no longer finite."""


class DivergedPairError(DivergedError):
    """A training on a pair of graphs, likewise.

    Args:
        message: the message.
        pair: number of the pair, from 1.
    """

    def __init__(self, message: str, pair: int) -> None:
        super().__init__(message, pair)  # both, so that processes can send it to others
        self.pair = pair

    def __str__(self) -> str:
        return str(self.args[0])


class ModelFileError(ClipGNNError, ValueError):
    """File that is damaged or is not a model saved by clipgnn."""


class ModelNotFoundError(ClipGNNError, FileNotFoundError):
    """Model file that does not exist."""


class OutputError(ClipGNNError, OSError):
    """File that cannot be written; an earlier file of that name is unchanged."""


class DatasetNotFoundError(ClipGNNError, FileNotFoundError):
    """Data set that was not found and could not be downloaded.

    `parameter` is the name of the folder's parameter in the message, which the command line
    replaces by its flag.
    """

    parameter = "root"


class DatasetFileError(ClipGNNError, ValueError):
    """Files of a data set that are missing, damaged or inconsistent."""


class InvalidExperimentError(ClipGNNError, ValueError):
    """Experiment file with an unknown key or an invalid value."""


class StoreError(ClipGNNError, OSError):
    """Store of results that cannot be opened, read or written; its content is unchanged."""


class DamagedStoreError(StoreError):
    """Store with damaged rows, which `clipgnn.experiments.repair` deletes.

    Args:
        message: the message.
        path: file of the store.
    """

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


class StoreLockedError(StoreError):
    """Store that another process keeps locked for longer than the caller waits."""


class WorkerError(ClipGNNError, RuntimeError):
    """Worker process that was killed; what was finished before is kept."""


class MissingDependencyError(ClipGNNError, ImportError):
    """Optional package that is required and not installed."""


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return " Did you mean 'relu'?" for the closest known name, or "" if none is close.

    A name that begins with the given one and a hyphen is close.
    """
    if not isinstance(name, str):
        return ""
    by_lower_case = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), by_lower_case, n=1) or [
        candidate for candidate in by_lower_case if candidate.startswith(f"{name.lower()}-")
    ]
    return f" Did you mean {by_lower_case[close[0]]!r}?" if close else ""


def one_line(text: str) -> str:
    r"""Return the text as one line of printable characters; others become Python escapes.

    Example:
        >>> print(one_line("two\nlines"))
        two\nlines
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, with an s unless the number is one.

    Example:
        >>> counted(1, "trial"), counted(2, "trial")
        ('1 trial', '2 trials')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str]) -> str:
    """Return names as a list in a sentence.

    Example:
        >>> listed(["a", "b", "c"]), listed(["a"])
        ('a, b and c', 'a')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def shown(value: object) -> str:
    """Return a value for a message: its `repr`, shortened if it is long.

    Values whose `repr` raises an exception are described instead; for example, Python does not
    print integers of more than 4,300 digits.

    Example:
        >>> print(shown("relu"), shown(10**5000), shown([10**5000]), sep="; ")
        'relu'; an integer of 16610 bits; a value of type list that cannot be printed
    """
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except Exception:
        return f"a value of type {type(value).__name__} that cannot be printed"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
