"""Validation of the arguments of `train` and `fit_kernel`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from clipgnn.errors import InvalidGraphError, InvalidParameterError, shown
from clipgnn.graphs.packed import PackedGraphs, check_graph_set
from clipgnn.graphs.seeds import check_seed
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.nn.network import Network
from clipgnn.parameters import Recipe
from clipgnn.training.models import ModelSpec


def check_task(graphs: Any, model: Any) -> None:
    """Check that graphs are a data set with values and targets, and that a model is one.

    Raises:
        InvalidGraphError: if `graphs` is not a data set.
        InvalidParameterError: if `model` is not a model, or the graphs have no targets.
    """
    if not isinstance(graphs, StoredGraphs):
        check_graph_set(graphs)
    if isinstance(graphs, PackedGraphs) and graphs.x.is_meta:
        raise InvalidGraphError(
            "graphs must have values. Got graphs on the meta device. Use the CPU or a GPU."
        )
    if not isinstance(model, ModelSpec | Network):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise InvalidParameterError(
            f"model must be a ModelSpec or a network. Got {got}. Use {_example_of(model)}."
        )
    _ = graphs.has_classes  # raises an error if there are no targets


def _example_of(model: Any) -> str:
    """A model that can be meant by an argument of another type."""
    if isinstance(getattr(model, "model", None), Network):
        return "its attribute model, to continue its training"
    return f"ModelSpec({model!r})" if isinstance(model, str) else "ModelSpec('clip')"


def check_recipe(recipe: Any) -> None:
    """Check the type of a recipe. Its constructor checks the values.

    Raises:
        InvalidParameterError: if it is not a recipe.
    """
    if not isinstance(recipe, Recipe):
        raise InvalidParameterError(
            f"recipe must be a Recipe. Got {type(recipe).__name__}. Use Recipe(epochs=...)."
        )


def check_seeds(seeds: Any, num_splits: int) -> list[int]:
    """Return the seeds as a list, one for each split.

    Raises:
        InvalidParameterError: if the number of seeds is not that of the splits, or one is invalid.
    """
    if isinstance(seeds, np.ndarray) and seeds.ndim == 1:
        seeds = seeds.tolist()
    if isinstance(seeds, str) or not isinstance(seeds, Sequence):
        raise InvalidParameterError(
            f"seeds must be a list of integers, one for each split. Got {type(seeds).__name__}."
        )
    if len(seeds) != num_splits:
        raise InvalidParameterError(
            f"There must be a seed for each split. Got {len(seeds)} seeds for {num_splits} splits."
        )
    return [check_seed(seed, name=f"Seed {number}") for number, seed in enumerate(seeds)]


def device_named(device: str | torch.device) -> torch.device:
    """Return a device on which training can run.

    Raises:
        InvalidParameterError: if it is neither the CPU nor a GPU that torch can use.
    """
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InvalidParameterError(
            f'device must be "cpu" or "cuda". Got {shown(device)}.'
        ) from error
    if found.type not in ("cpu", "cuda"):
        raise InvalidParameterError(f'device must be "cpu" or "cuda". Got {shown(device)}.')
    if found.type == "cuda" and not torch.cuda.is_available():
        raise InvalidParameterError(
            f"device must be available. Got {str(found)!r}, but torch finds no GPU. Use "
            'device="cpu".'
        )
    return found
