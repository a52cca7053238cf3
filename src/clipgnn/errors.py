"""Every error clipgnn raises on purpose: one base, and a subclass for each kind of cause.

Each subclass also inherits the built-in a caller would expect, so that `except ValueError` works.
A message states the requirement, the received value and the fix.
"""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST_SHOWN = 200
"""Characters of a value in a message."""


class ClipGNNError(Exception):
    """Base of all errors of this package."""


class InvalidGraphError(ClipGNNError, ValueError):
    """Node attributes, edges or batch vector do not describe a batch of graphs."""


class InvalidColoringError(ClipGNNError, ValueError):
    """Colors, groups or a number of colorings that cannot be used."""


class TooManyColoringsError(InvalidColoringError):
    """All colorings were asked for, and there are too many to enumerate."""


class InvalidParameterError(ClipGNNError, ValueError):
    """A parameter of a model or function has a value it cannot have."""


class UnsupportedTransformError(ClipGNNError, NotImplementedError):
    """A transform of torch, such as `torch.func.vmap`, that a model does not support."""


class ModelFileError(ClipGNNError, ValueError):
    """A file is not a model saved by clipgnn, or is damaged."""


class ModelNotFoundError(ClipGNNError, FileNotFoundError):
    """There is no model file with this name."""


class OutputError(ClipGNNError, OSError):
    """A file cannot be written; an earlier file of that name is unchanged."""


class DatasetNotFoundError(ClipGNNError, FileNotFoundError):
    """A data set is not where it was looked for, and could not be downloaded either."""


class DatasetFileError(ClipGNNError, ValueError):
    """Files of a data set are missing, damaged or contradict each other."""


class InvalidSpecError(ClipGNNError, ValueError):
    """An experiment's description asks for something that does not exist or cannot be."""


class StoreError(ClipGNNError, OSError):
    """A store of results cannot be opened, read or written; what it held is still there."""


class StoreLockedError(StoreError):
    """A store of results is locked by another process for longer than the caller waits."""


class MissingDependencyError(ClipGNNError, ImportError):
    """An optional package is needed and not installed."""


def suggestion(name: object, known: Iterable[str]) -> str:
    """A closing " Did you mean 'relu'?", or nothing when no known name is close."""
    if not isinstance(name, str):
        return ""
    by_lower_case = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), by_lower_case, n=1)
    return f" Did you mean {by_lower_case[close[0]]!r}?" if close else ""


def one_line(text: str) -> str:
    r"""The text as one line of printable characters; all others are shown as Python escapes.

    Example:
        >>> print(one_line("two\nlines"))
        two\nlines
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def counted(number: int, noun: str) -> str:
    """A number and its noun, with an s unless the number is one.

    Example:
        >>> counted(1, "trial"), counted(2, "trial")
        ('1 trial', '2 trials')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shown(value: object) -> str:
    """A value in a message: its `repr`, shortened where it is long.

    Python refuses to print integers of more than 4,300 digits, also inside a list; a class may
    refuse for reasons of its own. Such values are described instead.

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
