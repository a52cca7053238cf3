"""`clipgnn train`."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clipgnn.commands.attributes import AttributeOptions
from clipgnn.commands.learning import Device, LearningOptions, Quiet, Seed
from clipgnn.commands.library_messages import library_messages
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.sources import Data, SourceOptions, select
from clipgnn.commands.targets import TargetNames, TaskOption, check_trainable
from clipgnn.commands.terminal import terminal
from clipgnn.errors import counted, one_line
from clipgnn.parameters.targets import Task

if TYPE_CHECKING:
    from clipgnn import CLIPClassifier, CLIPRegressor


@with_option_groups
def train(
    data: Data,
    source: SourceOptions,
    learning: LearningOptions,
    attributes: AttributeOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File of the model, such as model.safetensors.")
    ] = Path("model.safetensors"),
    target: TargetNames = None,
    task: TaskOption = Task.auto,
    seed: Seed = 0,
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Train a model on graphs and their targets, and write it to a file.

    Graphs that cannot be read, and graphs without a target, are reported and left out; the exit
    status is then 1.

    Example: clipgnn train molecules.csv --target solubility -o model.safetensors
    """
    from clipgnn.datasets.targets import read_targets  # imports torch

    check_output(output)
    found = source.read(data)
    targets = read_targets(found, target, task)
    model = learning.estimator(targets.task, device=device, seed=seed, verbose=not quiet)
    start = time.perf_counter()
    with library_messages():
        chosen = select(found, attributes.read, targets.problems, strict=source.strict)
        check_trainable(chosen, targets)
        model.fit(chosen.graphs, targets.of(chosen.numbers))
    model.target_names_ = list(targets.names)
    model.save(output)
    if not quiet:
        terminal(stderr=True).print(
            one_line(
                f"Trained on {counted(len(chosen.numbers), 'graph')} ({targets.task} of "
                f"{', '.join(targets.names)}, {_network(model)}) in "
                f"{time.perf_counter() - start:.0f} s. Model: {output}"
            )
        )
    raise typer.Exit(chosen.status)


def _network(model: "CLIPClassifier | CLIPRegressor") -> str:
    number = asdict(model.models_[0].config)["num_colorings"]
    return f"{counted(number, 'coloring')} of each graph"
