"""Trainings by several processes that are compared with one process.

    python -m tests.training.together FOLDER

Every process of a training writes what it found to `FOLDER/CASE-SIZE-RANK.pt`.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import torch
from tests.training.examples import CLIP4, folds, on_disk, regressed, some_graphs
from tests.training.forks import fork, wait
from torch import Tensor
from torch import distributed as dist

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs, open_graphs
from clipgnn.nn.dropout import Dropout
from clipgnn.training import ModelSpec, Recipe, Split, TrainedModels, train
from clipgnn.training import stream as streams
from clipgnn.training.engine import Engine

Found = dict[str, Any]

DROPOUT = ModelSpec("clip", {**CLIP4.parameters, "dropout": 0.5})
RECIPE = Recipe(epochs=20, batch_size=5, learning_rate=0.01)
SHORT = replace(RECIPE, epochs=5)
NUMBER = 30
KILLED_AT = 13
"""Step before which a process is killed: in the third epoch."""


def double_graphs(number: int = NUMBER) -> PackedGraphs:
    """Some graphs in double precision."""
    return some_graphs(number)


def with_edge_attributes() -> PackedGraphs:
    """Graphs with attributes of edges, of which many have no edges at all."""
    graphs = some_graphs(NUMBER)
    without = torch.tensor([number for number in range(NUMBER) if number % 3 == 0])
    counts = graphs.edge_pointers.diff()
    keep = (~torch.isin(torch.arange(NUMBER), without)).repeat_interleave(counts)
    counts[without] = 0
    edges = graphs.edge_index[:, keep]
    generator = torch.Generator().manual_seed(0)
    both = torch.rand(edges.shape[1], 2, generator=generator)
    pointers = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    return replace(graphs, edge_index=edges, edge_pointers=pointers, edge_attr=both)


def found_in(trained: TrainedModels) -> Found:
    """What is compared."""
    return {
        "weights": [own.model.state_dict() for own in trained],
        "train": [own.history.train_loss for own in trained],
        "test": [own.history.test_score for own in trained],
        "validation": [own.history.validation_score for own in trained],
        "best": [own.history.best_epoch for own in trained],
        "outputs": [own.test_outputs for own in trained],
    }


def _plain(_: Path) -> Found:
    return found_in(train(double_graphs(), CLIP4, RECIPE, folds(5, NUMBER)[:1], [0]))


def _edge_attributes(_: Path) -> Found:
    graphs = with_edge_attributes()
    spec = ModelSpec("clip", {**CLIP4.parameters, "num_colorings": 2})
    return found_in(train(graphs, spec, RECIPE, folds(5, NUMBER)[:1], [0]))


def _members(_: Path) -> Found:
    splits = folds(5, NUMBER)[:3]
    return found_in(train(double_graphs(), CLIP4, SHORT, splits, [0, 1, 2], together=True))


def _patience(_: Path) -> Found:
    recipe = replace(RECIPE, patience=2, learning_rate=0.1)
    return found_in(train(double_graphs(), CLIP4, recipe, folds(5, NUMBER)[:1], [0]))


def _gin(_: Path) -> Found:
    graphs = regressed(double_graphs(), 2)
    recipe = replace(SHORT, loss="squared-error")
    spec = ModelSpec("gin", {"hidden_channels": 8, "num_layers": 2, "dropout": 0.0})
    return found_in(train(graphs, spec, recipe, folds(5, NUMBER)[:1], [0]))


def _small_last_batch(_: Path) -> Found:
    """Batches of five graphs and a last one of two, for three processes."""
    return found_in(train(double_graphs(16), CLIP4, SHORT, [Split(range(12), [14, 15])], [0]))


def _stored(folder: Path) -> Found:
    streams.WINDOW_SIZE, streams.BLOCK_GRAPHS = 150, 3
    split = Split.others(test=[3, 9], validation=[4, 5])
    return found_in(train(open_graphs(folder / "graphs"), CLIP4, SHORT, [split], [0]))


def _max_nodes(_: Path) -> Found:
    recipe = replace(SHORT, max_nodes=20)
    return found_in(train(double_graphs(), CLIP4, recipe, folds(5, NUMBER)[:1], [0]))


def _local(_: Path) -> Found:
    splits = folds(5, NUMBER)[:1]
    return found_in(train(double_graphs(), CLIP4, SHORT, splits, [0], local_statistics=True))


def _dropout(_: Path) -> Found:
    masks: list[Tensor] = []
    forward = Dropout.forward

    def noted(self: Dropout, x: Tensor) -> Tensor:
        if self.training:
            masks.append((forward(self, torch.ones(1, 1, 2000)) > 0).flatten())
            self.masks.sub_(1)
        return forward(self, x)

    Dropout.forward = noted  # type: ignore[method-assign]
    recipe = replace(SHORT, epochs=2)
    trained = train(double_graphs(), DROPOUT, recipe, folds(5, NUMBER)[:1], [0])
    return {**found_in(trained), "masks": torch.stack(masks)}


def _too_many(_: Path) -> Found:
    recipe = replace(SHORT, batch_size=2)
    try:
        train(double_graphs(), CLIP4, recipe, folds(5, NUMBER)[:1], [0])
    except InvalidParameterError as error:
        return {"error": str(error)}
    return {}


def checkpointed(graphs: PackedGraphs | StoredGraphs, folder: Path) -> Found:
    """Train with dropout and a checkpoint after every portion."""
    streams.WINDOW_SIZE, streams.BLOCK_GRAPHS = 150, 3
    split = Split.others(test=[3, 9], validation=[4, 5])
    recipe = replace(SHORT, patience=3)
    trained = train(
        graphs, DROPOUT, recipe, [split], [0], checkpoint=folder, checkpoint_seconds=0.0
    )
    return found_in(trained)


def _undisturbed(folder: Path) -> Found:
    return checkpointed(open_graphs(folder / "graphs"), folder / f"whole-{dist.get_world_size()}")


def _killed(folder: Path) -> Found:
    """A process is killed, if there is no checkpoint yet; the others end by themselves."""
    own = folder / f"killed-{dist.get_world_size()}"
    if dist.get_rank() == dist.get_world_size() - 1 and not own.exists():
        step, calls = Engine.step, count(1)

        def counted(self: Engine, loss: Any) -> None:
            if next(calls) == KILLED_AT:
                os.kill(os.getpid(), signal.SIGKILL)
            step(self, loss)

        Engine.step = counted  # type: ignore[method-assign]
    dist.barrier()
    return checkpointed(open_graphs(folder / "graphs"), own)


def _not_shared(folder: Path) -> Found:
    """Only the first process finds the checkpoint of an earlier training."""
    own = folder / ("whole-2" if dist.get_rank() == 0 else "empty")
    try:
        checkpointed(open_graphs(folder / "graphs"), own)
    except InvalidParameterError as error:
        return {"error": str(error)}
    return {}


Case = Callable[[Path], Found]
MATCHING: dict[str, Case] = {
    "plain": _plain,
    "edge attributes": _edge_attributes,
    "members": _members,
    "patience": _patience,
    "gin": _gin,
    "small last batch": _small_last_batch,
    "stored": _stored,
    "max nodes": _max_nodes,
}
"""Trainings that do not depend on the number of processes."""

CASES: dict[str, Case] = {
    **MATCHING,
    "local": _local,
    "dropout": _dropout,
    "too many": _too_many,
    "undisturbed": _undisturbed,
    "killed": _killed,
    "not shared": _not_shared,
}


def run(folder: Path, case: str, size: int, attempt: int = 0) -> list[int]:
    """Run a case by a number of processes, and return their exit codes."""
    name = f"{case}-{size}"

    def work(rank: int) -> None:
        if size > 1:
            store = dist.FileStore(str(folder / f"{name}-{attempt}.store"), size)
            dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
        found = CASES[case](folder)
        torch.save(found, folder / f"{name}-{rank}.pt")

    return wait([fork(partial(work, rank)) for rank in range(size)])


def main(folder: Path) -> None:
    """Run all cases, whether or not others fail; tests read what they leave."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    on_disk(double_graphs(), folder / "graphs")
    for case in MATCHING:
        sizes = (1, 2, 3) if case in ("plain", "small last batch") else (1, 2)
        for size in sizes:
            _reported(folder, case, size)
    for case, size in (("local", 2), ("dropout", 2), ("too many", 3)):
        _reported(folder, case, size)
    _reported(folder, "undisturbed", 2)
    _reported(folder, "not shared", 2)
    codes = run(folder, "killed", 2)
    assert codes[1] == -signal.SIGKILL, codes
    assert not list(folder.glob("killed-2-*.pt"))
    run(folder, "killed", 2, attempt=1)


def _reported(folder: Path, case: str, size: int) -> None:
    try:
        codes = run(folder, case, size)
        if any(codes):
            print(case, size, codes, file=sys.stderr)
    except Exception:  # the test of this case fails, the others run
        traceback.print_exc()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
