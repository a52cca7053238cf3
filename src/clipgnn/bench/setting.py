"""Models and data of the measurements."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from clipgnn.datasets.folds import stratified_folds
from clipgnn.datasets.properties import connectivity
from clipgnn.datasets.registry import load_dataset
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import Recipe
from clipgnn.parameters.datasets import PROPERTY_TASKS
from clipgnn.training.capture import Captured
from clipgnn.training.engine import Engine
from clipgnn.training.engines import engine_for as engine_of
from clipgnn.training.members import Eager
from clipgnn.training.models import ModelSpec, new_members
from clipgnn.training.splits import Split

BATCH_SIZE = 32
"""Number of graphs of a batch in training, and of the peer in inference."""

SEED = 0
"""Seed of generated graphs, and of the first member; members have consecutive seeds."""


@dataclass(frozen=True)
class Setting:
    """A data set, and the size of the network.

    Attributes:
        dataset: name of the data set.
        num_colorings: number of colorings k.
        num_layers: number of layers T.
        hidden_channels: number of units of every layer.
        epochs: number of epochs of a training run, for the total time on a GPU.
    """

    dataset: str
    num_colorings: int = 8
    num_layers: int = 3
    hidden_channels: int = 64
    epochs: int = 350

    @classmethod
    def of(cls, dataset: str) -> "Setting":
        """Return the setting for a data set; the property tasks have that of the paper."""
        if dataset in PROPERTY_TASKS:
            return cls(dataset, num_colorings=16, hidden_channels=32, epochs=400)
        return cls(dataset)

    def spec(self) -> ModelSpec:
        """Return the model of this setting."""
        return ModelSpec(
            "clip",
            {
                "num_colorings": self.num_colorings,
                "num_layers": self.num_layers,
                "hidden_channels": self.hidden_channels,
            },
        )

    def recipe(self) -> Recipe:
        """Return the training recipe of this setting."""
        return Recipe(epochs=self.epochs, batch_size=BATCH_SIZE)

    def graphs(self, root: Path | None) -> PackedGraphs:
        """Load the data set."""
        return load_dataset(self.dataset, root=root, seed=SEED)

    def cells(self) -> dict[str, str]:
        """Return the texts of a table by the headings of their columns."""
        return {
            "data set": self.dataset,
            "k": str(self.num_colorings),
            "T": str(self.num_layers),
            "hidden": str(self.hidden_channels),
        }


def splits_of(graphs: PackedGraphs) -> list[Split]:
    """Return the ten folds of the GIN protocol."""
    return [Split(train, test) for train, test in stratified_folds(graphs.targets)]


def small_graphs() -> PackedGraphs:
    """Return 20 graphs of 4 nodes; training on them imports and initializes what it needs."""
    return connectivity(SEED, num_pairs=10, component_size=2)


def engine_for(
    spec: ModelSpec,
    graphs: PackedGraphs,
    recipe: Recipe,
    splits: Sequence[Split],
    device: torch.device,
) -> Engine:
    """Return an engine with a member for each split, with consecutive seeds."""
    seeds = range(SEED, SEED + len(splits))
    network = new_members(spec, graphs, recipe, seeds)
    return engine_of(graphs, network, recipe, splits, seeds, device)


def program_for(engine: Engine, *, deterministic: bool = False) -> Captured | Eager:
    """Return the program that runs an engine on its device."""
    if engine.device.type == "cpu":
        return Eager(engine)
    return Captured(engine, deterministic=deterministic)


def epochs_of(program: Captured | Eager) -> Callable[[], None]:
    """Return a function that trains and evaluates the next epoch each time it is called."""
    engine = program.engine
    numbers = itertools.cycle(range(engine.recipe.epochs))

    def epoch() -> None:
        number = next(numbers)
        engine.begin(number)
        for _ in engine.portions(number):
            program.steps()
        program.evaluate("test")

    return epoch
