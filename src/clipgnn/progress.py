"""What displays of progress have in common: a bar for terminals, and a text of the time left."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SPEED_SECONDS = 3600.0
"""Seconds over which the speed is averaged: a step can take many minutes."""


def progress_bars(
    unit: str, console: Console, *, shown: bool = True, description: str = "{task.description}"
) -> Progress:
    """Return bars with a description, a count and the time left; hidden without a terminal.

    Args:
        unit: what is counted, in the plural.
        console: where to show them.
        shown: whether to show them.
        description: format of the description.
    """
    return Progress(
        TextColumn(description, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
        console=console,
        disable=not shown or not console.is_terminal,
        speed_estimate_period=SPEED_SECONDS,
    )


def time_left(elapsed: float, done: int, left: int) -> str:
    """Describe the time left, for the end of a line; nothing before the first step.

    Example:
        >>> time_left(60.0, 2, 4), time_left(1.0, 2, 4), time_left(1.0, 0, 4)
        (', about 2 min left', ', under a minute left', '')
    """
    if not done or not left:
        return ""
    minutes = elapsed / done * left / 60
    return f", about {minutes:.0f} min left" if minutes >= 1 else ", under a minute left"
