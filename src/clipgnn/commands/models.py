"""The argument MODEL of commands: a file that `clipgnn train` or `save` has written."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clipgnn.commands.device import checked_device
from clipgnn.commands.targets import Task

if TYPE_CHECKING:
    from clipgnn import CLIPClassifier, CLIPRegressor
    from clipgnn.graphs.packed import PackedGraphs

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file, written by `clipgnn train`.")
]
Draws = Annotated[
    int | None,
    typer.Option(
        "--n-draws", min=1, help="Draws of colorings to average; by default those of the model."
    ),
]


def load_model(
    path: Path, *, device: str, seed: int | None, n_draws: int | None
) -> "CLIPClassifier | CLIPRegressor":
    """Load an estimator for prediction.

    Args:
        path: the file.
        device: value of `--device`.
        seed: seed of the colorings; None for that of the model.
        n_draws: number of draws; None for that of the model.

    Raises:
        ModelNotFoundError: if the file does not exist.
        ModelFileError: if it is not the file of an estimator.
    """
    from clipgnn.estimators import load_estimator

    model = load_estimator(path)
    if seed is not None:
        model.draw_seed_ = seed
    if n_draws is not None:
        model.n_draws = n_draws
    model.models_ = [network.to(checked_device(device)) for network in model.models_]
    return model


def task_of(model: Any) -> Task:
    """Return the task of a model."""
    return Task.classification if hasattr(model, "classes_") else Task.regression


def names_of_targets(model: Any) -> list[str]:
    """Return the names of the targets of a model; "target" if it does not know them."""
    if model.target_names_ is not None:
        return list(model.target_names_)
    number = 1 if task_of(model) is Task.classification else model.target_mean_.size
    return ["target"] if number == 1 else [f"target_{own + 1}" for own in range(number)]


def read_for(model: Any, graphs: Any) -> "PackedGraphs":
    """Read graphs with the vocabulary of a model.

    Raises:
        InvalidGraphError: if they do not have its attributes.
    """
    from clipgnn.estimators.reading import read_with_encoding

    return read_with_encoding(graphs, model.encoding_, model.models_[0], strict=False)
