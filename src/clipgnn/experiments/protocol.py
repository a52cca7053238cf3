"""Protocols: from training curves to the number of a table cell.

A protocol is a pure function of finished curves, applied after the run. It is part of the result:
the same curves give different numbers under different protocols.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from clipgnn.curves import Curves, mean_curves
from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.parameters import Value


@dataclass(frozen=True)
class Candidate:
    """A configuration with the curves of its finished folds.

    Attributes:
        configuration: its parameters and recipe.
        folds: curves by number of the fold; the mean over seeds where there are several. For pairs
            of graphs, which have no folds, curves by seed.
        trained: whether it has epochs to choose from; curves of kernels have length 1.
        diverged: reason by number of the fold, for folds whose training diverged; a configuration
            with such folds is never chosen.
    """

    configuration: Mapping[str, Value]
    folds: Mapping[int, Curves]
    trained: bool = True
    diverged: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Divergence:
    """A configuration that is excluded, and the reason for each of its diverged folds."""

    configuration: Mapping[str, Value]
    folds: Mapping[int, str]


@dataclass(frozen=True)
class Choice:
    """The choice of a protocol.

    Attributes:
        configuration: the configuration.
        epoch: the epoch, from 1; None where there are no epochs.
        fold: the fold that it is chosen for; None if it is chosen for all folds.
    """

    configuration: Mapping[str, Value]
    epoch: int | None
    fold: int | None = None


@dataclass(frozen=True)
class PairCounts:
    """How many pairs of graphs networks separate, with one seed.

    Attributes:
        pairs: number of pairs.
        separated: pairs that are distinguished, and whose network is reliable.
        unreliable: pairs whose network distinguishes relabeled copies of one graph.
        failed_pairs: which pairs are not separated, as numbers from 1; a sum over sets has none.
        unreliable_pairs: which pairs are unreliable, likewise.
    """

    pairs: int
    separated: int
    unreliable: int
    failed_pairs: tuple[int, ...] = ()
    unreliable_pairs: tuple[int, ...] = ()

    @classmethod
    def of(cls, curves: Curves) -> "PairCounts":
        """Count the entries of curves, which have one for each pair; see `pairs`."""
        failed, unreliable = (
            tuple((np.flatnonzero(scores == 0) + 1).tolist())
            for scores in (curves.test_score, curves.fresh_score)
        )
        separated = curves.epochs - len(failed)
        return cls(curves.epochs, separated, len(unreliable), failed, unreliable)

    @property
    def failed(self) -> int:
        """Number of pairs that are not separated; unreliable ones are among them."""
        return self.pairs - self.separated

    def __add__(self, other: "PairCounts") -> "PairCounts":
        return PairCounts(
            self.pairs + other.pairs,
            self.separated + other.separated,
            self.unreliable + other.unreliable,
        )


@dataclass(frozen=True)
class Measurement:
    """The number of a table cell and its origin.

    Attributes:
        protocol: name of the protocol.
        values: test score of each fold, by number of the fold; for pairs of graphs, the share of
            separated pairs by seed.
        choices: one choice for all folds, or one for each fold.
        finished: number of finished folds (for pairs of graphs, seeds), over all configurations.
        expected: number of folds of all configurations.
        diverged: configurations that are excluded.
        fresh: score of the network of each fold on fresh graphs, at the epoch of the choice; empty
            without them.
        pairs: for pairs of graphs, the numbers of pairs by seed.
    """

    protocol: str
    values: Mapping[int, float]
    choices: tuple[Choice, ...]
    finished: int
    expected: int
    diverged: tuple[Divergence, ...] = ()
    fresh: Mapping[int, float] = field(default_factory=dict)
    pairs: Mapping[int, PairCounts] = field(default_factory=dict)

    @property
    def num_diverged(self) -> int:
        """Number of diverged folds, over all configurations."""
        return sum(len(own.folds) for own in self.diverged)

    @property
    def complete(self) -> bool:
        """Whether all folds of all configurations are finished or diverged."""
        return self.finished + self.num_diverged == self.expected

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self._array()))

    @property
    def std(self) -> float:
        """Population standard deviation over the folds, as in GIN."""
        return float(np.std(self._array()))

    @property
    def highest(self) -> float:
        """Largest score of a fold."""
        return float(np.max(self._array()))

    @property
    def lowest(self) -> float:
        """Smallest score of a fold."""
        return float(np.min(self._array()))

    def _array(self) -> NDArray[np.float64]:
        if not self.values:
            raise InvalidParameterError(
                "A measurement must have a chosen configuration. Got none: no fold is finished "
                "yet, or every configuration has diverged."
            )
        return np.array(list(self.values.values()))


def gin(candidates: Sequence[Candidate], num_folds: int) -> Measurement:
    """Apply the protocol of GIN, which the paper uses: the best epoch of the mean test curve.

    For each configuration the test curves of all folds are averaged; the number is the best value
    of this mean curve, and the configuration is chosen by the same number. Since the test folds
    determine epoch and configuration, the number is optimistic. Ties are resolved in favor of the
    earliest epoch and the first configuration.

    A configuration with a diverged fold is not chosen. While folds are missing, only
    configurations with the largest number of finished folds are compared.

    Args:
        candidates: the configurations to choose from, in the order of the grid.
        num_folds: number of folds of each configuration.
    """
    return _one_epoch("gin", candidates, num_folds, lambda mean: mean.best_test_epoch)


def last(candidates: Sequence[Candidate], num_folds: int) -> Measurement:
    """Apply the protocol of the authors of RP-GIN and DGCNN: the test score of the last epoch.

    The configuration is the one with the best mean over the folds, so that the test folds determine
    the configuration, and not the epoch. Ties, diverged and missing folds are treated as in `gin`.

    Args:
        candidates: the configurations to choose from, in the order of the grid.
        num_folds: number of folds of each configuration.
    """
    return _one_epoch("last", candidates, num_folds, lambda mean: mean.epochs - 1)


def fair(candidates: Sequence[Candidate], num_folds: int) -> Measurement:
    """Apply the nested protocol: choose on validation graphs inside each fold, test once.

    In each outer fold, configuration and epoch are those with the best validation score; only the
    test score of that epoch is used. A configuration with a diverged fold is not chosen in any
    fold. Ties are resolved in favor of the first configuration and the earliest epoch.

    Args:
        candidates: the configurations to choose from, in the order of the grid.
        num_folds: number of folds of each configuration.

    Raises:
        InvalidParameterError: if curves have no validation scores.
    """
    chosen: dict[int, tuple[Candidate, int]] = {}
    eligible = [candidate for candidate in candidates if not candidate.diverged]
    for fold in sorted({fold for candidate in eligible for fold in candidate.folds}):
        best = -np.inf
        for candidate in eligible:
            if fold not in candidate.folds:
                continue
            curves = candidate.folds[fold]
            if not len(curves.validation_score):
                raise InvalidParameterError(
                    'The protocol "fair" requires validation curves. Got none. Run the experiment '
                    'with split = "nested".'
                )
            epoch = curves.best_validation_epoch
            merit = curves.merit(float(curves.validation_score[epoch]))
            if merit > best:
                best, chosen[fold] = merit, (candidate, epoch)
    choices = tuple(_choice(*own, fold) for fold, own in chosen.items())
    return _measurement("fair", candidates, num_folds, chosen, choices)


def pairs(candidates: Sequence[Candidate], num_folds: int) -> Measurement:
    """Count the pairs of graphs that networks distinguish, a network for each pair.

    Curves have an entry for each pair instead of each epoch: whether it is distinguished and
    reliable (`test_score`), and whether it is reliable (`fresh_score`). A configuration is chosen
    by the number of pairs, among those with the largest number of finished seeds.

    Args:
        candidates: the configurations to choose from, in the order of the grid.
        num_folds: number of seeds.
    """
    eligible = [own for own in candidates if own.folds and not own.diverged]
    best = max(eligible, key=lambda own: (len(own.folds), _mean_score(own)), default=None)
    curves = {} if best is None else dict(sorted(best.folds.items()))
    return Measurement(
        protocol="pairs",
        values={seed: float(own.test_score.mean()) for seed, own in curves.items()},
        choices=() if best is None else (Choice(best.configuration, None),),
        finished=sum(len(own.folds) for own in candidates),
        expected=num_folds * len(candidates),
        diverged=_divergences(candidates),
        pairs={seed: PairCounts.of(own) for seed, own in curves.items()},
    )


Protocol = Callable[[Sequence[Candidate], int], Measurement]

PROTOCOLS: Mapping[str, Protocol] = {"gin": gin, "fair": fair, "last": last, "pairs": pairs}
"""Protocols by name."""

SPLIT_OF_PROTOCOL: Mapping[str, str] = {"fair": "nested", "pairs": "pairs"}
"""Split that trials must have, for protocols that need one."""

EXPLANATIONS: Mapping[str, str] = {
    "gin": "best single epoch of the test curve averaged over the folds, configuration chosen by "
    "the same number (as in the paper; optimistic, because no graphs are held out)",
    "fair": "configuration and epoch chosen on validation graphs inside each fold, the test fold "
    "used once",
    "pairs": "a network is trained for each pair of graphs on 32 relabeled copies of both, and "
    "distinguishes them if Hotelling's T² of their embeddings is above 72.34; it is unreliable if "
    "that between copies of one graph is (the paired comparison of BREC)",
    "last": "score of the last epoch, configuration chosen by its mean over the test folds (the "
    "authors of RP-GIN and DGCNN report the last epoch)",
}
"""Explanation of each protocol, for the caption of a table."""


def check_protocol(name: str) -> None:
    """Check that a protocol exists.

    Raises:
        InvalidParameterError: if it does not.
    """
    if name not in PROTOCOLS:
        raise InvalidParameterError(
            f"protocol must be one of {', '.join(PROTOCOLS)}. Got {name!r}."
            f"{suggestion(name, PROTOCOLS)}",
            parameter="protocol",
        )


def _one_epoch(
    protocol: str,
    candidates: Sequence[Candidate],
    num_folds: int,
    epoch_of: Callable[[Curves], int],
) -> Measurement:
    """Choose a configuration by the mean test score at one epoch of its mean curves."""
    eligible = [candidate for candidate in candidates if not candidate.diverged]
    most_folds = max((len(candidate.folds) for candidate in eligible), default=0)
    chosen: dict[int, tuple[Candidate, int]] = {}
    choices: tuple[Choice, ...] = ()
    best = -np.inf
    for candidate in eligible:
        if not most_folds or len(candidate.folds) < most_folds:
            continue
        folds = sorted(candidate.folds)
        mean = mean_curves([candidate.folds[fold] for fold in folds])
        epoch = epoch_of(mean)
        merit = mean.merit(float(mean.test_score[epoch]))
        if merit > best:
            best = merit
            chosen = dict.fromkeys(folds, (candidate, epoch))
            choices = (_choice(candidate, epoch),)
    return _measurement(protocol, candidates, num_folds, chosen, choices)


def _choice(candidate: Candidate, epoch: int, fold: int | None = None) -> Choice:
    return Choice(candidate.configuration, epoch + 1 if candidate.trained else None, fold)


def _measurement(
    protocol: str,
    candidates: Sequence[Candidate],
    num_folds: int,
    chosen: Mapping[int, tuple[Candidate, int]],
    choices: tuple[Choice, ...],
) -> Measurement:
    """Read the scores of the chosen candidate and epoch of each fold."""
    curves = {fold: (candidate.folds[fold], epoch) for fold, (candidate, epoch) in chosen.items()}
    fresh = {fold: own.fresh_score_at(epoch) for fold, (own, epoch) in curves.items()}
    return Measurement(
        protocol=protocol,
        values={fold: own.test_score_at(epoch) for fold, (own, epoch) in curves.items()},
        choices=choices,
        finished=sum(len(candidate.folds) for candidate in candidates),
        expected=num_folds * len(candidates),
        diverged=_divergences(candidates),
        fresh={fold: score for fold, score in fresh.items() if score is not None},
    )


def _mean_score(candidate: Candidate) -> float:
    return float(np.mean([own.test_score.mean() for own in candidate.folds.values()]))


def _divergences(candidates: Sequence[Candidate]) -> tuple[Divergence, ...]:
    return tuple(
        Divergence(candidate.configuration, candidate.diverged)
        for candidate in candidates
        if candidate.diverged
    )
