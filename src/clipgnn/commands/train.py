"""`clipgnn train`."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clipgnn.commands.attributes import AttributeOptions
from clipgnn.commands.executors import (
    AddressOption,
    Executor,
    ExecutorOption,
    WorkersOption,
    check_alone,
)
from clipgnn.commands.learning import CheckpointOptions, Device, LearningOptions, Quiet, Seed
from clipgnn.commands.library_messages import library_messages
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.sources import Data, SourceOptions, select
from clipgnn.commands.stored_training import (
    StoredTraining,
    check_folder,
    check_stored_options,
    delete_checkpoints,
)
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
    checkpoints: CheckpointOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File of the model, such as model.safetensors.")
    ] = Path("model.safetensors"),
    target: TargetNames = None,
    task: TaskOption = Task.auto,
    executor: ExecutorOption = Executor.here,
    address: AddressOption = None,
    num_workers: WorkersOption = 1,
    seed: Seed = 0,
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Train a model on graphs and their targets, and write it to a file.

    Graphs that cannot be read, and graphs without a target, are reported and left out; the exit
    status is then 1. DATA can be a folder of `clipgnn convert`, of which only parts are in memory.
    Several processes train together with torchrun, or with --executor ray.

    Example: clipgnn train molecules.csv --target solubility -o model.safetensors
    """
    from clipgnn.datasets.targets import read_targets  # imports torch
    from clipgnn.graphs.storage.stored import is_stored
    from clipgnn.training.processes import process_group

    check_output(output)
    start = time.perf_counter()
    if executor is Executor.ray or is_stored(data):
        given = {**vars(source), **vars(attributes), "target": target, "task": task}
        training = _stored(data, given, learning, device, seed, checkpoints, quiet=quiet)
        if executor is Executor.ray:
            from clipgnn.commands.ray_training import train_with_ray

            with library_messages():
                train_with_ray(training, address, num_workers, output)
            what = f"Trained by {counted(num_workers, 'worker')}"
            _print_summary(what, start, output, quiet=quiet)
            raise typer.Exit(0)
        check_alone(address, num_workers)
        with process_group(device) as workers, library_messages():
            model = training.fit()
            if workers.rank == 0:
                _finish(model, output, checkpoints.checkpoint)
                _print_summary(_trained_on(training, model), start, output, quiet=quiet)
        raise typer.Exit(0)
    check_alone(address, num_workers)
    with process_group(device) as workers:
        found = source.read(data)
        targets = read_targets(found, target, task)
        model = learning.estimator(
            targets.task, device=device, seed=seed, verbose=not quiet, checkpoint=checkpoints
        )
        with library_messages():
            chosen = select(found, attributes.read, targets.problems, strict=source.strict)
            check_trainable(chosen, targets)
            learning.check_colorings(chosen)
            model.fit(chosen.graphs, targets.of(chosen.numbers))
        model.target_names_ = list(targets.names)
        if workers.rank == 0:
            _finish(model, output, checkpoints.checkpoint)
            graphs = counted(len(chosen.numbers), "graph")
            what = f"Trained on {graphs} ({targets.task} of {', '.join(targets.names)}, "
            _print_summary(f"{what}{_network(model)})", start, output, quiet=quiet)
    raise typer.Exit(chosen.status)


def _stored(
    data: str,
    given: dict[str, object],
    learning: LearningOptions,
    device: str,
    seed: int,
    checkpoints: CheckpointOptions,
    *,
    quiet: bool,
) -> StoredTraining:
    check_folder(Path(data))
    check_stored_options(given)
    return StoredTraining.of(
        Path(data), learning, device=device, seed=seed, checkpoints=checkpoints, shown=not quiet
    )


def _finish(model: "CLIPClassifier | CLIPRegressor", output: Path, checkpoint: Path | None) -> None:
    """Write the model, and delete the checkpoints, which are no longer needed."""
    model.checkpoint = None
    model.save(output)
    delete_checkpoints(checkpoint, output)


def _trained_on(training: StoredTraining, model: "CLIPClassifier | CLIPRegressor") -> str:
    from clipgnn import PackedGraphs

    graphs = counted(len(PackedGraphs.open(training.folder)), "graph")
    return f"Trained on {graphs} of {training.folder} ({_network(model)})"


def _print_summary(what: str, start: float, output: Path, *, quiet: bool) -> None:
    if not quiet:
        seconds = time.perf_counter() - start
        terminal(stderr=True).print(one_line(f"{what} in {seconds:.0f} s. Model: {output}"))


def _network(model: "CLIPClassifier | CLIPRegressor") -> str:
    config = asdict(model.models_[0].config)
    number, scheme = config["num_colorings"], config["coloring"]
    if number and scheme in ("all", "orbits"):
        return f'coloring "{scheme}"'
    name = "coloring" if scheme == "random" or not number else f"{scheme} coloring"
    return f"{counted(min(number, 1) if scheme == 'canonical' else number, name)} of each graph"
