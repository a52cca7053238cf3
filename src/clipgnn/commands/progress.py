"""How far a run is, on the terminal: a bar with the time left, or now and then a plain line."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from clipgnn.errors import one_line
from clipgnn.experiments.run import Progress

LINE_SECONDS = 30.0
"""Where there is no terminal, how often a line is printed at most."""


class ProgressDisplay:
    """Shows the progress of a run.

    Args:
        name: what is running.
        console: where to show it, made by `terminal`.
    """

    def __init__(self, name: str, console: Console) -> None:
        self._name = name
        self._console = console
        self._began = time.monotonic()
        self._printed = -LINE_SECONDS
        self._failure: str | None = None
        self._notice: str | None = None
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("trials"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            speed_estimate_period=3600,  # a trial can take many minutes
        )
        self._task = self._bars.add_task(name, total=None)

    def __enter__(self) -> "ProgressDisplay":
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def tell(self, progress: Progress) -> None:
        """Show this progress."""
        if progress.last_failure != self._failure:
            self._failure = progress.last_failure
            failure = one_line(progress.last_failure or "")
            self._console.print(f"failed: {failure}", style="red")
        if progress.notice != self._notice:
            self._notice = progress.notice
            notice = one_line(progress.notice or "")
            self._console.print(notice, style="yellow")
        failed = f", {progress.failed} failed" if progress.failed else ""
        failed += f", {progress.diverged} diverged" if progress.diverged else ""
        failed += f", {progress.unsaved} not written yet" if progress.unsaved else ""
        self._bars.update(
            self._task,
            description=f"{self._name}{failed}",
            total=progress.total,
            completed=progress.finished + progress.diverged,
        )
        now = time.monotonic()
        if not self._console.is_terminal and (progress.over or now - self._printed >= LINE_SECONDS):
            self._printed = now
            self._console.print(
                f"{self._name}: {progress.finished} of {progress.total} trials{failed}"
                f"{self._time_left(progress, now - self._began)}",
            )

    def _time_left(self, progress: Progress, elapsed: float) -> str:
        new = progress.finished - progress.reused
        left = progress.total - progress.finished - progress.diverged
        if not new or not left:
            return ""
        minutes = elapsed / new * left / 60
        return f", about {minutes:.0f} min left" if minutes >= 1 else ", under a minute left"
