"""Output to the terminal: text is printed unchanged, never parsed as markup or emoji.

Lines are not wrapped: a log or a pipe has no width, and a terminal wraps them itself. Tables are
printed with `soft_wrap=False`, so that they fit the terminal.
"""

from rich.console import Console


def terminal(*, stderr: bool = False) -> Console:
    """Return a console for standard output or standard error."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
