"""The argument MODEL of commands: a file that `clipgnn train` or `save` has written."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clipgnn.commands.device import checked_device
from clipgnn.commands.learning import Device
from clipgnn.errors import InvalidGraphError, ModelNotFoundError
from clipgnn.parameters.targets import Task

if TYPE_CHECKING:
    from clipgnn import CLIPClassifier, CLIPRegressor
    from clipgnn.graphs.packed import PackedGraphs

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file, written by `clipgnn train`.")
]


@dataclass(frozen=True)
class PredictionOptions:
    """Options of the commands that predict."""

    n_draws: Annotated[
        int | None,
        typer.Option(min=1, help="Draws of colorings to average; by default that of the model."),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**31 - 1, help="Seed of the colorings; by default the model's."),
    ] = None
    device: Device = "auto"

    def load(self, path: Path) -> "CLIPClassifier | CLIPRegressor":
        """Load an estimator for prediction.

        Raises:
            ModelNotFoundError: if the file does not exist.
            ModelFileError: if it is not the file of an estimator.
        """
        from clipgnn.estimators import load_estimator

        device = checked_device(self.device)
        if not path.exists():
            raise ModelNotFoundError(f"MODEL must be an existing file. There is no {path}.")
        model = load_estimator(path)
        if self.seed is not None:
            model.draw_seed_ = self.seed
        if self.n_draws is not None:
            model.n_draws = self.n_draws
        model.models_ = [network.to(device) for network in model.models_]
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
    from clipgnn.graphs.packed import PackedGraphs

    encoded = isinstance(graphs, PackedGraphs) and graphs.encoding is None
    if encoded != (model.encoding_ is None):
        given, trained = ("a TU data set", "graphs with named attributes")[:: 1 if encoded else -1]
        raise InvalidGraphError(
            f"DATA must be graphs like those that MODEL was trained on. Got {given}, and MODEL "
            f"was trained on {trained}."
        )
    channels = model.models_[0].config.in_channels
    if encoded and graphs.in_channels != channels:
        raise InvalidGraphError(
            f"DATA must have node labels like those that MODEL was trained on, {channels} of them. "
            f"Got {graphs.in_channels}."
        )
    return read_with_encoding(graphs, model.encoding_, model.models_[0], strict=False)
