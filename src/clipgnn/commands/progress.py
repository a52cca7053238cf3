"""Progress of a run on the terminal: a bar, or plain lines where there is no terminal."""

import logging
import time
from types import TracebackType

from rich.console import Console

from clipgnn.commands.flags import with_flag
from clipgnn.errors import one_line
from clipgnn.experiments.run import RunProgress
from clipgnn.progress import progress_bars, time_left

LINE_SECONDS = 30.0
"""Minimum number of seconds between two lines where there is no terminal."""


class ProgressDisplay(logging.Handler):
    """Display of the progress of a run, and of the messages that the library logs meanwhile.

    Args:
        name: name of the experiment.
        console: console to print to, made by `terminal`.
        quiet: whether to show failures and messages only.
    """

    def __init__(self, name: str, console: Console, *, quiet: bool = False) -> None:
        super().__init__(logging.INFO)
        self._name = name
        self._console = console
        self._began = time.monotonic()
        self._printed = -LINE_SECONDS
        self._failure: str | None = None
        self._logger = logging.getLogger("clipgnn")
        self._level = self._logger.level
        self._quiet = quiet
        self._bars = progress_bars("trials", console, shown=not quiet)
        self._task = self._bars.add_task(name, total=None)

    def __enter__(self) -> "ProgressDisplay":
        self._logger.addHandler(self)
        self._logger.setLevel(logging.INFO)
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()
        self._logger.removeHandler(self)
        self._logger.setLevel(self._level)

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message of the library."""
        message = with_flag(record.getMessage(), getattr(record, "parameter", None))
        self._console.print(one_line(message), style="yellow")

    def show(self, progress: RunProgress) -> None:
        """Show the progress of the run."""
        if progress.last_failure != self._failure:
            self._failure = progress.last_failure
            failure = one_line(progress.last_failure or "")
            self._console.print(f"failed: {failure}", style="red")
        counts = f", {progress.failed} failed" if progress.failed else ""
        counts += f", {progress.diverged} diverged" if progress.diverged else ""
        counts += f", {progress.unsaved} not written yet" if progress.unsaved else ""
        self._bars.update(
            self._task,
            description=f"{self._name}{counts}",
            total=progress.total,
            completed=progress.finished + progress.diverged,
        )
        now = time.monotonic()
        if (
            not self._quiet
            and not self._console.is_terminal
            and (progress.ended or now - self._printed >= LINE_SECONDS)
        ):
            self._printed = now
            self._console.print(
                f"{self._name}: {progress.finished} of {progress.total} trials{counts}"
                f"{self._time_left(progress, now - self._began)}",
            )

    def _time_left(self, progress: RunProgress, elapsed: float) -> str:
        new = progress.finished - progress.reused
        return time_left(elapsed, new, progress.total - progress.finished - progress.diverged)
