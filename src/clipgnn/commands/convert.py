"""`clipgnn convert`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clipgnn.commands.attributes import AttributeOptions, names_of
from clipgnn.commands.learning import Quiet
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.options import Workers
from clipgnn.commands.sources import Data, SourceOptions, report_left_out
from clipgnn.commands.targets import TargetNames, TaskOption
from clipgnn.commands.terminal import terminal
from clipgnn.errors import DatasetFileError, InvalidParameterError, counted, one_line
from clipgnn.experiments.machine import available_cores
from clipgnn.parameters.targets import Task
from clipgnn.progress import progress_bars, time_left

if TYPE_CHECKING:
    from clipgnn.datasets.conversion.options import Converted

LINE_SECONDS = 10.0
"""Minimum number of seconds between two lines where there is no terminal."""


@with_option_groups
def convert(
    data: Data,
    folder: Annotated[Path, typer.Argument(help="New folder for the graphs.")],
    source: SourceOptions,
    attributes: AttributeOptions,
    target: TargetNames = None,
    no_targets: Annotated[
        bool, typer.Option("--no-targets", help="Convert the graphs without targets.")
    ] = False,
    task: TaskOption = Task.auto,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Convert graphs to a folder that is read in parts, for data sets larger than memory.

    If it is interrupted, the same command continues it. Graphs that cannot be read, and graphs
    without a target, are reported, listed in rejected.csv and left out; the exit status is then 1.

    Example: clipgnn convert molecules.csv molecules/ --target solubility
    """
    from clipgnn.datasets.conversion.convert import convert as convert_graphs
    from clipgnn.datasets.conversion.options import ConvertOptions, RejectedGraphError

    if no_targets and target:
        raise InvalidParameterError(
            f"Either --target or --no-targets must be given. Got --target {target[0]} and "
            "--no-targets. Leave one out."
        )
    options = ConvertOptions(
        format=source.format,
        labels=source.labels,
        smiles_column=source.smiles_column,
        root=source.root,
        strict=source.strict,
        targets=[] if no_targets else target,
        task=task,
        attributes={
            "nodes": names_of(attributes.node_attributes),
            "edges": names_of(attributes.edge_attributes),
            "graphs": names_of(attributes.graph_attributes),
        },
        workers=workers or available_cores(),
    )
    try:
        with _Display(quiet=quiet) as display:
            converted = convert_graphs(data, folder, options, display.show)
    except RejectedGraphError as error:
        raise DatasetFileError(f"{error} Leave out --strict to skip such graphs.") from error
    report_left_out(
        converted.source,
        [(own.place, own.problem) for own in converted.rejected],
        converted.given,
    )
    if not quiet or converted.before:
        line = _summary(converted, folder, display.seconds)
        terminal(stderr=True).print(one_line(line))
    raise typer.Exit(1 if converted.rejected else 0)


def _summary(converted: "Converted", folder: Path, seconds: float) -> str:
    graphs = counted(len(converted.stored), "graph")
    names = converted.stored.target_names
    targets = "without targets"
    if names is not None:
        targets = f"with {converted.task} targets {', '.join(names.names)}"
    if converted.before:
        return f"{folder} is finished: it has {graphs} of {converted.source}, {targets}."
    speed = converted.given / max(seconds, 1e-9)
    return (
        f"Converted {graphs} of {converted.source}, {targets}, in {seconds:.1f} s ({speed:,.0f} "
        f"graphs a second). Folder: {folder}"
    )


class _Display:
    """Progress: a bar, or lines where there is no terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = terminal(stderr=True)
        self._bars = progress_bars("graphs", self._console, shown=not quiet)
        self._task = self._bars.add_task("read", total=None)
        self._began = self._printed = time.perf_counter()

    def __enter__(self) -> "_Display":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._began

    def show(self, what: str, done: int, total: int | None) -> None:
        """Show how many graphs are read or written."""
        self._bars.update(self._task, description=what, completed=done, total=total)
        now = time.perf_counter()
        lines = not self._quiet and not self._console.is_terminal
        if lines and now - self._printed >= LINE_SECONDS:
            self._printed = now
            left = time_left(now - self._began, done, (total or done) - done)
            self._console.print(f"{done} of {total} graphs {what}{left}")
