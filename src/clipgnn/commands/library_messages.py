"""Messages of the library as lines of the command line, with flags instead of parameters."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from clipgnn.commands.flags import with_flags
from clipgnn.commands.learning import LearningOptions
from clipgnn.commands.terminal import terminal
from clipgnn.errors import ClipGNNError, one_line

FLAGS = [own.name for own in fields(LearningOptions)]
"""Parameters of estimators that are flags."""


@contextmanager
def library_messages() -> Iterator[None]:
    """Print each different warning once, as a line on standard error; translate errors too."""
    seen: set[str] = set()
    console = terminal(stderr=True)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        line = one_line(with_flags(str(message), FLAGS))
        if line not in seen:
            seen.add(line)
            console.print(line, style="yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.showwarning = show
        try:
            yield
        except ClipGNNError as error:
            message = with_flags(str(error), FLAGS)
            if message == str(error):
                raise
            raise type(error)(message) from error
