"""The training recipe: optimizer, loss and metric."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from clipgnn.errors import InvalidParameterError
from clipgnn.parameters.rules import POSITIVE, PythonValues, Rule
from clipgnn.parameters.schema import Parameters, documented, parameter

LOSSES = {
    "cross-entropy": ("accuracy", "roc-auc", "average-precision"),
    "binary-cross-entropy": ("accuracy", "roc-auc", "average-precision"),
    "squared-error": ("rmse", "mae"),
    "absolute-error": ("mae", "rmse"),
}
"""Losses by name, with the metrics that suit them; the first one is the default."""

METRICS = {
    "accuracy": True,
    "roc-auc": True,
    "average-precision": True,
    "mae": False,
    "rmse": False,
}
"""Metrics by name, and whether larger values are better."""

PAIR_RECIPE: Mapping[str, int | float] = {"epochs": 20, "batch_size": 16, "learning_rate": 1e-4}
"""What the training of a network for each pair of graphs takes from the recipe, with the values of
BREC, its defaults."""


def _is_weights(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(map(POSITIVE.accepts, value))


_EPOCHS = Rule(int, 1, 1_000_000)
_FUNCTION = PythonValues("a function of outputs and targets", callable, lambda value: value)
_WEIGHTS = PythonValues(
    "a tuple of positive finite numbers", _is_weights, lambda value: tuple(map(float, value))
)


@documented()
@dataclass(frozen=True, kw_only=True)
class Recipe(Parameters):
    """The way every network is trained: Adam, with a learning rate that is lowered.

    The defaults are those of the paper.

    {parameters}

    Raises:
        InvalidParameterError: if a rule does not allow a value, the metric does not suit the loss,
            or there are class weights without classes.
    """

    title: ClassVar[str] = "Recipe"

    epochs: int = parameter(400, _EPOCHS, "passes over the training graphs")
    batch_size: int = parameter(
        32, Rule(int, 2, 1_000_000), "graphs in a step; one graph has no batch statistics"
    )
    max_nodes: int | None = parameter(
        None,
        Rule(int, 1, 2**31, optional=True),
        "largest number of nodes in a step, instead of a number of graphs; a step has at least two "
        "graphs, of any size",
    )
    learning_rate: float = parameter(1e-3, POSITIVE, "learning rate of Adam in the first epoch")
    halve_every: int = parameter(50, _EPOCHS, "epochs after which the learning rate is halved")
    schedule: str | None = parameter(
        None,
        Rule(str, words=("cosine",), optional=True),
        'None to halve the learning rate every `halve_every` epochs; "cosine" to lower it in every '
        "epoch, along half a cosine to almost 0 in the last one",
    )
    loss: str | Callable[..., Any] = parameter(
        "cross-entropy",
        Rule(str, words=tuple(LOSSES), python=_FUNCTION),
        '"cross-entropy" for classes, "binary-cross-entropy" for binary targets, '
        '"squared-error" or "absolute-error" for numbers; a function takes the outputs '
        "`[graphs, out_channels]` and the targets, classes `[graphs]` or floats "
        "`[graphs, targets]`, and returns a loss for each graph or each target",
    )
    metric: str | None = parameter(
        None,
        Rule(str, words=tuple(METRICS), optional=True),
        "score of the validation and test graphs; None for the usual metric of the loss: accuracy "
        "for the cross-entropies, RMSE for squared errors, MAE for absolute errors",
    )
    class_weights: str | tuple[float, ...] | None = parameter(
        None,
        Rule(str, words=("balanced",), optional=True, python=_WEIGHTS),
        'factors of the classes in a cross-entropy; "balanced" for factors inversely proportional '
        "to the frequencies of the classes",
    )
    patience: int | None = parameter(
        None,
        Rule(int, 1, 1_000_000, optional=True),
        "epochs without a better validation score (or training loss, if there are no validation "
        "graphs) after which training stops; None to train for all epochs",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        weighted = isinstance(self.loss, str) and self.loss.endswith("cross-entropy")
        if self.class_weights is not None and not weighted:
            name = repr(self.loss) if isinstance(self.loss, str) else "that is a function"
            raise InvalidParameterError(
                f"The 'class_weights' parameter of Recipe must be None for a loss {name}. Got "
                f"{self.class_weights!r}. Use a cross-entropy as the loss."
            )
        if not isinstance(self.loss, str):
            if self.metric is None:
                raise InvalidParameterError(
                    "The 'metric' parameter of Recipe must be given if the loss is a function. "
                    "Got None. Use metric='accuracy' for classes or metric='rmse' for numbers."
                )
            return
        suited = LOSSES[self.loss]
        if self.metric is not None and self.metric not in suited:
            words = ", ".join(f'"{word}"' for word in suited)
            raise InvalidParameterError(
                f"The 'metric' parameter of Recipe must be one of {words} for the loss "
                f"{self.loss!r}. Got {self.metric!r}. Use one of these, or another loss."
            )

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        if self.schedule == "cosine":
            return self.learning_rate * (1 + math.cos(math.pi * epoch / self.epochs)) / 2
        return self.learning_rate * 0.5 ** (epoch // self.halve_every)

    @property
    def score(self) -> str:
        """The metric in use: the given one, or the usual one of the loss."""
        return self.metric or LOSSES[str(self.loss)][0]

    @property
    def maximize(self) -> bool:
        """Whether larger scores are better."""
        return METRICS[self.score]
