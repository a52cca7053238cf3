"""Options of the commands that train: parameters of the estimators."""

import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clipgnn.commands.device import checked_device
from clipgnn.errors import InvalidParameterError, TooManyColoringsError, shown, suggestion
from clipgnn.parameters import COLORINGS
from clipgnn.parameters.targets import Task

if TYPE_CHECKING:
    from clipgnn import CLIPClassifier, CLIPRegressor
    from clipgnn.commands.sources import Selection

Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of all randomness.")]
Device = Annotated[
    str, typer.Option("--device", help="cpu, cuda or cuda:NUMBER; auto uses a GPU if there is one.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress and no summary, only problems.")
]


@dataclass(frozen=True)
class CheckpointOptions:
    """Options of checkpoints."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder of checkpoints: the same command continues a training that was "
            "interrupted. It is deleted when the model is written."
        ),
    ] = None
    checkpoint_seconds: Annotated[
        float, typer.Option(min=0.0, help="Smallest number of seconds between two checkpoints.")
    ] = 60.0

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of an estimator, with an absolute path."""
        path = self.checkpoint
        folder = None if path is None else str(path.expanduser().absolute())
        return {"checkpoint": folder, "checkpoint_seconds": self.checkpoint_seconds}


@dataclass(frozen=True)
class LearningOptions:
    """Options with the names and defaults of the estimators' parameters."""

    num_colorings: Annotated[
        str,
        typer.Option(help="Random colorings of a graph, 0 for no colors, or auto by the data."),
    ] = "auto"
    num_colors: Annotated[
        str, typer.Option(help="Colors, or auto for the largest group of identical nodes.")
    ] = "auto"
    coloring: Annotated[
        str,
        typer.Option(
            help=f"Coloring scheme: {', '.join(COLORINGS)}.",
            autocompletion=lambda: list(COLORINGS),
        ),
    ] = "random"
    num_layers: Annotated[int, typer.Option(help="Local iterations.")] = 3
    hidden_channels: Annotated[int, typer.Option(help="Channels of the hidden layers.")] = 64
    dropout: Annotated[float, typer.Option(help="Dropout before the last map.")] = 0.0
    epochs: Annotated[int, typer.Option(help="Passes over the graphs.")] = 50
    batch_size: Annotated[str, typer.Option(help="Graphs in a step, or auto.")] = "auto"
    max_nodes: Annotated[
        int | None,
        typer.Option(help="Nodes in a step instead of --batch-size, for graphs of many sizes."),
    ] = None
    learning_rate: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 1e-3
    halve_every: Annotated[
        int, typer.Option(help="Epochs after which the learning rate is halved.")
    ] = 10
    validation_fraction: Annotated[
        float | None, typer.Option(help="Share of the graphs that is held out for --patience.")
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            help="Stop after this number of epochs without a better validation score, or training "
            "loss without --validation-fraction."
        ),
    ] = None
    n_ensemble: Annotated[int, typer.Option(help="Networks whose predictions are averaged.")] = 1
    n_draws: Annotated[int, typer.Option(help="Draws of colorings in a prediction.")] = 1
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Weigh classes by their inverse frequencies.")
    ] = False
    loss: Annotated[str, typer.Option(help="Loss of numbers: squared-error or absolute-error.")] = (
        "squared-error"
    )

    def check_colorings(self, chosen: "Selection") -> None:
        """Check that networks can be trained on all graphs, before they are divided into folds.

        Raises:
            InvalidColoringError: if they cannot; it names the place of a graph in its file.
        """
        if _automatic("num_colorings", self.num_colorings) == 0:
            return
        from clipgnn.coloring.schemes import scheme_named  # imports torch

        try:
            scheme_named(self.coloring).check_training(chosen.graphs)
        except TooManyColoringsError as error:
            entries, name = chosen.source.entries, chosen.source.name
            message = re.sub(
                r"\bGraph ([0-9]+) has",
                lambda own: f"{name}, {entries[chosen.numbers[int(own[1])]].place}, has",
                str(error),
            )
            raise TooManyColoringsError(message) from error

    def estimator(
        self,
        task: Task,
        *,
        device: str,
        seed: int,
        verbose: bool,
        checkpoint: "CheckpointOptions | None" = None,
    ) -> "CLIPClassifier | CLIPRegressor":
        """Return a new estimator.

        Raises:
            InvalidParameterError: if an option is not valid for the task.
        """
        if self.coloring not in COLORINGS:
            raise InvalidParameterError(
                f"coloring must be one of {', '.join(COLORINGS)}. Got {shown(self.coloring)}."
                f"{suggestion(self.coloring, COLORINGS)}",
                parameter="coloring",
            )
        from clipgnn import CLIPClassifier, CLIPRegressor

        shared: dict[str, Any] = {
            **asdict(self),
            "num_colorings": _automatic("num_colorings", self.num_colorings),
            "num_colors": _automatic("num_colors", self.num_colors),
            "batch_size": _automatic("batch_size", self.batch_size),
            "device": checked_device(device),
            "random_state": seed,
            "verbose": verbose,
            **({} if checkpoint is None else checkpoint.parameters()),
        }
        balanced, loss = shared.pop("balanced"), shared.pop("loss")
        if task is Task.classification:
            self._check_default("loss", "classes")
            return CLIPClassifier(**shared, class_weight="balanced" if balanced else None)
        self._check_default("balanced", "numbers")
        return CLIPRegressor(**shared, loss=loss)

    def _check_default(self, name: str, targets: str) -> None:
        default = {own.name: own.default for own in fields(self)}[name]
        if getattr(self, name) != default:
            raise InvalidParameterError(
                f"{name} must not be given for targets that are {targets}. Leave it out, or choose "
                "another --task.",
                parameter=name,
            )


def _automatic(name: str, text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError as error:
        raise InvalidParameterError(
            f"{name} must be an integer or auto. Got {text!r}.", parameter=name
        ) from error
