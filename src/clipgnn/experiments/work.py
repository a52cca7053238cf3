"""The work of a job: train its trials together, and record what they were trained with.

Torch is imported inside the functions, so that runs, stores and reports start without it.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clipgnn.curves import Curves
from clipgnn.errors import DivergedPairError, InvalidParameterError
from clipgnn.experiments.catalog import is_own_dataset
from clipgnn.experiments.data import Loaded, load
from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.experiments.own_models import check_source
from clipgnn.experiments.predictions import Predictions
from clipgnn.experiments.trial import Trial, TrialResult, seed_from
from clipgnn.parameters import Recipe, is_import_path, model_named
from clipgnn.parameters.datasets import graphs_of_a_pair
from clipgnn.parameters.import_paths import search_in


def run_trials(
    trials: Sequence[Trial],
    device: str = "cpu",
    deterministic: bool = False,
    precision: str | None = None,
    root: str | None = None,
    search_path: Sequence[str] = (),
) -> list[TrialResult]:
    """Train trials together that differ only in fold and seed.

    Args:
        trials: at least one trial.
        device: torch device to train on. Kernels are always fitted on the CPU.
        deterministic: whether repeated runs on a GPU must agree in every bit.
        precision: precision of float32 products on a GPU, which is set for the whole process; by
            default that of torch.
        root: folder of the TU data sets, as for `load_tu`.
        search_path: folders of the user's own modules, in addition to `sys.path`.

    Returns:
        A result for each trial, in their order.

    Raises:
        InvalidParameterError: if the trials differ in more than fold and seed, or a network of the
            user does not have the source that the trials name.
        DatasetFileError: if the data set does not have the fingerprint that the trials name.
    """
    configurations = {trial.configuration for trial in trials}
    if len(configurations) != 1:
        raise InvalidParameterError(
            "trials must differ only in fold and seed. "
            f"Got {len(configurations)} configurations. Run one configuration at a time."
        )
    first = trials[0]
    if is_import_path(first.model) or is_own_dataset(first.dataset):
        search_in(search_path)
    if first.model_source:
        check_source(first)
    device = device if model_named(first.model).trained else "cpu"
    loaded = load(first, root)
    if precision is not None:
        _set_precision(precision)
    began = time.perf_counter()
    with _one_thread_on_cpu(device):
        if first.split == "pairs":
            outcomes = _compare(loaded, trials, device)
        elif model_named(first.model).trained:
            outcomes = _train(loaded, trials, device, deterministic)
        else:
            outcomes = _fit(loaded, trials)
    compile_seconds = max(own.history.compile_seconds for own in outcomes)
    seconds = time.perf_counter() - began - compile_seconds
    versions, machine = installed_versions(), {**this_machine(device), **_products(device)}
    return [
        TrialResult(
            trial=trial.identity,
            curves=outcome.history.curves,
            seconds=seconds / len(trials),
            epoch_seconds=outcome.history.seconds / max(1, outcome.history.curves.epochs),
            compile_seconds=compile_seconds / len(trials),
            device=device,
            versions=versions,
            machine=machine,
            model=outcome.model,
            predictions=outcome.predictions,
        )
        for trial, outcome in zip(trials, outcomes, strict=True)
    ]


class _Outcome(NamedTuple):
    """What training returned for a trial: a `History`, and files to keep."""

    history: Any
    model: bytes | None = None
    predictions: Predictions | None = None


def _set_precision(precision: str) -> None:
    import torch

    torch.set_float32_matmul_precision(precision)


def _products(device: str) -> dict[str, str]:
    """Return how float32 products are computed, if that is not in float32."""
    import torch

    reduced = torch.get_float32_matmul_precision() != "highest"
    return {"products": "TF32"} if reduced and device.startswith("cuda") else {}


@contextmanager
def _one_thread_on_cpu(device: str) -> Iterator[None]:
    """Use one thread on the CPU: the order of summation depends on the number of threads.

    So the results of all executors are equal.
    """
    import torch

    threads = torch.get_num_threads()
    if device == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _train(
    loaded: Loaded, trials: Sequence[Trial], device: str, deterministic: bool
) -> list[_Outcome]:
    """Train the networks of trials of one configuration."""
    from clipgnn.nn.files import model_bytes
    from clipgnn.training import train

    first = trials[0]
    model = model_named(first.model)
    splits = _splits(trials, loaded)
    trained = train(
        loaded.graphs,
        _spec(first),
        Recipe.from_dict(Recipe.from_toml(first.recipe)),
        splits,
        [trial.random_seed("train") for trial in trials],
        device=device,
        together=model.folds_together or None,
        deterministic=deterministic,
    )
    return [
        _Outcome(
            own.history,
            model_bytes(own.model) if trial.keep_model else None,
            _predictions(own, split, loaded) if trial.keep_predictions else None,
        )
        for trial, own, split in zip(trials, trained, splits, strict=True)
    ]


class _Compared(NamedTuple):
    """The curves of the comparison of pairs, in the form of a `History`."""

    curves: Curves
    seconds: float
    compile_seconds: float = 0.0


def _compare(loaded: Loaded, trials: Sequence[Trial], device: str) -> list[_Outcome]:
    """Compare the pairs of a data set; curves have an entry for each pair.

    If the training on a pair diverges, the trial has diverged.
    """
    from clipgnn.training.pairs import compare_pairs

    num_pairs = len(loaded.graphs) // graphs_of_a_pair(trials[0].dataset)
    outcomes = []
    for trial in trials:
        recipe = Recipe.from_dict(Recipe.from_toml(trial.recipe))
        seed = trial.random_seed("train")
        began = time.perf_counter()
        try:
            compared = compare_pairs(
                loaded.graphs,
                _spec(trial),
                [seed_from(seed, pair) for pair in range(num_pairs)],
                device,
                epochs=recipe.epochs,
                batch_size=recipe.batch_size,
                learning_rate=recipe.learning_rate,
            )
        except DivergedPairError as error:
            reason = f"diverged in pair {error.pair}, learning rate {recipe.learning_rate:g}"
            curves = Curves((), metric=trial.metric, diverged=reason)
        else:
            curves = Curves(
                train_loss=[own.train_loss[-1] for own in compared],
                test_score=[float(own.separated and own.reliable) for own in compared],
                validation_score=[own.between for own in compared],
                fresh_score=[float(own.reliable) for own in compared],
                metric=trial.metric,
            )
        outcomes.append(_Outcome(_Compared(curves, time.perf_counter() - began)))
    return outcomes


def _fit(loaded: Loaded, trials: Sequence[Trial]) -> list[_Outcome]:
    """Fit the kernels of trials of one configuration."""
    from clipgnn.training import fit_kernel

    splits = _splits(trials, loaded)
    return [_Outcome(history) for history in fit_kernel(loaded.graphs, _spec(trials[0]), splits)]


def _spec(trial: Trial) -> Any:
    from clipgnn.training import ModelSpec

    model = model_named(trial.model)
    schema = model.load().schema if is_import_path(trial.model) else model.parameters
    return ModelSpec(trial.model, schema.from_toml(trial.parameters))


def _predictions(trained: Any, split: Any, loaded: Loaded) -> Predictions:
    """Predictions of a `TrainedModel` for the test graphs: probabilities, or numbers."""

    def predicted(outputs: Any) -> NDArray[np.float64]:
        return np.asarray(trained.as_predictions(outputs).double().cpu().numpy())

    best = trained.best_test_outputs
    targets = loaded.graphs.targets[split.test]
    return Predictions(
        graphs=split.test.numpy(),
        last=predicted(trained.test_outputs),
        best=None if best is None else predicted(best),
        targets=(targets.double() if targets.is_floating_point() else targets.long()).numpy(),
    )


def _splits(trials: Sequence[Trial], loaded: Loaded) -> list[Any]:
    """Return the `Split` of each trial; folds follow the GIN protocol with seed 0."""
    from clipgnn.datasets.folds import hold_out, stratified_folds
    from clipgnn.training import Split

    y = loaded.graphs.targets[: loaded.num_graphs]
    folds = stratified_folds(y, trials[0].num_folds, seed=0, groups=loaded.groups)
    fresh = range(loaded.num_graphs, len(loaded.graphs))
    splits = []
    for trial in trials:
        train, test = folds[trial.fold]
        validation: Any = ()
        if trial.split == "nested":
            seed = seed_from("validation", trial.dataset, trial.num_folds, trial.fold, bits=31)
            train, validation = hold_out(train, y, trial.validation_share, seed, loaded.groups)
        splits.append(Split(train=train, test=test, validation=validation, fresh=fresh))
    return splits
