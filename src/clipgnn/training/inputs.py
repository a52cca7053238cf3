"""What `train` and `fit` are called with: types checked before any work begins."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from clipgnn.errors import InvalidGraphError, InvalidParameterError, shown
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import check_seed
from clipgnn.training.models import ModelSpec
from clipgnn.training.recipe import Recipe


def check_task(graphs: Any, model: Any) -> None:
    """Check that there are graphs with values, and a model specification.

    Raises:
        InvalidGraphError: if `graphs` is not a data set.
        InvalidParameterError: if `model` is not a specification, or a graph has several targets.
    """
    if not isinstance(graphs, PackedGraphs):
        raise InvalidGraphError(
            f"graphs must be a PackedGraphs. Got {type(graphs).__name__}. Use "
            "PackedGraphs.from_data_list for a list of PyG's Data."
        )
    if graphs.x.is_meta:
        raise InvalidGraphError(
            "graphs must hold values. Got graphs on the meta device. Use the graphs they were "
            "made from."
        )
    if not isinstance(model, ModelSpec):
        example = f"ModelSpec({model!r})" if isinstance(model, str) else "ModelSpec('clip')"
        raise InvalidParameterError(
            f"model must be a ModelSpec. Got {type(model).__name__}. Use {example}."
        )
    if graphs.y.dim() != 1:
        raise InvalidParameterError(
            f"y must have one target for each graph. Got {graphs.y.shape[1]} targets. Train on one "
            "of them: dataclasses.replace(graphs, y=graphs.y[:, 0])."
        )


def check_recipe(recipe: Any) -> None:
    """Check the type; a recipe checks its values itself.

    Raises:
        InvalidParameterError: if it is not a recipe.
    """
    if not isinstance(recipe, Recipe):
        raise InvalidParameterError(
            f"recipe must be a Recipe. Got {type(recipe).__name__}. Use Recipe(epochs=...)."
        )


def check_seeds(seeds: Any, num_splits: int) -> list[int]:
    """Return a seed for each split.

    Raises:
        InvalidParameterError: if there are more or fewer, or one is not a seed.
    """
    if isinstance(seeds, np.ndarray) and seeds.ndim == 1:
        seeds = seeds.tolist()
    if isinstance(seeds, str) or not isinstance(seeds, Sequence):
        raise InvalidParameterError(
            f"seeds must be a list of integers, one for each split. Got {type(seeds).__name__}."
        )
    if len(seeds) != num_splits:
        raise InvalidParameterError(
            f"There must be a seed for each split. Got {num_splits} splits, {len(seeds)} seeds."
        )
    return [check_seed(seed, name=f"Seed {number}") for number, seed in enumerate(seeds)]


def device_named(device: str | torch.device) -> torch.device:
    """Return the device, if training can run there.

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
            f"device must be one that torch can use here. Got {str(found)!r}, and no GPU is "
            'available. Use device="cpu".'
        )
    return found
