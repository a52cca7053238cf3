"""Predictions of a model for graphs: as columns of a table, and compared with known targets."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.commands.models import names_of_targets
from clipgnn.commands.scores import classification_scores, regression_scores
from clipgnn.commands.terminal import terminal
from clipgnn.progress import progress_bars, time_left

if TYPE_CHECKING:
    from clipgnn.graphs.packed import PackedGraphs

GRAPHS_AT_ONCE = 2048
"""Number of graphs after which progress is shown. Predictions do not depend on it."""

SPREAD_DRAWS = 10
"""Draws of colorings for a spread, if the model has one network and one draw."""

LINE_SECONDS = 10.0
"""Minimum number of seconds between two lines of progress where there is no terminal."""


@dataclass(frozen=True)
class Predictions:
    """Predictions for some graphs.

    Attributes:
        names: names of the targets.
        classes: the classes; None for numbers.
        values: `[graphs, classes]` probabilities, or `[graphs, targets]` numbers.
        spread: standard deviations in the same shape, or None.
    """

    names: Sequence[str]
    classes: Sequence[Any] | None
    values: NDArray[np.float64]
    spread: NDArray[np.float64] | None = None

    @property
    def predicted_classes(self) -> list[Any]:
        """The most probable class of each graph."""
        return [(self.classes or [])[own] for own in self.values.argmax(axis=1).tolist()]

    def columns(self) -> dict[str, list[Any]]:
        """Columns of a table with a row for each graph."""
        of_spread = {} if self.spread is None else _columns("spread", self._parts, self.spread)
        if self.classes is None:
            return _columns("predicted", self.names, self.values) | of_spread
        predicted = {f"predicted_{self.names[0]}": self.predicted_classes}
        return predicted | _columns("probability", self.classes, self.values) | of_spread

    def scores(self, known: NDArray[Any]) -> dict[str, dict[str, float]]:
        """Scores by target; targets without a known value are left out.

        Args:
            known: a class, or a row of numbers with NaN where they are missing, for each graph.
        """
        if self.classes is not None:
            return {self.names[0]: classification_scores(self.classes, known, self.values)}
        table = known.reshape(len(known), -1)
        return {
            name: regression_scores(table[:, own], self.values[:, own])
            for own, name in enumerate(self.names)
            if not np.isnan(table[:, own]).all()
        }

    @property
    def _parts(self) -> Sequence[Any]:
        return self.names if self.classes is None else self.classes


def predictions_of(
    model: Any, graphs: "PackedGraphs", *, spread: bool = False, shown: bool = False
) -> Predictions:
    """Predict the targets of graphs.

    Args:
        model: a fitted estimator.
        graphs: the graphs.
        spread: whether to compute standard deviations too.
        shown: whether to show the progress.
    """
    if spread and model.n_draws == len(model.models_) == 1:
        model.n_draws = SPREAD_DRAWS
    is_classifier = hasattr(model, "classes_")
    predict = model.predict_proba if is_classifier else model.predict
    values, spreads = [], []
    with PredictionProgress(len(graphs), shown=shown) as progress:
        for start in range(0, len(graphs), GRAPHS_AT_ONCE):
            part = graphs[start : start + GRAPHS_AT_ONCE]
            values.append(predict(part).reshape(len(part), -1))
            if spread:
                spreads.append(model.predict_spread(part).reshape(len(part), -1))
            progress.show(start + len(part))
    return Predictions(
        names_of_targets(model),
        model.classes_.tolist() if is_classifier else None,
        np.concatenate(values),
        np.concatenate(spreads) if spread else None,
    )


def _columns(
    prefix: str, names: Sequence[Any], values: NDArray[np.float64]
) -> dict[str, list[Any]]:
    return {f"{prefix}_{name}": values[:, own].tolist() for own, name in enumerate(names)}


class PredictionProgress:
    """Graphs that are predicted, as a bar or as lines."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self._console = terminal(stderr=True)
        self._total, self._shown = total, shown
        self._bars = progress_bars("graphs", self._console, shown=shown)
        self._task = self._bars.add_task("predicting", total=total)
        self._began = self._printed = time.monotonic()

    def __enter__(self) -> "PredictionProgress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, done: int) -> None:
        """Show the number of graphs that are predicted."""
        self._bars.update(self._task, completed=done)
        now = time.monotonic()
        if not self._shown or self._console.is_terminal or now - self._printed < LINE_SECONDS:
            return
        self._printed = now
        left = time_left(now - self._began, done, self._total - done)
        self._console.print(f"{done} of {self._total} graphs predicted{left}")
