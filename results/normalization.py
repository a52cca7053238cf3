"""Measure batch normalization in evaluation: running averages against statistics of the batch.

    python results/normalization.py train --device cuda --output curves.npz [--cells REGEX]
    python results/normalization.py report curves.npz …

Ten folds of each cell train at once, and after every epoch the test folds are scored in three ways:
with the running averages (what clipgnn does), with the statistics of the test batch itself, and
with statistics measured on 256 training graphs with the current weights. The treatment "none" is
batch normalization without a rule for constant channels and with an initial bias of 0; "rule" is
clipgnn's, and "bias alone" and "rule alone" are its two parts.
"""

import argparse
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clipgnn import ModelSpec, Recipe, Split, load_dataset, stratified_folds
from clipgnn.experiments.machine import installed_versions
from clipgnn.nn import norm
from clipgnn.nn.norm import BatchNorm
from clipgnn.training.capture import Captured, _record
from clipgnn.training.engine import Engine
from clipgnn.training.engines import engine_for
from clipgnn.training.members import Eager
from clipgnn.training.models import new_members

WAYS = ("running", "batch", "measured")
MEASURED_GRAPHS = 256
LAST = 50
TASKS = ("connectivity", "bipartiteness", "triangle-freeness", "csl")
REAL = ("MUTAG", "PTC_MR", "IMDB-BINARY", "PROTEINS")


@dataclass(frozen=True)
class Cell:
    """A model on a data set under a treatment of constant channels."""

    treatment: str
    model: str
    dataset: str

    @property
    def name(self) -> str:
        """Key of its curves."""
        return f"{self.treatment}/{self.model}/{self.dataset}"

    @property
    def spec(self) -> ModelSpec:
        """The model."""
        deep = {"num_layers": 5, "hidden_channels": 16}
        wide = {"num_layers": 3, "hidden_channels": 32}
        size = deep if self.dataset == "csl" else wide
        kind, _, colorings = self.model.partition(" ")
        if kind == "clip":
            return ModelSpec("clip", {**size, "num_colorings": int(colorings)})
        return ModelSpec(kind, size)

    @property
    def recipe(self) -> Recipe:
        """The paper's, with as many epochs as the paper has for the data set."""
        return Recipe(epochs=400 if self.dataset in TASKS else 350)


CELLS = [
    Cell(treatment, model, dataset)
    for treatment in ("none", "rule")
    for dataset in (*TASKS, *REAL)
    for model in ("clip 0", "clip 16", "clip 8", "gin", "rp-gin")
    if (model in ("clip 0", "clip 16", "gin", "rp-gin") and dataset in TASKS)
    or (model in ("clip 8", "clip 0", "gin") and dataset in REAL)
] + [Cell(treatment, "clip 16", "csl") for treatment in ("bias alone", "rule alone")]


RULE, RULE_BIAS = BatchNorm._normalize, norm.INITIAL_BIAS


def _plain(
    self: BatchNorm,
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    mask: Tensor | None,
    unit: float,
) -> Tensor:
    """Batch normalization without a rule for constant channels."""
    scale = self.weight * torch.rsqrt(variance + self.epsilon)
    rows = torch.addcmul((self.bias - mean * scale)[:, None], x, scale[:, None])
    return rows if mask is None else torch.where(mask[:, :, None], rows, 0)


class Scores:
    """The three ways to score the test folds, recorded on a GPU."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.norms = [part for part in engine.network.modules() if isinstance(part, BatchNorm)]
        chosen = engine.order[:, :MEASURED_GRAPHS].clone()
        self.graphs = chosen, engine.window.assembler.capacity_for(chosen)
        self.values = torch.zeros(len(WAYS), engine.num_members, device=engine.device)
        self.replay: Callable[[], None] = self.compute
        if engine.device.type == "cuda":
            self.replay = _record(self.compute, 1).replay

    @torch.no_grad()
    def compute(self) -> None:
        """Score in all ways; the running averages stay as they are."""
        engine = self.engine
        engine.network.eval()
        self.values[0].copy_(engine.evaluate("test").scores)
        with self.momentum(0.0):
            self.values[1].copy_(engine.evaluate("test").scores)
        kept = [{name: value.clone() for name, value in n.named_buffers()} for n in self.norms]
        with self.momentum(1.0):
            padded = engine.num_members > 1 or engine.device.type == "cuda"
            batch = engine.window.assembler.batch(*self.graphs, padded=padded)
            engine._outputs(engine.window, batch, ((engine.epoch_number * 2 + 1) << 32) - 1)
        self.values[2].copy_(engine.evaluate("test").scores)
        for own, buffers in zip(self.norms, kept, strict=True):
            for name, value in own.named_buffers():
                value.copy_(buffers[name])

    @contextmanager
    def momentum(self, value: float) -> Iterator[None]:
        """Batch statistics, entered into the running averages with this weight."""
        for own in self.norms:
            own.train()
            own.momentum = value
        yield
        for own in self.norms:
            own.eval()
            own.momentum = 0.1


def train_cell(cell: Cell, device: torch.device, given: argparse.Namespace) -> Any:
    """Curves `[ways, epochs, folds]` and training losses `[epochs, folds]`."""
    norm.INITIAL_BIAS = RULE_BIAS if cell.treatment in ("rule", "bias alone") else 0.0
    ruled = cell.treatment in ("rule", "rule alone")
    BatchNorm._normalize = RULE if ruled else _plain  # type: ignore[assignment]
    graphs = load_dataset(cell.dataset, seed=0, download=False)
    splits = [Split(*fold) for fold in stratified_folds(graphs.y)][: given.folds]
    recipe = cell.recipe if given.epochs is None else Recipe(epochs=given.epochs)
    seeds = [given.seed * 1000 + fold for fold in range(given.folds)]
    network = new_members(cell.spec, graphs, recipe, seeds)
    engine = engine_for(graphs, network, recipe, splits, seeds, device)
    program = Captured(engine) if device.type == "cuda" else Eager(engine)
    scores = Scores(engine)
    curves: list[Tensor] = []
    losses: list[Tensor] = []
    for epoch in range(recipe.epochs):
        engine.begin(epoch)
        for _ in engine.portions(epoch):
            program.steps()
        losses.append(engine.train_loss().clone())
        scores.replay()
        curves.append(scores.values.clone())
    return torch.stack(curves, 1).cpu().numpy(), torch.stack(losses).cpu().numpy()


def report(paths: list[Path]) -> str:
    """A Markdown table: mean accuracy of the last epochs, and its paired difference."""
    data: dict[str, Any] = {}
    for path in paths:
        data |= dict(np.load(path))
    lines = [
        "| treatment | model | data set | running averages | batch | measured | running - batch, "
        "in standard errors | first 50 epochs: running, batch | best epoch, running |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in sorted(name for name in data if not name.split("@")[0].endswith("/loss")):
        cell = Cell(*name.split("/"))  # one of another seed has @SEED after its data set
        curves = 100 * data[cell.name]
        ends = curves[:, -LAST:].mean(1)
        difference = ends[0] - ends[1]
        error = difference.std(ddof=1) / len(difference) ** 0.5
        distance = f"{difference.mean() / error:+.1f}" if error else "0"
        begins = curves[:, :LAST].mean((1, 2))
        shown = [f"{own.mean():.1f} ± {own.std():.1f}" for own in ends]
        best = curves[0].mean(1).max()
        fields = [cell.treatment, cell.model, cell.dataset, *shown]
        fields.append(f"{difference.mean():+.2f}, {distance}")
        fields += [f"{begins[0]:.1f}, {begins[1]:.1f}", f"{best:.1f}"]
        lines.append(f"| {' | '.join(fields)} |")
    return "\n".join(lines)


def main() -> None:
    """Train cells, or print the table of those that are trained."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("--device", default="cpu")
    training.add_argument("--output", type=Path, required=True)
    training.add_argument("--cells", default="")
    training.add_argument("--folds", type=int, default=10)
    training.add_argument("--epochs", type=int)
    training.add_argument("--seed", type=int, default=0)
    reporting = commands.add_parser("report")
    reporting.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if given.command == "report":
        print(report(given.files))
        return
    found: dict[str, Any] = dict(np.load(given.output)) if given.output.exists() else {}
    for cell in CELLS:
        key = f"{cell.name}@{given.seed}" if given.seed else cell.name
        if key in found or not re.search(given.cells, cell.name):
            continue
        start = time.perf_counter()
        curves, losses = train_cell(cell, torch.device(given.device), given)
        found[key] = curves.astype(np.float32)
        found[f"{cell.name}/loss{key.removeprefix(cell.name)}"] = losses.astype(np.float32)
        partial = given.output.with_suffix(".partial.npz")
        np.savez_compressed(partial, **found)
        partial.replace(given.output)
        ends = 100 * curves[:, -LAST:].mean((1, 2))
        print(f"{cell.name}: {ends.round(1)}, {time.perf_counter() - start:.0f} s", flush=True)
    versions = installed_versions()
    print({key: versions[key] for key in ("clipgnn-source", "torch", "python")})


if __name__ == "__main__":
    main()
