"""How to train, and the history that training returns."""

import sys
from dataclasses import dataclass
from typing import Literal

from clipgnn.errors import InvalidParameterError, shown


@dataclass(frozen=True)
class Recipe:
    """How every model is trained: Adam, its rate halved at intervals. Defaults are the paper's.

    Attributes:
        epochs: passes over the training graphs.
        batch_size: graphs a step.
        learning_rate: of Adam, at the beginning.
        halve_every: epochs after which the rate is halved.
        loss: "cross-entropy" for classes, "squared-error" for numbers.
        patience: stop after this many epochs without a better validation score (or training loss,
            where nothing is held out for validation); None trains to the end.
    """

    epochs: int = 400
    batch_size: int = 32
    learning_rate: float = 1e-3
    halve_every: int = 50
    loss: Literal["cross-entropy", "squared-error"] = "cross-entropy"
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "halve_every", "patience"):
            value = getattr(self, name)
            if name == "patience" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise self._error(name, "an integer of at least 1")
        rate = self.learning_rate
        number = isinstance(rate, int | float) and not isinstance(rate, bool)
        if not number or not 0 < rate <= sys.float_info.max:
            raise self._error("learning_rate", "a positive finite number")
        if self.loss not in ("cross-entropy", "squared-error"):
            raise self._error("loss", '"cross-entropy" or "squared-error"')

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        return self.learning_rate * 0.5 ** (epoch // self.halve_every)

    def _error(self, name: str, rule: str) -> InvalidParameterError:
        return InvalidParameterError(
            f"The {name!r} of a training recipe must be {rule}. Got {shown(getattr(self, name))}."
        )


@dataclass(frozen=True)
class History:
    """What one member did, epoch by epoch.

    Attributes:
        train_loss: mean loss over the training graphs, as they were learned from.
        test_score: accuracy on the test graphs; mean squared error for numbers.
        validation_score: the same on the validation graphs; empty if there are none.
        seconds: time of the whole training, shared by all that trained beside it.
        compile_seconds: time that went into compilation before it.
        diverged: None, or the epoch and learning rate at which the loss or a score was no longer
            finite; the curves then end before that epoch.
    """

    train_loss: list[float]
    test_score: list[float]
    validation_score: list[float]
    seconds: float
    compile_seconds: float
    diverged: str | None = None
