"""The options `--target` and `--task`: which columns are predicted, as classes or as numbers."""

from typing import TYPE_CHECKING, Annotated

import typer

from clipgnn.errors import DatasetFileError
from clipgnn.parameters.targets import MOST_CLASSES, USUAL_NAMES, Task

if TYPE_CHECKING:  # importing them imports torch, which --help does not need
    from clipgnn.commands.sources import Selection
    from clipgnn.datasets.targets import ReadTargets

TargetNames = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        help="Column or attribute to predict; repeat it for several numbers. By default the only "
        f"one, or one named {', '.join(USUAL_NAMES)}.",
    ),
]
TaskOption = Annotated[
    Task,
    typer.Option(
        help="Predict classes or numbers; auto: numbers if targets have fractions, or more than "
        f"{MOST_CLASSES} different values."
    ),
]


def check_trainable(chosen: "Selection", targets: "ReadTargets") -> None:
    """Check that there is something to learn: two graphs, and two classes.

    Raises:
        DatasetFileError: if there is not.
    """
    if len(chosen.numbers) < 2:
        raise DatasetFileError(f"{chosen.source.name} must have at least two graphs. Got one.")
    classes = {targets.values[number] for number in chosen.numbers if targets.task != "regression"}
    if len(classes) == 1:
        raise DatasetFileError(
            f"The column {targets.names[0]!r} of {chosen.source.name} must have at least two "
            f"classes. Got one class, {classes.pop()!r}."
        )
