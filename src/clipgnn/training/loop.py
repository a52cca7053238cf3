"""The training loop: one for every model, on any device."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training.engine import Engine, num_steps
from clipgnn.training.inputs import check_recipe, check_seeds, check_task, device_named
from clipgnn.training.models import ModelSpec
from clipgnn.training.recipe import History, Recipe
from clipgnn.training.splits import Split, check_splits

Progress = Callable[[int], None]
"""Called with the number of member-epochs that have ended since the last call."""


def train(
    graphs: PackedGraphs,
    model: ModelSpec,
    recipe: Recipe,
    splits: Sequence[Split],
    seeds: Sequence[int],
    device: str | torch.device = "cpu",
    *,
    together: bool | None = None,
    deterministic: bool = False,
    allow_overlap: bool = False,
    progress: Progress | None = None,
) -> list[History]:
    """Train a member for each split and seed, and test it after every epoch.

    Members train together, as one computation, or one after the other. On a GPU together is
    faster, and a step is recorded once and replayed. On the CPU it is for small networks, and not
    for CLIP with many colorings (`clipgnn bench --together`): use a process for each instead.

    Args:
        graphs: undirected graphs. Float attributes and targets are converted to torch's default
            dtype, in which the network is built.
        model: the model and its parameters.
        recipe: how to train.
        splits: the graphs of each member.
        seeds: the seed of each member, for its weights, its batches and its colorings.
        device: "cpu" or "cuda".
        together: whether members train together; by default on a GPU.
        deterministic: on a GPU, repeat results to the last bit, at a cost in time.
        allow_overlap: whether a graph may be in several parts of a split, such as training and
            test.
        progress: see `Progress`.

    Returns:
        One history for each member. It does not depend on the other members, except for rounding.
        With the same seeds it is the same to the last bit on one CPU type with one number of
        threads (`torch.set_num_threads`): sums are split by threads. A member whose loss or score
        is no longer finite has `History.diverged` set; the others are not affected.

    Raises:
        InvalidGraphError: if `graphs` is not a data set, or one that cannot be trained on.
        InvalidParameterError: if a split names graphs that are not there, twice, or in several
            parts; if splits and seeds do not match; or if the model cannot be built.
    """
    check_task(graphs, model)
    check_recipe(recipe)
    check_splits(splits, len(graphs), allow_overlap=allow_overlap)
    seeds = check_seeds(seeds, len(splits))
    for number, split in enumerate(splits):
        if num_steps(split, recipe.batch_size) == 0:
            raise InvalidParameterError(
                f"Split {number}: train must name at least two graphs, since one graph has no "
                f"batch statistics. Got {split.train.numel()}."
            )
    device = device_named(device)
    graphs = graphs.with_floats(torch.get_default_dtype())
    if together is None:
        together = device.type == "cuda"
    groups: dict[int, list[int]] = defaultdict(list)
    for member, split in enumerate(splits):
        key = num_steps(split, recipe.batch_size) if together else member
        groups[key].append(member)
    histories: dict[int, History] = {}
    for chosen in groups.values():
        own = [splits[i] for i in chosen], [seeds[i] for i in chosen]
        engine = Engine(graphs, model, recipe, *own, device)
        trained = train_together(engine, deterministic=deterministic, progress=progress)
        histories.update(zip(chosen, trained, strict=True))
    return [histories[member] for member in range(len(splits))]


def train_together(
    engine: Engine, *, deterministic: bool = False, progress: Progress | None = None
) -> list[History]:
    """Train the members of an engine; see `train`."""
    recipe = engine.recipe
    if engine.device.type == "cuda":
        from clipgnn.training.capture import Captured

        program: Captured | Eager = Captured(engine, deterministic=deterministic)
    else:
        program = Eager(engine)
    start = time.perf_counter()
    losses, tests, validations = [], [], []
    stopping = _Stopping(recipe.patience, engine.num_members)
    for epoch in range(recipe.epochs):
        engine.set_rate(epoch)
        engine.shuffle(epoch)
        program.epoch()
        losses.append(engine.train_loss().clone())
        tests.append(program.test().clone())
        if engine.validation_parts:
            validations.append(program.validate().clone())
        if progress is not None:
            progress(engine.num_members)
        # A GPU would have to wait for the check; there all epochs are trained.
        if engine.device.type == "cpu" and not (losses[-1].isfinite() & tests[-1].isfinite()).any():
            break
        if recipe.patience is not None and stopping.all_done(
            _monitored(losses, validations, engine)
        ):
            break
    curves = [_on_host(curve) for curve in (losses, tests, validations)]
    seconds = time.perf_counter() - start
    histories = [
        History(
            train_loss=loss,
            test_score=test,
            validation_score=validation if has_validation else [],
            seconds=seconds,
            compile_seconds=program.compile_seconds,
        )
        for loss, test, validation, has_validation in zip(
            *(_by_member(curve, stopping, engine.num_members) for curve in curves),
            engine.has_validation.tolist(),
            strict=True,
        )
    ]
    return [ended_where_diverged(history, recipe) for history in histories]


def ended_where_diverged(history: History, recipe: Recipe) -> History:
    """The finite epochs of a history, and where it diverged if there are others."""
    curves = (history.train_loss, history.test_score, history.validation_score)
    finite = [next((i for i, v in enumerate(c) if not math.isfinite(v)), len(c)) for c in curves]
    epoch = min(finite[0], finite[1], finite[2] if history.validation_score else finite[1])
    if epoch == len(history.train_loss):
        return history
    return replace(
        history,
        train_loss=history.train_loss[:epoch],
        test_score=history.test_score[:epoch],
        validation_score=history.validation_score[:epoch],
        diverged=f"diverged in epoch {epoch + 1}, learning rate {recipe.rate(epoch):g}",
    )


def _on_host(curve: list[Tensor]) -> Tensor:
    """`[epochs, members]`."""
    return torch.stack(curve).cpu() if curve else torch.empty(0)


def _by_member(curve: Tensor, stopping: "_Stopping", num_members: int) -> list[list[float]]:
    if curve.numel() == 0:
        return [[] for _ in range(num_members)]
    return [
        curve[: stopping.length(member, curve.shape[0]), member].tolist()
        for member in range(num_members)
    ]


class Eager:
    """Steps one by one, as they are written."""

    compile_seconds = 0.0

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def epoch(self) -> None:
        """All steps of an epoch."""
        self.engine.model.train()
        for _ in range(self.engine.steps):
            self.engine.step(self.engine.loss())

    def test(self) -> Tensor:
        """Scores on the test graphs."""
        self.engine.model.eval()
        return self.engine.score(self.engine.test_parts)

    def validate(self) -> Tensor:
        """Scores on the validation graphs."""
        self.engine.model.eval()
        return self.engine.score(self.engine.validation_parts)


class _Stopping:
    """Early stopping of each member by itself: its history ends where it would have stopped."""

    def __init__(self, patience: int | None, num_members: int) -> None:
        self.patience = float("inf") if patience is None else patience
        self.best = [float("inf")] * num_members
        self.best_epoch = [0] * num_members
        self.ended: list[int | None] = [None] * num_members
        self.epochs = 0

    def all_done(self, values: list[float]) -> bool:
        """Take the values of an epoch, lower is better; has every member stopped?"""
        self.epochs += 1
        for member, value in enumerate(values):
            if self.ended[member] is not None:
                continue
            if value < self.best[member]:
                self.best[member], self.best_epoch[member] = value, self.epochs
            elif self.epochs - self.best_epoch[member] >= self.patience:
                self.ended[member] = self.epochs
        return all(epoch is not None for epoch in self.ended)

    def length(self, member: int, epochs: int) -> int:
        """Epochs of a member's history."""
        return self.ended[member] or epochs


def _monitored(losses: list[Tensor], validations: list[Tensor], engine: Engine) -> list[float]:
    """What early stopping compares for each member, lower is better: validation score or loss."""
    values = losses[-1]
    if validations:
        score = validations[-1] if engine.recipe.loss == "squared-error" else -validations[-1]
        values = torch.where(engine.has_validation, score, values)
    return values.tolist()
