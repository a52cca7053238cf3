"""Printing to the terminal: text is shown as it is, never read as markup or emoji."""

from rich.console import Console


def terminal(*, stderr: bool = False) -> Console:
    """A console for standard output, or for messages to standard error."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)
