"""Files of trained models: a model file whose description has everything that prediction needs."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.encoding import AttributeEncoding
from clipgnn.nn.descriptions import load_kind, reading, save_kind
from clipgnn.parameters import Recipe
from clipgnn.training.history import History
from clipgnn.training.task import Task

if TYPE_CHECKING:
    from clipgnn.training.trained import TrainedModel

KIND = "TrainedModel"


def save(trained: "TrainedModel", path: str | os.PathLike[str]) -> None:
    """Write a trained model to a file; see `TrainedModel.save`."""
    description = {
        "recipe": _plain_recipe(trained.recipe),
        "task": trained.task,
        "encoding": None if trained.encoding is None else trained.encoding.as_json(),
        "history": trained.history.as_json(),
    }
    save_kind(path, KIND, trained.model, description)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a trained model from a file; see `TrainedModel.load`."""
    network, description = load_kind(path, KIND)
    with reading(path, KIND):
        encoding = description["encoding"]
        values = {
            "history": History.from_json(description["history"]),
            "recipe": _recipe(description["recipe"]),
            "task": _task(description["task"]),
            "encoding": None if encoding is None else AttributeEncoding.from_json(encoding),
        }
    no_outputs = next(network.parameters()).new_zeros(0, network.config.out_channels).detach()
    return {"model": network, **values, "test_outputs": no_outputs, "best_test_outputs": None}


def loss_not_saved(outputs: Tensor, targets: Tensor) -> NoReturn:
    """Loss of a loaded recipe whose loss was a function, which files do not contain.

    Raises:
        InvalidParameterError: always.
    """
    raise InvalidParameterError(
        "The loss must be a function that exists. Got the recipe of a model file, which does not "
        "contain the function. Use dataclasses.replace(recipe, loss=...)."
    )


def _plain_recipe(recipe: Recipe) -> dict[str, Any]:
    return {**asdict(recipe), "loss": recipe.loss if isinstance(recipe.loss, str) else None}


def _recipe(plain: dict[str, Any]) -> Recipe:
    values = {name: tuple(own) if isinstance(own, list) else own for name, own in plain.items()}
    if values["loss"] is None:
        values["loss"] = loss_not_saved
    return Recipe.from_dict(values)


def _task(name: Any) -> Task:
    if name not in get_args(Task):
        raise ValueError(f"unknown task {name!r}")
    task: Task = name
    return task
