"""Training history: curves, best epoch and duration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.curves import CURVES, Curves
from clipgnn.parameters import Recipe


@dataclass(frozen=True)
class History:
    """Losses and scores of each epoch of one model.

    Attributes:
        curves: loss and scores of each epoch.
        best_epoch: epoch with the best validation score (or training loss, if there are no
            validation graphs), from 1; None if no value is finite.
        seconds: duration of the training of all models that train together.
        compile_seconds: duration of compilation before the training.
    """

    curves: Curves
    best_epoch: int | None = None
    seconds: float = 0.0
    compile_seconds: float = 0.0

    @property
    def train_loss(self) -> list[float]:
        """Mean loss over the training graphs in each epoch."""
        values: list[float] = self.curves.train_loss.tolist()
        return values

    @property
    def test_score(self) -> list[float]:
        """Score of the test graphs after each epoch; empty if there are none."""
        values: list[float] = self.curves.test_score.tolist()
        return values

    @property
    def validation_score(self) -> list[float]:
        """Score of the validation graphs after each epoch; empty if there are none."""
        values: list[float] = self.curves.validation_score.tolist()
        return values

    @property
    def fresh_score(self) -> list[float]:
        """Score of the fresh graphs after each epoch; empty if there are none."""
        values: list[float] = self.curves.fresh_score.tolist()
        return values

    @property
    def metric(self) -> str:
        """Name of the metric of the scores."""
        return self.curves.metric

    @property
    def diverged(self) -> str | None:
        """None, or the epoch and learning rate at which a loss or score was no longer finite."""
        return self.curves.diverged

    def continued(self, later: "History") -> "History":
        """Return the history of this training and of a later one of the same model.

        Scores that only one of them has, or that have different metrics, are left out. The best
        epoch is that of the later training, whose weights the model has.
        """
        comparable = self.metric == later.metric
        scores = {
            name: np.concatenate([getattr(own.curves, name) for own in (self, later)])
            if comparable and len(getattr(self, name)) and len(getattr(later, name))
            else ()
            for name in CURVES[1:]
        }
        return History(
            Curves(
                [*self.train_loss, *later.train_loss],
                **scores,
                metric=later.metric,
                diverged=later.diverged,
            ),
            None if later.best_epoch is None else self.curves.epochs + later.best_epoch,
            self.seconds + later.seconds,
            self.compile_seconds + later.compile_seconds,
        )

    def as_json(self) -> dict[str, Any]:
        """Return values of JSON, from which `from_json` restores the history."""
        return {
            **{name: getattr(self, name) for name in CURVES},
            "metric": self.metric,
            "diverged": self.diverged,
            "best_epoch": self.best_epoch,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "History":
        """Restore a history.

        Raises:
            KeyError, TypeError, ValueError: if the values are not those of `as_json`.
        """
        curves = Curves(
            *(values[name] for name in CURVES),
            metric=values["metric"],
            diverged=values["diverged"],
        )
        best = values["best_epoch"]
        return cls(
            curves,
            None if best is None else int(best),
            float(values["seconds"]),
            float(values["compile_seconds"]),
        )


def finite_curves(curves: Mapping[str, NDArray[np.float64]], recipe: Recipe) -> Curves:
    """Create curves that end before the first epoch with a value that is not finite.

    Args:
        curves: `[epochs]`: the loss, "train", and the scores of the parts of a split by name.
        recipe: the recipe, for the metric and the learning rate of the message.
    """
    lengths = [
        int(np.argmin(finite)) if not (finite := np.isfinite(curve)).all() else len(curve)
        for curve in curves.values()
    ]
    epoch = min(lengths)
    diverged = None
    if epoch < len(curves["train"]):
        diverged = f"diverged in epoch {epoch + 1}, learning rate {recipe.rate(epoch):g}"
    finite_ones = {name: curve[:epoch] for name, curve in curves.items()}
    return Curves(
        finite_ones["train"],
        finite_ones.get("test", ()),
        finite_ones.get("validation", ()),
        finite_ones.get("fresh", ()),
        metric=recipe.score,
        diverged=diverged,
    )
