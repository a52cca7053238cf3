"""Warnings of the library as lines of the command line."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clipgnn.commands.terminal import terminal
from clipgnn.errors import one_line


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each different warning once, as a line on standard error."""
    seen: set[str] = set()
    console = terminal(stderr=True)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        line = one_line(str(message))
        if line not in seen:
            seen.add(line)
            console.print(line, style="yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.showwarning = show
        yield
