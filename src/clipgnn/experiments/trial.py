"""A trial: one fold of one configuration with one seed, and what training it gives.

A trial is named by what it is. Its identity is a hash of its content and its random seeds are
hashes of its names, so neither depends on which process runs it, when, or beside what.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.catalog import MODELS, Value
from clipgnn.experiments.data import load
from clipgnn.experiments.machine import installed_versions, this_machine

CONTENT_VERSION = 2
"""Part of every identity: raise it when old results must not be taken for new ones."""

HELD_OUT = 0.1
"""Part of the training graphs that a nested split keeps for choosing."""


@dataclass(frozen=True)
class Trial:
    """One fold of one configuration with one seed.

    Attributes:
        dataset: name of the data set.
        data: fingerprint of its content; empty while it is not known.
        model: name of the model.
        parameters: its parameters.
        recipe: how it is trained.
        split: "cross-validation", or "nested" with a validation part.
        num_folds: folds of the cross-validation.
        fold: which of them is the test part, from 0.
        seed: seed of weights, batches and colorings; the folds are the same for all.
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

    @cached_property
    def content(self) -> str:
        """All of it as canonical JSON."""
        return canonical(asdict(self))

    @cached_property
    def identity(self) -> str:
        """A short hash of the content."""
        return identity_of(self.content)

    @cached_property
    def configuration(self) -> str:
        """What trials that can be trained together share: all but fold and seed."""
        content = asdict(self)
        del content["fold"], content["seed"]
        return canonical(content)

    def random_seed(self, purpose: str) -> int:
        """A seed for one purpose, derived from the names of this trial, not from its data."""
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
        return f"{self.model} on {self.dataset}{chosen}, fold {self.fold}"


@dataclass(frozen=True)
class TrialResult:
    """What a trial gave: plain data, every epoch of it. What is not trained has one epoch.

    Attributes:
        trial: identity of the trial.
        train_loss: mean loss of each epoch; of a kernel, the share of errors on training graphs.
        test_score: score of the test fold after each epoch: accuracy from 0 to 1, or mean squared
            error.
        validation_score: the same of the validation part; empty where there is none.
        seconds: its share of the time that it and those trained beside it took, so that shares
            add up to the time of a whole run.
        epoch_seconds: mean duration of an epoch, with all that were trained beside it.
        compile_seconds: its share of the time spent on compilation, which `seconds` leaves out.
        device: where it was trained.
        versions: version of every installed package, of Python and of the package's own source.
        machine: processor, cores, memory, system and accelerator.
        diverged: None, or in which epoch and at which learning rate a loss or score was no longer
            finite; the curves then end before that epoch.
    """

    trial: str
    train_loss: Sequence[float]
    test_score: Sequence[float]
    validation_score: Sequence[float]
    seconds: float
    epoch_seconds: float
    compile_seconds: float
    device: str
    versions: Mapping[str, str]
    machine: Mapping[str, str]
    diverged: str | None = None


def identity_of(content: str) -> str:
    """The identity of a trial with this content."""
    return sha256(f"{CONTENT_VERSION}/{content}".encode()).hexdigest()[:16]


def canonical(content: object) -> str:
    """JSON with one spelling: sorted keys, no spaces, no NaN."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def seed_from(*names: object, bits: int = 63) -> int:
    """A seed that depends on these names and on nothing else.

    Examples:
        >>> seed_from("train", "csl", 0) == seed_from("train", "csl", 0)
        True
        >>> seed_from("train", "csl", 0) == seed_from("train", "csl", 1)
        False
    """
    digest = sha256("/".join(str(name) for name in names).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - bits)


def run_trials(
    trials: Sequence[Trial], device: str = "cpu", deterministic: bool = False
) -> list[TrialResult]:
    """Train these trials together, which differ only in fold and seed.

    This is the one thing executors call. Kernels are fitted, on the CPU whatever the device.

    Args:
        trials: at least one.
        device: where to train, as torch names it.
        deterministic: on a GPU, whether two runs must agree in every bit.

    Returns:
        A result for each trial, in their order.

    Raises:
        InvalidParameterError: if the trials differ in more than fold and seed.
        DatasetFileError: if the data set does not have the fingerprint that the trials name.
    """
    if len({trial.configuration for trial in trials}) != 1:
        raise InvalidParameterError(
            "Trials that are trained together must differ only in fold and seed. "
            f"Got {len({trial.configuration for trial in trials})} configurations."
        )
    import torch

    from clipgnn.training import ModelSpec, Recipe, fit, train

    first = trials[0]
    graphs = load(first.dataset, first.data)
    recipe: dict[str, Any] = dict(first.recipe)
    # TOML has no word for nothing.
    parameters = {
        key: None if value == "none" else value for key, value in first.parameters.items()
    }
    spec = ModelSpec(first.model, parameters)
    splits = [_split(trial, graphs.y) for trial in trials]
    trained = MODELS[first.model].trained
    device = device if trained else "cpu"
    threads, began = torch.get_num_threads(), time.perf_counter()
    if device == "cpu":
        # Sums depend on the number of threads: one, everywhere, gives every executor the same.
        torch.set_num_threads(1)
    try:
        if trained:
            histories = train(
                graphs,
                spec,
                Recipe(**recipe),
                splits,
                [trial.random_seed("train") for trial in trials],
                device=device,
                together=MODELS[first.model].folds_together or None,
                deterministic=deterministic,
            )
        else:
            histories = fit(graphs, spec, splits)
    finally:
        torch.set_num_threads(threads)
    compiling = max(history.compile_seconds for history in histories)
    training = time.perf_counter() - began - compiling
    versions, machine = installed_versions(), this_machine(device)
    return [
        TrialResult(
            trial=trial.identity,
            train_loss=[float(value) for value in history.train_loss],
            test_score=[float(value) for value in history.test_score],
            validation_score=[float(value) for value in history.validation_score],
            seconds=training / len(trials),
            epoch_seconds=history.seconds / max(1, len(history.train_loss)),
            compile_seconds=compiling / len(trials),
            device=device,
            versions=versions,
            machine=machine,
            diverged=history.diverged,
        )
        for trial, history in zip(trials, histories, strict=True)
    ]


def _split(trial: Trial, y: Any) -> Any:
    """Training, validation and test graphs. The folds are those of the GIN protocol, seed 0."""
    import torch

    from clipgnn.datasets.folds import hold_out, stratified_folds
    from clipgnn.training import Split

    train, test = stratified_folds(y, trial.num_folds, seed=0)[trial.fold]
    validation = torch.empty(0, dtype=torch.int64)
    if trial.split == "nested":
        seed = seed_from("validation", trial.dataset, trial.num_folds, trial.fold, bits=31)
        train, validation = hold_out(train, y, HELD_OUT, seed)
    return Split(train=train, test=test, validation=validation)
