"""Training of the members of an engine, epoch by epoch, with checkpoints."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.training.best import BestEpoch
from clipgnn.training.checkpoint import Checkpoint, Progress
from clipgnn.training.engine import Engine, Evaluated
from clipgnn.training.history import History, finite_curves
from clipgnn.training.task import task_of
from clipgnn.training.trained import TrainedModel, split_members


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


@runtime_checkable
class Program(Protocol):
    """Steps and evaluations of an engine: executed one by one, or replayed on a GPU."""

    compile_seconds: float

    def steps(self) -> None:
        """Train with all batches of the current portion."""

    def evaluate(self, part: str) -> Evaluated:
        """Compute scores on a part of the splits. The next call overwrites the tensors."""


class Eager:
    """Program that executes steps and evaluations one after the other."""

    compile_seconds = 0.0

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def steps(self) -> None:
        """Train with all batches of the current portion."""
        self.engine.network.train()
        for _ in range(self.engine.steps):
            self.engine.step(self.engine.loss())

    def evaluate(self, part: str) -> Evaluated:
        """Compute scores on a part of the splits."""
        self.engine.network.eval()
        return self.engine.evaluate(part)


class Training:
    """The training of the members of an engine.

    Args:
        engine: the engine.
        positions: indices of the members in the splits of `train`.
        deterministic: use only operations with bit-identical results on a GPU.
        callback: called with the metrics of every epoch.
        checkpoint: checkpoint to continue from, and to write; None for none.
    """

    def __init__(
        self,
        engine: Engine,
        positions: Sequence[int],
        *,
        deterministic: bool = False,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.engine, self.positions = engine, positions
        self.callback, self.checkpoint = callback, checkpoint
        self.program = _program(engine, deterministic=deterministic)
        members, device = engine.num_members, engine.device
        self.losses: list[Tensor] = []
        self.scores: dict[str, list[Tensor]] = {part: [] for part in engine.evaluated}
        self.best = BestEpoch(members, engine.recipe.patience, device)
        self.diverged = torch.zeros(members, dtype=torch.bool, device=device)
        # For the test graphs, after the last epoch of each member.
        self.outputs = torch.zeros(members, 0, 0, device=device)
        self._seconds = 0.0

    def run(self) -> list[TrainedModel]:
        """Train for all epochs, or continue from the checkpoint."""
        start = time.perf_counter()
        epoch, portion, finished = self._restored()
        start -= self._seconds
        while epoch < self.engine.recipe.epochs and not finished:
            if portion == 0:
                self.engine.begin(epoch)
            for _ in self.engine.portions(epoch, portion):
                self.program.steps()
                self.engine.finish_portion()
                portion += 1
                if self.checkpoint is not None and self.checkpoint.due:
                    self._write(epoch, portion, start)
            finished = self._finish_epoch(epoch)
            epoch, portion = epoch + 1, 0
            if self.checkpoint is not None and self.checkpoint.due:
                self._write(epoch, portion, start, finished=finished)
        if self.checkpoint is not None:
            self._write(epoch, portion, start, finished=True)
        return self._trained(start)

    def _finish_epoch(self, epoch: int) -> bool:
        """Evaluate the members after an epoch; return whether the training ends."""
        engine, recipe = self.engine, self.engine.recipe
        loss = engine.train_loss().clone()
        self.losses.append(loss)
        evaluated = {part: self.program.evaluate(part) for part in engine.evaluated}
        latest = {part: own.scores.clone() for part, own in evaluated.items()}
        for part, own in latest.items():
            self.scores[part].append(own)
        if self.callback is not None:
            test = latest.get("test", torch.full_like(loss, torch.nan))
            others = latest.get("validation"), latest.get("fresh")
            self.callback(Epoch(epoch + 1, self.positions, loss, test, *others))
        state = {}
        finite = loss.isfinite()
        if "test" in evaluated:
            finite = finite & latest["test"].isfinite()
            tested = evaluated["test"].outputs
            active = (self.best.stopped_after == 0)[:, None, None]
            self.outputs = torch.where(active, tested, self.outputs if epoch else 0)
            if "validation" in latest:
                state["test outputs"] = tested
        if recipe.patience is not None:
            state |= engine.network.state_dict()
        # A member that has diverged keeps its best epoch before, even if it recovers.
        self.diverged = self.diverged | ~finite
        monitored = _monitored(loss, latest, engine).masked_fill(self.diverged, torch.nan)
        stopped = self.best.update(monitored, state)
        # Not on a GPU, because the check waits for the device.
        if engine.device.type == "cpu" and not finite.any():
            return True
        return recipe.patience is not None and bool(stopped.all())

    def _trained(self, start: float) -> list[TrainedModel]:
        engine = self.engine
        if engine.recipe.patience is not None:
            restored = {name: self.best.kept(name) for name in engine.network.state_dict()}
            engine.network.load_state_dict(restored)
        if engine.device.type == "cuda":
            torch.cuda.current_stream(engine.device).synchronize()
        seconds = time.perf_counter() - start
        histories = _histories(
            engine, self.best, self.losses, self.scores, seconds, self.program.compile_seconds
        )
        counts = engine.counts["test"]
        last = [rows[:count].clone() for rows, count in zip(self.outputs, counts, strict=True)]
        chosen: list[Tensor | None] = [None] * engine.num_members
        if "validation" in self.scores and "test" in self.scores:
            kept = zip(
                self.best.kept("test outputs"), counts, engine.counts["validation"], strict=True
            )
            chosen = [rows[:count].clone() if has else None for rows, count, has in kept]
        task = task_of(engine.recipe, engine.window.targets)
        return split_members(
            engine.network, histories, engine.recipe, task, last, chosen, engine.encoding
        )

    def _write(self, epoch: int, portion: int, start: float, *, finished: bool = False) -> None:
        assert self.checkpoint is not None
        seconds = time.perf_counter() - start
        self.checkpoint.write(self._tensors(), Progress(epoch, portion, finished, seconds))

    def _restored(self) -> tuple[int, int, bool]:
        """Restore the state of the checkpoint, if there is one; return how far it is."""
        if self.checkpoint is None:
            return 0, 0, False
        found = self.checkpoint.read()
        self._check_same(None if found is None else found[1])
        if found is None:
            return 0, 0, False
        tensors, progress = found
        tensors = {name: own.to(self.engine.device) for name, own in tensors.items()}
        self.losses = list(tensors["losses"])
        self.scores = {part: list(tensors[f"scores.{part}"]) for part in self.scores}
        self.diverged, self.outputs = tensors["diverged"], tensors["outputs"]
        self.best.restore(_with_prefix(tensors, "best."), progress.epoch)
        self.engine.restore(_with_prefix(tensors, "engine."))
        if progress.portion:
            self.engine.optimizer.set_rate(self.engine.recipe.rate(progress.epoch))
        self._seconds = progress.seconds
        return progress.epoch, progress.portion, progress.finished

    def _check_same(self, progress: Progress | None) -> None:
        """Check that all processes continue from the same checkpoint."""
        workers = self.engine.workers
        if workers.alone:
            return
        own = [-1, -1] if progress is None else [progress.epoch, progress.portion]
        # [processes, 2]
        all_own = workers.gather(torch.tensor(own, device=self.engine.device))
        if not bool((all_own == all_own[0]).all()):
            raise InvalidParameterError(
                "checkpoint must be one folder that all processes read. They found checkpoints "
                f"after {', '.join(str(max(0, epoch)) for epoch in all_own[:, 0].tolist())} "
                "epochs, or none. Use a folder on a file system that all machines share.",
                parameter="checkpoint",
            )

    def _tensors(self) -> dict[str, Tensor]:
        """Everything that changes in training, by name."""
        empty = torch.zeros(0, self.engine.num_members)
        curves = {"losses": self.losses} | {
            f"scores.{part}": own for part, own in self.scores.items()
        }
        return {
            **{name: torch.stack(own) if own else empty for name, own in curves.items()},
            "diverged": self.diverged,
            "outputs": self.outputs,
            **{f"best.{name}": own for name, own in self.best.state.items()},
            **{f"engine.{name}": own for name, own in self.engine.state.items()},
        }


def _with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): own for name, own in tensors.items() if name.startswith(prefix)
    }


def _program(engine: Engine, *, deterministic: bool) -> Program:
    if engine.feed.fixed_capacity and engine.workers.alone:
        from clipgnn.training.capture import Captured

        return Captured(engine, deterministic=deterministic)
    return Eager(engine)


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
