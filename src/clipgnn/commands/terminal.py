"""Printing to the terminal: text is shown as it is, never read as markup or emoji.

Lines are never broken here: a log or a pipe has no width, and a terminal breaks them itself. Tables
are printed with `soft_wrap=False`, so that they fit the terminal.
"""

from rich.console import Console


def terminal(*, stderr: bool = False) -> Console:
    """A console for standard output, or for messages to standard error."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
