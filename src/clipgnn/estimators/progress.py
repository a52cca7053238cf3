"""Progress of a training: a bar on a terminal, otherwise lines."""

import time
from types import TracebackType

from rich.console import Console

from clipgnn.parameters import Recipe
from clipgnn.progress import progress_bars
from clipgnn.training import Epoch

LINE_SECONDS = 10.0
"""Minimum number of seconds between two lines where there is no terminal."""


class TrainingProgress:
    """A callback of `train` that shows loss, validation score and time left.

    Args:
        recipe: the training recipe.
        num_members: number of networks that are trained.
        shown: whether to show anything.
        console: where to show it; by default the standard error.
    """

    def __init__(
        self, recipe: Recipe, num_members: int, *, shown: bool, console: Console | None = None
    ) -> None:
        self._shown = shown
        self._metric = recipe.score
        self._epochs, self._members = recipe.epochs, num_members
        self._console = console or Console(stderr=True)
        self._printed = time.monotonic()
        self._bars = progress_bars("epochs", self._console, shown=shown)
        self._task = self._bars.add_task("training", total=recipe.epochs * num_members)
        self._done: dict[int, int] = {}
        self._unprinted = ""

    def __enter__(self) -> "TrainingProgress":
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()
        if self._unprinted:
            self._console.print(self._unprinted, soft_wrap=True)

    def __call__(self, epoch: Epoch, first: int = 0) -> None:
        """Show an epoch.

        Args:
            epoch: the epoch.
            first: number of the first network of this call of `train`.
        """
        if not self._shown:
            return  # reading numbers would wait for a GPU
        self._done.update({first + own: epoch.number for own in epoch.members})
        text = f"loss {float(epoch.train_loss.mean()):.4f}"
        if epoch.validation_score is not None:
            text += f", validation {self._metric} {float(epoch.validation_score.mean()):.4f}"
        self._bars.update(self._task, description=text, completed=sum(self._done.values()))
        if self._console.is_terminal:
            return
        one = self._members > 1 and len(epoch.members) == 1
        network = f"network {first + epoch.members[0] + 1} of {self._members}, " if one else ""
        self._unprinted = f"{network}epoch {epoch.number} of {self._epochs}: {text}"
        now = time.monotonic()
        if epoch.number == self._epochs or now - self._printed >= LINE_SECONDS:
            self._console.print(self._unprinted, soft_wrap=True)
            self._printed, self._unprinted = now, ""
