"""Trials as data: one fold of one configuration with one seed, and the result of training it.

The identity of a trial is a hash of its content, and its random seeds are hashes of its names.
Neither depends on which process runs it, when, or together with which other trials.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import sha256

from clipgnn.curves import Curves
from clipgnn.experiments.catalog import VALIDATION_SHARE, fresh_name
from clipgnn.experiments.predictions import Predictions
from clipgnn.parameters import Recipe, Value

CONTENT_VERSION = 2
"""Part of every identity; increased when earlier results are no longer valid."""


@dataclass(frozen=True)
class Trial:
    """One fold of one configuration with one seed.

    Attributes:
        dataset: name of the data set.
        data: fingerprint of its content; empty while it is unknown.
        model: name of the model.
        parameters: parameters of the model.
        recipe: training recipe.
        split: "cross-validation", or "nested" with a validation part.
        num_folds: number of folds of the cross-validation.
        fold: number of the test fold, from 0.
        seed: seed of weights, batches and colorings; all seeds have the same folds.
        groups: which graphs are kept in one fold, one of `GROUPS`.
        validation_share: share of the training graphs that a nested split holds out.
        fresh: fingerprint of the fresh graphs that are a second test set; empty without them.
        model_source: hash of the source of a user's network; empty for models of clipgnn.
        keep_model: whether to keep the trained model; not part of the identity.
        keep_predictions: whether to keep the predictions of the test graphs; not part of the
            identity.
    """

    dataset: str
    data: str
    model: str
    parameters: Mapping[str, Value]
    recipe: Mapping[str, Value]
    split: str
    num_folds: int
    fold: int
    seed: int
    groups: str = "none"
    validation_share: float = VALIDATION_SHARE
    fresh: str = ""
    model_source: str = ""
    keep_model: bool = field(default=False, compare=False)
    keep_predictions: bool = field(default=False, compare=False)

    @cached_property
    def content(self) -> str:
        """All attributes that define the trial, as canonical JSON."""
        return canonical(self._defining())

    @cached_property
    def identity(self) -> str:
        """Short hash of the content."""
        return identity_of(self.content)

    @cached_property
    def configuration(self) -> str:
        """All attributes but fold and seed; trials with the same value can be trained together."""
        content = self._defining()
        del content["fold"], content["seed"]
        return canonical(content)

    def _defining(self) -> dict[str, object]:
        """Values that define the trial; optional ones only where they are used."""
        return {
            own.name: value
            for own in fields(self)
            if own.compare
            if (value := getattr(self, own.name)) != own.default
        }

    @property
    def fingerprints(self) -> dict[str, str]:
        """Fingerprints of all data that it reads and of a user's network, by name."""
        fresh = {fresh_name(self.dataset): self.fresh} if self.fresh else {}
        source = {self.model: self.model_source} if self.model_source else {}
        return {self.dataset: self.data, **fresh, **source}

    @property
    def metric(self) -> str:
        """Name of the metric of its scores."""
        return metric_of(self.recipe)

    def random_seed(self, purpose: str) -> int:
        """Return a seed for one purpose, derived from names and not from the data."""
        return seed_from(
            purpose,
            self.dataset,
            self.model,
            canonical(dict(self.parameters)),
            self.fold,
            self.seed,
        )

    def __hash__(self) -> int:
        return hash(self.identity)

    def __str__(self) -> str:
        values = [f"{key} {value}" for key, value in self.parameters.items()]
        if "batch_size" in self.recipe:
            values.append(f"batch {self.recipe['batch_size']}")
        chosen = f" ({', '.join(values)})" if values else ""
        pairs = self.split == "pairs"  # which have no folds
        fold = "" if pairs else f", fold {self.fold}"
        seed = f", seed {self.seed}" if self.seed or pairs else ""
        return f"{self.model} on {self.dataset}{chosen}{fold}{seed}"


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial, as plain data.

    Attributes:
        trial: identity of the trial.
        curves: its training curves.
        seconds: its share of the duration of its job, without compilation; the shares of all
            trials add up to the duration of a run.
        epoch_seconds: mean duration of an epoch of its job.
        compile_seconds: its share of the time spent on compilation.
        device: torch device that it was trained on.
        versions: version of every installed package, of Python and of the package's own source.
        machine: processor, cores, memory, system and accelerator.
        model: content of the model file, if it is kept.
        predictions: predictions of the test graphs, if they are kept.
    """

    trial: str
    curves: Curves
    seconds: float
    epoch_seconds: float
    compile_seconds: float
    device: str
    versions: Mapping[str, str]
    machine: Mapping[str, str]
    model: bytes | None = None
    predictions: Predictions | None = None


def metric_of(recipe: Mapping[str, Value]) -> str:
    """Return the name of the metric of models that are trained by a recipe."""
    return Recipe.from_dict(Recipe.from_toml(recipe)).score


def identity_of(content: str) -> str:
    """Return the identity of a trial with this content."""
    return sha256(f"{CONTENT_VERSION}/{content}".encode()).hexdigest()[:16]


def canonical(content: object) -> str:
    """Return JSON with one spelling: sorted keys, no spaces, no NaN."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def seed_from(*names: object, bits: int = 63) -> int:
    """Return a seed that depends only on these names.

    Examples:
        >>> seed_from("train", "csl", 0) == seed_from("train", "csl", 0)
        True
        >>> seed_from("train", "csl", 0) == seed_from("train", "csl", 1)
        False
    """
    digest = sha256("/".join(str(name) for name in names).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - bits)
