"""The training loop for all networks and devices."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.network import Network
from clipgnn.parameters import Recipe
from clipgnn.training.best import BestEpoch
from clipgnn.training.engine import Engine, Evaluated, num_steps
from clipgnn.training.history import History, finite_curves
from clipgnn.training.inputs import check_recipe, check_seeds, check_task, device_named
from clipgnn.training.losses import check_targets
from clipgnn.training.metrics import check_defined, check_known
from clipgnn.training.models import ModelSpec, copies, new_members
from clipgnn.training.splits import EVALUATED, Split, check_splits
from clipgnn.training.streams import own_stream
from clipgnn.training.task import task_of
from clipgnn.training.trained import TrainedModel, TrainedModels, split_members


@dataclass(frozen=True, eq=False)
class Epoch:
    """Metrics of the members that train together, after an epoch.

    The values are on the device of the training. Reading them on a GPU waits for the epoch.

    Attributes:
        number: the epoch, from 1.
        members: indices of the members in the splits of `train`, including members that have
            stopped before the others.
        train_loss: mean training loss of each member.
        test_score: test score of each member; NaN without test graphs.
        validation_score: validation score of each member; None if no member has validation graphs.
        fresh_score: score of each member on its fresh graphs; None if no member has any.
    """

    number: int
    members: Sequence[int]
    train_loss: Tensor
    test_score: Tensor
    validation_score: Tensor | None
    fresh_score: Tensor | None


Callback = Callable[[Epoch], None]
"""A function that is called after every epoch. An exception, such as `optuna.TrialPruned`, ends the
training."""


def train(
    graphs: PackedGraphs,
    model: ModelSpec | Network,
    recipe: Recipe,
    splits: Sequence[Split],
    seeds: Sequence[int] | NDArray[np.integer[Any]],
    device: str | torch.device = "cpu",
    *,
    together: bool | None = None,
    deterministic: bool = False,
    allow_overlap: bool = False,
    callback: Callback | None = None,
) -> TrainedModels:
    """Train a model for each split and seed, and evaluate it after every epoch.

    Models train together, as members of one network, or one after the other. On a GPU training
    together is faster, and a step is recorded once and replayed. On the CPU it is faster for small
    networks only, and not for CLIP with many colorings (`clipgnn bench --only together`); use
    several processes instead.

    Args:
        graphs: the data set. Float attributes and targets are converted to torch's default dtype,
            in which networks are built; for a given network, to its dtype.
        model: the model and its parameters, with weights drawn from the seeds; or a network, whose
            training continues: every model starts with its weights.
        recipe: the training recipe.
        splits: the graphs of each model.
        seeds: the seed of each model, for its weights, its batches and its colorings.
        device: "cpu" or "cuda".
        together: whether models train together; by default on a GPU.
        deterministic: whether results on a GPU are bit-identical in every run, also for networks
            that `torch.compile` compiles, which is slower.
        allow_overlap: whether a graph can be in several parts of a split, such as training and
            test.
        callback: called with the metrics of every epoch.

    Returns:
        A trained model for each split, independent of the others except for rounding. With the same
        seeds, results on a CPU are bit-identical for the same type of CPU and number of threads
        (`torch.set_num_threads`), which changes the order of summation. If the loss or score of a
        model is not finite, its `history.diverged` is set; other models are not affected.

    Raises:
        InvalidGraphError: if `graphs` is not a data set, or the model cannot read it.
        InvalidParameterError: if a split has indices out of range, duplicates, or graphs in several
            parts; if splits and seeds, or loss and targets, do not match; or if the model has an
            invalid parameter.
    """
    check_task(graphs, model)
    check_recipe(recipe)
    check_splits(splits, len(graphs), allow_overlap=allow_overlap)
    seeds = check_seeds(seeds, len(splits))
    _check_trainable(graphs, recipe, splits)
    if callback is not None and not callable(callback):
        raise InvalidParameterError(
            f"callback must be a function of an Epoch, or None. Got {shown(callback)}."
        )
    device = device_named(device)
    given = model if isinstance(model, Network) else None
    dtype = torch.get_default_dtype() if given is None else next(given.parameters()).dtype
    graphs = graphs.with_floats(dtype)
    if together is None:
        together = device.type == "cuda"
    groups: dict[int, list[int]] = defaultdict(list)
    for position, split in enumerate(splits):
        key = num_steps(split, recipe.batch_size) if together else position
        groups[key].append(position)
    trained: dict[int, TrainedModel] = {}
    with own_stream(device):
        for positions in groups.values():
            own_seeds = [seeds[position] for position in positions]
            if isinstance(model, ModelSpec):
                network = new_members(model, graphs, recipe, own_seeds)
            else:
                network = copies(model, graphs, recipe, own_seeds)
            own_splits = [splits[position] for position in positions]
            engine = Engine(graphs, network, recipe, own_splits, own_seeds, device)
            models = train_members(
                engine, positions, deterministic=deterministic, callback=callback
            )
            trained.update(zip(positions, models, strict=True))
    return TrainedModels([trained[position] for position in range(len(splits))])


def _check_trainable(graphs: PackedGraphs, recipe: Recipe, splits: Sequence[Split]) -> None:
    check_targets(recipe, graphs)
    for number, split in enumerate(splits):
        if num_steps(split, recipe.batch_size) == 0:
            raise InvalidParameterError(
                f"Split {number}: train must have at least two graphs, because one graph has no "
                f"batch statistics. Got {split.train.numel()}."
            )
        targets = graphs.targets
        check_known(targets[split.train.to(graphs.device)], f"Split {number}: train")
        for part in EVALUATED:
            chosen = getattr(split, part).to(graphs.device)
            check_defined(recipe.score, targets[chosen], f"Split {number}: {part}")


@runtime_checkable
class Program(Protocol):
    """Epochs of an engine: executed step by step, or replayed on a GPU."""

    compile_seconds: float

    def epoch(self) -> None:
        """Train for an epoch."""

    def evaluate(self, part: str) -> Evaluated:
        """Compute scores on a part of the splits. The next call overwrites the tensors."""


def train_members(
    engine: Engine,
    positions: Sequence[int],
    *,
    deterministic: bool = False,
    callback: Callback | None = None,
) -> list[TrainedModel]:
    """Train the members of an engine; see `train`."""
    recipe = engine.recipe
    program = _program(engine, deterministic=deterministic)
    start = time.perf_counter()
    losses: list[Tensor] = []
    scores: dict[str, list[Tensor]] = {part: [] for part in engine.evaluated}
    best = BestEpoch(engine.num_members, recipe.patience, engine.device)
    diverged = torch.zeros(engine.num_members, dtype=torch.bool, device=engine.device)
    # For the test graphs, after the last epoch of each member.
    outputs = torch.zeros(engine.num_members, 0, 0, device=engine.device)
    for epoch in range(recipe.epochs):
        engine.set_rate(epoch)
        engine.shuffle(epoch)
        program.epoch()
        losses.append(engine.train_loss().clone())
        evaluated = {part: program.evaluate(part) for part in engine.evaluated}
        latest = {part: own.scores.clone() for part, own in evaluated.items()}
        for part, own in latest.items():
            scores[part].append(own)
        if callback is not None:
            test = latest.get("test", torch.full_like(losses[-1], torch.nan))
            others = latest.get("validation"), latest.get("fresh")
            callback(Epoch(epoch + 1, positions, losses[-1], test, *others))
        state = {}
        finite = losses[-1].isfinite()
        if "test" in evaluated:
            finite = finite & latest["test"].isfinite()
            tested = evaluated["test"].outputs
            active = (best.stopped_after == 0)[:, None, None]
            outputs = torch.where(active, tested, outputs if epoch else 0)
            if "validation" in latest:
                state["test outputs"] = tested
        if recipe.patience is not None:
            state |= engine.network.state_dict()
        # A member that has diverged keeps its best epoch before, even if it recovers.
        diverged = diverged | ~finite
        monitored = _monitored(losses[-1], latest, engine).masked_fill(diverged, torch.nan)
        stopped = best.update(monitored, state)
        # Not on a GPU, because the check waits for the device.
        if engine.device.type == "cpu" and not finite.any():
            break
        if recipe.patience is not None and bool(stopped.all()):
            break
    if recipe.patience is not None:
        restored = {name: best.kept(name) for name in engine.network.state_dict()}
        engine.network.load_state_dict(restored)
    if engine.device.type == "cuda":
        torch.cuda.current_stream(engine.device).synchronize()
    seconds = time.perf_counter() - start
    histories = _histories(engine, best, losses, scores, seconds, program.compile_seconds)
    counts = engine.counts["test"]
    last = [rows[:count].clone() for rows, count in zip(outputs, counts, strict=True)]
    chosen: list[Tensor | None] = [None] * engine.num_members
    if "validation" in scores and "test" in scores:
        kept = zip(best.kept("test outputs"), counts, engine.counts["validation"], strict=True)
        chosen = [rows[:count].clone() if has else None for rows, count, has in kept]
    task = task_of(recipe, engine.y)
    return split_members(engine.network, histories, recipe, task, last, chosen, engine.encoding)


def _program(engine: Engine, *, deterministic: bool) -> Program:
    if engine.device.type == "cuda":
        from clipgnn.training.capture import Captured

        return Captured(engine, deterministic=deterministic)
    return Eager(engine)


class Eager:
    """Program that executes steps and evaluations one after the other."""

    compile_seconds = 0.0

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def epoch(self) -> None:
        """Train for an epoch."""
        self.engine.network.train()
        for _ in range(self.engine.steps):
            self.engine.step(self.engine.loss())

    def evaluate(self, part: str) -> Evaluated:
        """Compute scores on a part of the splits."""
        self.engine.network.eval()
        return self.engine.evaluate(part)


def _monitored(loss: Tensor, scores: Mapping[str, Tensor], engine: Engine) -> Tensor:
    """Value that determines the best epoch of each member; lower is better."""
    if "validation" not in scores:
        return loss
    score = -scores["validation"] if engine.recipe.maximize else scores["validation"]
    return torch.where(engine.has_validation, score, loss)


def _histories(
    engine: Engine,
    best: BestEpoch,
    losses: list[Tensor],
    scores: Mapping[str, list[Tensor]],
    seconds: float,
    compile_seconds: float,
) -> list[History]:
    """Create the history of each member, up to the epoch after which it stopped."""
    curves = {
        name: torch.stack(values).double().cpu().numpy()  # [epochs, members]
        for name, values in {"train": losses, **scores}.items()
    }
    stopped_after, best_epoch = best.stopped_after.tolist(), best.best_epoch.tolist()
    histories = []
    for member in range(engine.num_members):
        epochs = stopped_after[member] or len(losses)
        own = {
            name: curve[:epochs, member]
            for name, curve in curves.items()
            if name == "train" or engine.counts[name][member]
        }
        history = History(
            finite_curves(own, engine.recipe), best_epoch[member] or None, seconds, compile_seconds
        )
        histories.append(history)
    return histories
