"""`clipgnn train`."""

import time
from pathlib import Path
from typing import Annotated

import typer

from clipgnn.commands.attributes import AttributeOptions
from clipgnn.commands.learning import Device, LearningOptions, Quiet, Seed
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.sources import Data, SourceOptions, select
from clipgnn.commands.targets import TargetNames, Task, TaskOption, read_targets
from clipgnn.commands.terminal import terminal
from clipgnn.commands.warning_lines import warnings_as_lines
from clipgnn.errors import DatasetFileError, counted, one_line


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
    check_output(output)
    found = source.read(data)
    targets = read_targets(found, target, task)
    model = learning.estimator(targets.task, device=device, seed=seed, verbose=not quiet)
    start = time.perf_counter()
    with warnings_as_lines():
        chosen = select(found, attributes.read, targets.problems, strict=source.strict)
        if len(chosen.numbers) < 2:
            raise DatasetFileError(f"{found.name} must have at least two graphs to train on.")
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


def _network(model: object) -> str:
    network = getattr(model, "models_")[0]  # noqa: B009  # the attribute of both estimators
    number = network.config.num_colorings
    return f"{counted(number, 'coloring')} of each graph"
