"""Translation of parameter names, which library messages use, to flags of the command line."""

import re
from collections.abc import Iterable


def with_flag(message: str, parameter: str | None) -> str:
    """Replace the first occurrence of a parameter's name in a message by its flag.

    Args:
        message: message of the library.
        parameter: name of the parameter; None leaves the message unchanged.

    Example:
        >>> with_flag("job_timeout must be positive. Got 0.", "job_timeout")
        '--job-timeout must be positive. Got 0.'
    """
    if parameter is None:
        return message
    flag = f"--{parameter.replace('_', '-')}"
    # Not inside of a path, whose folders can be named like a parameter.
    return re.sub(rf"(?<![\w/.-]){re.escape(parameter)}(?![\w/-]|\.\w)", flag, message, count=1)


def with_flags(message: str, parameters: Iterable[str]) -> str:
    """Replace the names of parameters in a message by their flags.

    Names of one word are replaced only where they are certainly names: at the beginning of the
    message, and in "The 'name' parameter of".

    Args:
        message: message of the library.
        parameters: names of the parameters that are flags.

    Example:
        >>> names = ["epochs", "num_colors"]
        >>> with_flags("The 'epochs' parameter of CLIPClassifier must be positive.", names)
        '--epochs must be positive.'
        >>> with_flags("Train with num_colors=4 and more epochs.", names)
        'Train with --num-colors=4 and more epochs.'
        >>> with_flags('Use coloring="canonical".', [*names, "coloring"])
        'Use --coloring=canonical.'
    """
    names = "|".join(sorted(parameters, key=len, reverse=True))
    message = re.sub(rf"The '({names})' parameter of \w+", r"\1", message)
    message = re.sub(
        rf'(?<![\w/.-])({names})="([\w-]+)"',
        lambda found: f"--{_dashed(found[1])}={found[2]}",
        message,
    )
    first = re.match(rf"({names})\b", message)
    if first:
        message = f"--{_dashed(first[1])}{message[first.end() :]}"
    several_words = "|".join(name for name in names.split("|") if "_" in name)
    return re.sub(
        rf"(?<![\w/.-])({several_words})\b", lambda found: f"--{_dashed(found[1])}", message
    )


def _dashed(name: str) -> str:
    return name.replace("_", "-")
