"""`clipgnn bench`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from clipgnn.bench import MEASUREMENTS
from clipgnn.commands.command_line import command_line
from clipgnn.commands.device import checked_device
from clipgnn.commands.output import check_output
from clipgnn.commands.terminal import terminal
from clipgnn.errors import DatasetNotFoundError, InvalidParameterError, one_line, suggestion
from clipgnn.writing import write_file

if TYPE_CHECKING:  # importing torch takes seconds
    from collections.abc import Sequence

    from clipgnn.bench.measurement import Measurement, Row

_DATASETS = ("MUTAG", "IMDB-MULTI", "PROTEINS")


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Data sets. [default: MUTAG, IMDB-MULTI and PROTEINS, on a GPU also connectivity]"
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help=f"Only this measurement: {', '.join(MEASUREMENTS)}. Repeatable.",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:NUMBER.")] = "cpu",
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of the TU data sets; by default $CLIPGNN_DATA or the cache."),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of rounds; each round measures both.")
    ] = 3,
    seconds: Annotated[float, typer.Option(help="Minimum duration of a measurement.")] = 5.0,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="On a GPU, make runs repeatable in every bit.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSON file to write all numbers to."),
    ] = None,
) -> None:
    """Measure speed and memory against PyTorch Geometric in one run, and the growth of cost.

    Default data sets that are not found are skipped with a message. The measurement "together"
    (ten folds at once against one by one, for all networks) uses the first data set, and "growth"
    uses generated graphs.

    Example: clipgnn bench MUTAG --only training --rounds 1
    """
    if not 0 <= seconds <= 3600:  # false for NaN
        raise InvalidParameterError(f"--seconds must be a number from 0 to 3600. Got {seconds}.")
    for name in only or ():
        if name not in MEASUREMENTS:
            raise InvalidParameterError(
                f"--only must be one of {', '.join(MEASUREMENTS)}. Got {name[:100]!r}."
                f"{suggestion(name[:100], MEASUREMENTS)}"
            )
    device = checked_device(device)
    if output is not None:
        check_output(output)
    from clipgnn.bench.measurement import Plan, measurement_named
    from clipgnn.bench.record import Record
    from clipgnn.experiments.machine import available_cores

    plan = Plan(
        datasets=_available(names, root, on_gpu=device != "cpu"),
        device=device,
        root=root,
        rounds=rounds,
        seconds=seconds,
        workers=available_cores(),
        deterministic=deterministic,
    )
    measured: dict[str, Sequence[Row]] = {}
    record = Record.of(plan, measured, command_line())
    for name in dict.fromkeys(only or MEASUREMENTS):
        measurement = measurement_named(name)
        measured[name] = measurement.measure(plan)
        _print(measurement, measured[name])
        if output is not None:
            write_file(output, record.to_json().encode())
    terminal().print(record.provenance())


def _available(names: list[str] | None, root: Path | None, *, on_gpu: bool) -> tuple[str, ...]:
    """Return the data sets to measure; default ones that are missing are left out."""
    from clipgnn.datasets.registry import load_dataset

    found = []
    for name in names or (*_DATASETS, *(["connectivity"] if on_gpu else [])):
        try:
            load_dataset(name, root=root)
        except DatasetNotFoundError as error:
            if names:
                raise
            typer.echo(f"{name} is skipped: {one_line(str(error))}", err=True)
        else:
            found.append(name)
    return tuple(found)


def _print(measurement: "Measurement", rows: "Sequence[Row]") -> None:
    """Print the table of a measurement."""
    if not rows:
        return
    console = terminal()
    if not console.is_terminal:
        console.width = max(console.width, 140)
    table = Table(title=measurement.title, title_justify="left")
    for number, heading in enumerate(rows[0].cells()):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row.cells().values())
    console.print(table, soft_wrap=False)
    for line in (measurement.note, *filter(None, (row.remark() for row in rows))):
        console.print(line)
    console.print()
