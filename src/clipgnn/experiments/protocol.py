"""From curves to a number: what is chosen, on what, and what is then reported.

A protocol is a pure function over finished curves, applied after the run. It is part of the
result: the same curves give different numbers under different protocols.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.catalog import Value

Curve = NDArray[np.float64]
"""A score after each epoch."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A configuration with the curves of the folds that are finished.

    Attributes:
        configuration: its parameters and recipe.
        test: for each finished fold, the curve of its test part.
        validation: the same for the validation part, where the split has one.
        trained: whether there are epochs to choose from; the curves of a kernel have one point.
        diverged: for each fold whose training diverged, the reason; such a configuration is never
            chosen.
    """

    configuration: Mapping[str, Value]
    test: Mapping[int, Curve]
    validation: Mapping[int, Curve] = field(default_factory=dict)
    trained: bool = True
    diverged: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Divergence:
    """A configuration that could not be chosen, and the reason for each diverged fold of it."""

    configuration: Mapping[str, Value]
    folds: Mapping[int, str]


@dataclass(frozen=True)
class Choice:
    """What a protocol chose.

    Attributes:
        configuration: the configuration.
        epoch: the epoch, from 1; None where there are no epochs.
        fold: the fold it was chosen for; None if it was chosen for all of them.
    """

    configuration: Mapping[str, Value]
    epoch: int | None
    fold: int | None = None


@dataclass(frozen=True)
class Measurement:
    """The number of a cell, and where it comes from.

    Attributes:
        protocol: which protocol made it.
        values: test score of each fold, by number of the fold.
        choices: what was chosen: once, or in every fold.
        finished: folds that are there, over all configurations.
        expected: folds there should be.
        diverged: configurations that could not be chosen.
    """

    protocol: str
    values: Mapping[int, float]
    choices: tuple[Choice, ...]
    finished: int
    expected: int
    diverged: tuple[Divergence, ...] = ()

    @property
    def num_diverged(self) -> int:
        """Diverged folds over all configurations."""
        return sum(len(own.folds) for own in self.diverged)

    @property
    def complete(self) -> bool:
        """Are all folds of all configurations finished or diverged?"""
        return self.finished + self.num_diverged == self.expected

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self._array()))

    @property
    def std(self) -> float:
        """Standard deviation over the folds, divided by their number (as numpy does, and GIN)."""
        return float(np.std(self._array()))

    @property
    def highest(self) -> float:
        """Largest score of a fold."""
        return float(np.max(self._array()))

    @property
    def lowest(self) -> float:
        """Smallest score of a fold."""
        return float(np.min(self._array()))

    def _array(self) -> Curve:
        if not self.values:
            raise InvalidParameterError(
                "A measurement must have a chosen configuration to have numbers. Got none: no fold "
                "is finished yet, or every configuration has diverged."
            )
        return np.array(list(self.values.values()))


def gin(candidates: Sequence[Candidate], num_folds: int, *, maximize: bool = True) -> Measurement:
    """The protocol of GIN, which the paper follows: the best single epoch of the mean curve.

    For each configuration the test curves of all folds are averaged; the number is the best value
    of this mean curve, and the configuration is chosen by the same number. The test folds choose
    epoch and configuration, so the number is optimistic by construction. Of equals, the earliest
    epoch and the first configuration win.

    A configuration with a diverged fold is not chosen. While folds are missing, only
    configurations with the most finished folds are compared.

    Args:
        candidates: the configurations to choose from, in the order of the grid.
        num_folds: folds there should be of each.
        maximize: whether larger scores are better.
    """
    eligible = [candidate for candidate in candidates if not candidate.diverged]
    most = max((len(candidate.test) for candidate in eligible), default=0)
    values: dict[int, float] = {}
    choices: tuple[Choice, ...] = ()
    best = -np.inf
    for candidate in eligible:
        if not most or len(candidate.test) < most:
            continue
        folds = sorted(candidate.test)
        curves = aligned([candidate.test[fold] for fold in folds])
        merit = _merit(curves.mean(axis=0), maximize)
        epoch = int(np.argmax(merit))
        if not choices or merit[epoch] > best:
            best = merit[epoch]
            values = {
                fold: float(value) for fold, value in zip(folds, curves[:, epoch], strict=True)
            }
            choices = (_choice(candidate, epoch),)
    return _measurement("gin", candidates, num_folds, values, choices)


def fair(candidates: Sequence[Candidate], num_folds: int, *, maximize: bool = True) -> Measurement:
    """The nested protocol: chosen on validation graphs inside each fold, tested once.

    In each outer fold, configuration and epoch are those with the best validation score; the test
    curve is read there and nowhere else. A configuration with a diverged fold is not chosen in any
    fold. Of equals, the first configuration and the earliest epoch win.

    Args:
        candidates: the configurations to choose from, in the order of the grid.
        num_folds: folds there should be of each.
        maximize: whether larger scores are better.

    Raises:
        InvalidParameterError: if there are test curves without validation curves.
    """
    values: dict[int, float] = {}
    choices: list[Choice] = []
    eligible = [candidate for candidate in candidates if not candidate.diverged]
    for fold in sorted({fold for candidate in eligible for fold in candidate.test}):
        best = -np.inf
        chosen: tuple[Candidate, int] | None = None
        for candidate in eligible:
            if fold not in candidate.test:
                continue
            if fold not in candidate.validation:
                raise InvalidParameterError(
                    'The protocol "fair" needs validation curves, and these trials have none. '
                    'Run the experiment with split = "nested".'
                )
            merit = _merit(candidate.validation[fold], maximize)
            epoch = int(np.argmax(merit))
            if chosen is None or merit[epoch] > best:
                best, chosen = merit[epoch], (candidate, epoch)
        if chosen is not None:
            candidate, epoch = chosen
            values[fold] = float(candidate.test[fold][epoch])
            choices.append(_choice(candidate, epoch, fold))
    return _measurement("fair", candidates, num_folds, values, tuple(choices))


Protocol = Callable[..., Measurement]

PROTOCOLS: Mapping[str, Protocol] = {"gin": gin, "fair": fair}
"""The protocols by name."""

EXPLANATIONS: Mapping[str, str] = {
    "gin": "best single epoch of the test curve averaged over the folds, configuration chosen by "
    "the same number (as in the paper; optimistic, no graphs are kept apart)",
    "fair": "configuration and epoch chosen on validation graphs inside each fold, the test fold "
    "used once",
}
"""What a table says of its protocol."""


def aligned(curves: Sequence[Curve]) -> Curve:
    """Curves as rows; one that was stopped early keeps its last score."""
    length = max(len(curve) for curve in curves)
    return np.stack([np.pad(curve, (0, length - len(curve)), mode="edge") for curve in curves])


def _choice(candidate: Candidate, epoch: int, fold: int | None = None) -> Choice:
    return Choice(candidate.configuration, epoch + 1 if candidate.trained else None, fold)


def _merit(scores: Curve, maximize: bool) -> Curve:
    """Scores so that larger is better; what is not a number is worst."""
    merit = scores if maximize else -scores
    return np.where(np.isnan(merit), -np.inf, merit)


def _measurement(
    protocol: str,
    candidates: Sequence[Candidate],
    num_folds: int,
    values: Mapping[int, float],
    choices: tuple[Choice, ...],
) -> Measurement:
    return Measurement(
        protocol=protocol,
        values=values,
        choices=choices,
        finished=sum(len(candidate.test) for candidate in candidates),
        expected=num_folds * len(candidates),
        diverged=tuple(
            Divergence(candidate.configuration, candidate.diverged)
            for candidate in candidates
            if candidate.diverged
        ),
    )
