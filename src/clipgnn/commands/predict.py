"""`clipgnn predict`."""

import csv
import io
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from clipgnn.commands.executors import (
    AddressOption,
    Executor,
    ExecutorOption,
    WorkersOption,
    check_alone,
)
from clipgnn.commands.learning import Quiet
from clipgnn.commands.library_messages import library_messages
from clipgnn.commands.models import Model, PredictionOptions, read_for
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.predictions import predictions_of
from clipgnn.commands.sources import Data, Selection, SourceOptions, select
from clipgnn.commands.stored_predictions import (
    StoredPrediction,
    predicted_here,
    predicted_with_ray,
)
from clipgnn.commands.stored_training import check_folder, check_stored_options
from clipgnn.commands.terminal import terminal
from clipgnn.errors import counted, one_line
from clipgnn.writing import write_file, written_in_parts


@with_option_groups
def predict(
    model: Model,
    data: Data,
    source: SourceOptions,
    prediction: PredictionOptions,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV file; by default the standard output."),
    ] = None,
    spread: Annotated[
        bool,
        typer.Option(
            "--spread",
            help="Add standard deviations over networks and draws of colorings; ten draws if the "
            "model has one network and one draw.",
        ),
    ] = False,
    executor: ExecutorOption = Executor.here,
    address: AddressOption = None,
    num_workers: WorkersOption = 1,
    quiet: Quiet = False,
) -> None:
    """Predict the targets of graphs with a trained model.

    The CSV file has a row for each graph, in their order: where it is, its own columns, its
    predictions, and why there are none if it cannot be read; the exit status is then 1. DATA can
    be a folder of `clipgnn convert`, of which only parts are in memory.

    Example: clipgnn predict model.safetensors molecules.csv -o predictions.csv
    """
    from clipgnn.graphs.storage.stored import is_stored  # imports torch

    if output is not None:
        check_output(output)
    if executor is Executor.ray or is_stored(data):
        check_folder(Path(data))
        check_stored_options(vars(source))
        stored = StoredPrediction.of(model, Path(data), prediction, spread=spread)
        with library_messages():
            if executor is Executor.ray:
                lines = predicted_with_ray(stored, address, num_workers, shown=not quiet)
            else:
                check_alone(address, num_workers)
                lines = predicted_here(stored, shown=not quiet)
            _write(lines, output)
        raise typer.Exit(0)
    check_alone(address, num_workers)
    fitted = prediction.load(model)
    found = source.read(data)
    with library_messages():
        chosen = select(found, partial(read_for, fitted), {}, strict=source.strict)
        found_values = predictions_of(fitted, chosen.graphs, spread=spread, shown=not quiet)
    content = as_csv(chosen, found_values.columns())
    if output is None:
        typer.echo(content, nl=False)
    else:
        write_file(output, content.encode())
    if not quiet:
        predictions = counted(len(chosen.numbers), "prediction")
        where = "" if output is None else f" in {output}"
        terminal(stderr=True).print(one_line(f"{predictions}{where}."))
    raise typer.Exit(chosen.status)


def _write(lines: Iterator[str], output: Path | None) -> None:
    if output is None:
        for part in lines:
            typer.echo(part, nl=False)
        return
    with written_in_parts(output) as file:
        for part in lines:
            file.write(part.encode())


def as_csv(chosen: Selection, columns: Mapping[str, list[Any]]) -> str:
    """Return a table with a row for each graph of the source."""
    entries = chosen.source.entries
    before = {
        **{name: [own.given[name] for own in entries] for name in entries[0].given},
        **{name: [own.values.get(name, "") for own in entries] for name in chosen.source.columns},
    }
    place = {number: row for row, number in enumerate(chosen.numbers)}
    predicted = {
        name: [values[place[number]] if number in place else "" for number in range(len(entries))]
        for name, values in columns.items()
    }
    problems = [chosen.problems.get(number, "") for number in range(len(entries))]
    after = {**predicted, "problem": problems}
    # Columns of the input that are named like ours are renamed.
    table = {
        "graph": [own.place for own in entries],
        **{
            f"input_{name}" if name in {"graph", *after} else name: own
            for name, own in before.items()
        },
        **after,
    }
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return file.getvalue()
